public import Postgres
import Synchronization

/// A database that answers in time or not at all: for requests, whose senders would rather try again than wait.
///
/// The pool waits for a connection, and for a server that hangs, as long as its own settings say. This gives up sooner, and
/// cancels what it gave up on. A write given up on may have been done or not.
public final class PromptDatabase: Querying {
  private struct Waiting {
    let continuation: UnsafeContinuation<Rows, any Error>
    let statement: Statement
    var task: Task<Void, Never>?
    var ticksLeft: Int
  }

  private struct State {
    var waiting: [Int: Waiting] = [:]
    var lastID = 0
    var isWatching = false
  }

  private static let tick: Duration = .milliseconds(250)

  private let database: any Querying
  private let limit: Duration
  private let ticks: Int
  private let state = Mutex(State())

  /// - Parameter limit: how long a statement may take, all waiting included; a quarter of a second's accuracy.
  public init(_ database: any Querying, limit: Duration = .seconds(4)) {
    self.database = database
    self.limit = limit
    ticks = Int(limit / Self.tick) + 1
  }

  public func run(_ statement: Statement, _ parameters: ParameterBuffer) async throws -> Rows {
    try await withUnsafeThrowingContinuation { continuation in
      let (id, startsWatch) = state.withLock { state in
        state.lastID += 1
        state.waiting[state.lastID] = Waiting(continuation: continuation, statement: statement, ticksLeft: ticks)
        defer { state.isWatching = true }
        return (state.lastID, !state.isWatching)
      }
      let task = Task {
        do {
          finish(id, .success(try await database.run(statement, parameters)))
        } catch {
          finish(id, .failure(error))
        }
      }
      state.withLock { $0.waiting[id]?.task = task }
      if startsWatch { Task { await watch() } }
    }
  }

  private func finish(_ id: Int, _ result: Result<Rows, any Error>) {
    state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume(with: result)
  }

  /// One task for all, while anybody waits.
  private func watch() async {
    repeat { try? await Task.sleep(for: Self.tick) } while tick()
  }

  /// - Returns: whether anybody still waits.
  private func tick() -> Bool {
    let (late, goesOn) = state.withLock { state in
      for id in state.waiting.keys { state.waiting[id]?.ticksLeft -= 1 }
      let late = state.waiting.filter { $0.value.ticksLeft <= 0 }
      for id in late.keys { state.waiting[id] = nil }
      state.isWatching = !state.waiting.isEmpty
      return (late.values, state.isWatching)
    }
    for waiting in late {
      waiting.task?.cancel()
      waiting.continuation.resume(throwing: givenUp(waiting.statement))
    }
    return goesOn
  }

  private func givenUp(_ statement: Statement) -> PostgresError {
    switch statement.effect {
    case .read: .unavailable("no answer within \(limit)")
    case .write: .unknownOutcome(statement: statement.name)
    }
  }
}
