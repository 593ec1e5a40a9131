import DequeModule
import Synchronization

/// One reader's share of the notifications: a bounded buffer between the reactor's thread and the reader's task.
final class Subscription: Sendable {
  private struct State {
    var buffer: Deque<Notifications.Element> = []
    var reader: UnsafeContinuation<Notifications.Element?, Never>?
    var isFinished = false
  }

  let channels: [String]
  private let limit: Int
  private let state = Mutex(State())

  init(_ channels: [String], limit: Int) {
    self.channels = channels
    self.limit = limit
  }

  func emit(_ element: Notifications.Element) {
    let reader = state.withLock { state -> UnsafeContinuation<Notifications.Element?, Never>? in
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

  func finish() {
    let reader = state.withLock { state in
      state.isFinished = true
      return state.reader.take()
    }
    reader?.resume(returning: nil)
  }

  func next() async -> Notifications.Element? {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let ready = state.withLock { state -> Notifications.Element?? in
          if let element = state.buffer.popFirst() { return .some(element) }
          if state.isFinished || Task.isCancelled { return .some(nil) }
          state.reader = continuation
          return .none
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      let reader = state.withLock { $0.reader.take() }
      reader?.resume(returning: nil)
    }
  }
}
