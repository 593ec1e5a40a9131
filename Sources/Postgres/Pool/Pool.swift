public import Logging
public import ServiceLifecycle

/// Few connections, shared by many tasks.
public final class Pool: Querying, Service {
  public init(_ configuration: PoolConfiguration, logger: Logger) { fatalError("contract only") }

  /// Keeps the connections alive until the service group, or the task, ends.
  public func run() async throws {}

  public func run(_ statement: Statement, _ parameters: ParameterBuffer) async throws -> Rows {
    fatalError("contract only")
  }

  /// Runs `body` between BEGIN and COMMIT on a connection of its own; rolls back when it throws or is cancelled.
  public func transaction<Answer: Sendable>(
    _ body: @Sendable (Transaction) async throws -> Answer
  ) async throws -> Answer { fatalError("contract only") }

  /// COPY … FROM STDIN: feeds what `chunks` gives and returns the count of rows once the server has committed them.
  public func copyIn<Chunks: AsyncSequence & Sendable>(_ sql: String, _ chunks: Chunks) async throws -> Int
  where Chunks.Element == [UInt8] { fatalError("contract only") }

  /// COPY … TO STDOUT, a chunk (one row) at a time, at the reader's pace.
  public func copyOut(_ sql: String) -> CopyOut { fatalError("contract only") }

  /// What is sent with NOTIFY on these channels, from a connection of its own.
  public func notifications(on channels: [String]) -> Notifications { fatalError("contract only") }

  /// Whether a connection is up now: for `/readyz`.
  public var isReady: Bool { fatalError("contract only") }
}

public struct PoolConfiguration: Sendable {
  /// A libpq connection string or URI; what it leaves out comes from libpq's own `PG…` variables.
  public var connectionString: String
  /// Connections shared by statements outside transactions.
  public var sharedConnections = 4
  /// Connections lent for transactions and COPY, opened when first needed.
  public var lentConnections = 4
  public var connectTimeout: Duration = .seconds(5)
  /// How long a statement may wait for a connection before it is `unavailable`.
  public var queueTimeout: Duration = .seconds(5)
  /// How long a statement may run, `statement_timeout` on the server.
  public var statementTimeout: Duration = .seconds(30)
  public var applicationName = "pushcart"

  public init(connectionString: String) { self.connectionString = connectionString }
}

/// A transaction on a connection of its own.
public final class Transaction: Querying {
  init() {}
  public func run(_ statement: Statement, _ parameters: ParameterBuffer) async throws -> Rows {
    fatalError("contract only")
  }
}

public struct CopyOut: AsyncSequence, Sendable {
  public typealias Element = [UInt8]
  public struct AsyncIterator: AsyncIteratorProtocol {
    public mutating func next() async throws -> [UInt8]? { nil }
  }
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}

/// Notifications in the order they came, and a word whenever some may have been missed.
public struct Notifications: AsyncSequence, Sendable {
  public enum Element: Sendable, Equatable {
    case notification(channel: String, payload: String)
    /// Listening has begun, or begun anew after the connection was lost: look at the tables once.
    case mayHaveMissed
  }
  public struct AsyncIterator: AsyncIteratorProtocol {
    public mutating func next() async throws -> Element? { nil }
  }
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}
