import NIOCore
import Locking

/// How long clients may keep a connection waiting, and how many connections each may have.
public struct ConnectionLimits: Sendable {
  /// How long a connection may be without a request.
  public var idle = Duration.seconds(75)
  /// How long the head of a request may take from its first byte.
  public var head = Duration.seconds(20)
  /// A client that sends a body or takes a reply has to move `minimumBytes` in each window.
  public var window = Duration.seconds(15)
  public var minimumBytes = 4096
  /// How long a client may take for a large reply, whose memory its customer's others wait for.
  public var largeReply = Duration.seconds(60)
  /// How long a client may take no byte of a reply that is made as it is taken. It holds nothing meanwhile that others wait for.
  public var streamedReply = Duration.seconds(60)
  /// How long and how much input is discarded after the last reply, so that its client can read that.
  public var linger = Duration.seconds(5)
  public var lingerBytes = 8 * 1024 * 1024
  /// Most connections from one address, or from one IPv6 network of 64 bits; 0 for any number. Trusted proxies may have any
  /// number.
  public var connectionsPerAddress = 4096

  public init() {}
}

/// Checks at intervals of a window whether a client makes progress. To NIO's `IdleStateHandler` any byte is progress: with it, a client
/// that trickles a head was never cut off. Hummingbird's time-out does not count while a reply is on its way.
struct ProgressMonitor {
  /// What the client keeps the connection waiting for.
  enum Wait: Equatable {
    /// Nothing: it is the server's turn.
    case none
    case request(since: NIODeadline)
    case head(since: NIODeadline)
    /// To send the body of the request with this number; so many bytes have come so far.
    case body(request: Int, received: Int)
    /// To take the reply to the request with this number; so many bytes were taken so far.
    case reply(request: Int, taken: Int)
    /// To take more of the reply to the request with this number, which is made as it is taken; so many bytes were taken so far.
    case stream(request: Int, taken: Int)
  }

  private let limits: ConnectionLimits
  private var previous = Wait.none
  /// When what the client keeps the connection waiting for was seen first.
  private var since = NIODeadline.distantPast

  init(_ limits: ConnectionLimits) { self.limits = limits }

  /// How long after one check the next is due.
  var interval: TimeAmount { TimeAmount(min(limits.window, limits.idle, limits.head, limits.streamedReply)) }

  /// - Returns: whether the connection has to be closed.
  mutating func isStalled(_ wait: Wait, at now: NIODeadline) -> Bool {
    defer { previous = wait }
    if wait != previous { since = now }
    switch (previous, wait) {
    case (_, .none): return false
    case (_, .stream): return now - since >= TimeAmount(limits.streamedReply)
    case (_, .request(let since)): return now - since >= TimeAmount(limits.idle)
    case (_, .head(let since)): return now - since >= TimeAmount(limits.head)
    case (.body(let before, let old), .body(let request, let new)),
      (.reply(let before, let old), .reply(let request, let new)):
      return before == request && new - old < limits.minimumBytes
    case (_, .body), (_, .reply): return false
    }
  }
}

/// Counts the connections of each address. Hummingbird counts all together.
final class ConnectionCounter: Sendable {
  private let limit: Int
  private let counts = Mutex<[IPAddress: Int]>([:])

  /// - Parameter limit: 0 for none.
  init(limit: Int) { self.limit = limit }

  /// - Returns: whether there may be one more, which then counts until `remove`.
  func add(_ address: IPAddress) -> Bool {
    guard limit > 0 else { return true }
    return counts.withLock { counts in
      let count = counts[address, default: 0]
      guard count < limit else { return false }
      counts[address] = count + 1
      return true
    }
  }

  func remove(_ address: IPAddress) {
    guard limit > 0 else { return }
    counts.withLock { counts in
      guard let count = counts[address] else { return }
      counts[address] = count > 1 ? count - 1 : nil
    }
  }
}
