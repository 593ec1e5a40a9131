/// Notifications in the order they came, and a word whenever some may have been missed.
///
/// All of a pool's sequences share one connection, opened when the first of them is iterated. Each iterator listens from
/// its first `next()` until it is released. The sequence ends when the task is cancelled or the pool closes.
public struct Notifications: AsyncSequence, Sendable {
  /// What the reader is told.
  public enum Element: Sendable, Equatable {
    /// What was given to NOTIFY.
    case notification(channel: String, payload: String)
    /// Listening has begun, or begun anew after the connection was lost, or the reader fell behind: look at the tables
    /// once.
    case mayHaveMissed
  }

  /// Notifications kept for a reader that is slow. Beyond them they are dropped, and `mayHaveMissed` stands in their place.
  public static let bufferLimit = 1024

  private let pool: Pool
  private let channels: [String]

  init(_ pool: Pool, _ channels: [String]) {
    self.pool = pool
    self.channels = channels
  }

  /// Begins to listen.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pool, channels) }

  /// One reader, with a buffer of its own.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let listening: Listening

    init(_ pool: Pool, _ channels: [String]) { listening = Listening(pool, channels) }

    /// - Throws: `PostgresError` when the server refuses to listen.
    public mutating func next() async throws -> Element? { try await listening.subscription.next() }
  }

  /// Listens for as long as the iterator lives.
  private final class Listening: Sendable {
    let pool: Pool
    let subscription: Subscription

    init(_ pool: Pool, _ channels: [String]) {
      self.pool = pool
      subscription = Subscription(channels, limit: Notifications.bufferLimit)
      pool.subscribe(subscription)
    }

    deinit { pool.unsubscribe(subscription) }
  }
}
