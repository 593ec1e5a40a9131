import DequeModule
import Synchronization

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
