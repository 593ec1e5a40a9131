import DequeModule
import Locking

/// Notifications in the order of their arrival, and an element whenever some may have been missed.
///
/// All of a pool's sequences share one connection, opened when the first of them is iterated. Each iterator listens from
/// its first `next()` until it is released. The sequence ends when the task is cancelled or the pool closes.
public struct Notifications: AsyncSequence, Sendable {
  /// An element of the sequence.
  public enum Element: Sendable, Equatable {
    /// The channel and payload given to NOTIFY.
    case notification(channel: String, payload: String)
    /// Listening has begun, or begun again after the connection was lost, or the reader fell behind. The reader is to look
    /// at the tables once.
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

/// One reader's share of the notifications: a bounded buffer between the reactor's thread and the reader's task.
final class Subscription: Sendable {
  private struct State {
    var buffer: Deque<Notifications.Element> = []
    var reader: UnsafeContinuation<Notifications.Element?, any Error>?
    var isFinished = false
    var error: PostgresError?
  }

  let channels: [String]
  private let limit: Int
  private let state = Mutex(State())

  init(_ channels: [String], limit: Int) {
    self.channels = channels
    self.limit = limit
  }

  func emit(_ element: Notifications.Element) {
    let reader = state.withLock { state -> UnsafeContinuation<Notifications.Element?, any Error>? in
      guard !state.isFinished else { return nil }
      if let reader = state.reader.take() { return reader }
      if state.buffer.count >= limit {
        if state.buffer.last != .mayHaveMissed { state.buffer.append(.mayHaveMissed) }
      } else if element != .mayHaveMissed || state.buffer.last != .mayHaveMissed {
        state.buffer.append(element)
      }
      return nil
    }
    reader?.resume(returning: element)
  }

  /// Ends the sequence; with an error, if there is one.
  func finish(_ error: PostgresError? = nil) {
    let reader = state.withLock { state in
      state.isFinished = true
      if state.reader == nil { state.error = error }
      return state.reader.take()
    }
    if let error { reader?.resume(throwing: error) } else { reader?.resume(returning: nil) }
  }

  func next() async throws -> Notifications.Element? {
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        let ready = state.withLock { state -> Result<Notifications.Element?, any Error>? in
          if let element = state.buffer.popFirst() { return .success(element) }
          if let error = state.error.take() { return .failure(error) }
          if state.isFinished || Task.isCancelled { return .success(nil) }
          state.reader = continuation
          return nil
        }
        if let ready { continuation.resume(with: ready) }
      }
    } onCancel: {
      let reader = state.withLock { $0.reader.take() }
      reader?.resume(returning: nil)
    }
  }
}
