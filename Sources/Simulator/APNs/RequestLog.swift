import DequeModule
public import FoundationEssentials
import NIOHPACK
import Synchronization

extension SimulatedAPNs {
  /// A request that was received completely, and the reply to it.
  public struct ReceivedRequest: Sendable {
    /// 1, 2, 3, … since the start.
    public internal(set) var number = 0
    public let environment: Environment
    /// The number of its connection: 1, 2, 3, …
    public let connection: Int
    /// Its stream on that connection: 1, 3, 5, …
    public let stream: Int
    public let at: Date
    /// The device token in lower case.
    public let token: String
    public let payload: [UInt8]
    public let reply: Reply
    let headers: HPACKHeaders

    /// The first value of a header; names are in lower case.
    public func header(_ name: String) -> String? { headers.first(name: name) }

    /// Whether a phone would get it: the reply is 200, at once or after a delay.
    public var isAccepted: Bool {
      var reply = reply
      while case .after(_, let then) = reply { reply = then }
      return reply == .accept
    }
  }
}

/// The last requests, oldest first, and the callers that wait for more.
final class RequestLog: Sendable {
  private struct State {
    var kept: Deque<SimulatedAPNs.ReceivedRequest> = []
    var count = 0
    var waiting: [(count: Int, CheckedContinuation<[SimulatedAPNs.ReceivedRequest], Never>)] = []
    var watchers: [Int: AsyncStream<SimulatedAPNs.ReceivedRequest>.Continuation] = [:]
    var lastWatcher = 0
    var isFinished = false
  }

  private let state = Mutex(State())
  private let limit: Int

  init(keeping limit: Int) { self.limit = max(1, limit) }

  var kept: [SimulatedAPNs.ReceivedRequest] { state.withLock { Array($0.kept) } }
  var count: Int { state.withLock { $0.count } }

  func append(_ request: SimulatedAPNs.ReceivedRequest) {
    state.withLock { state in
      var request = request
      state.count += 1
      request.number = state.count
      if state.kept.count == limit { state.kept.removeFirst() }
      state.kept.append(request)
      for watcher in state.watchers.values { watcher.yield(request) }
      guard !state.waiting.isEmpty else { return }
      let count = state.count
      let ready = state.waiting.filter { $0.count <= count }
      state.waiting.removeAll { $0.count <= count }
      for (_, continuation) in ready { continuation.resume(returning: Array(state.kept)) }
    }
  }

  /// Waits until so many requests were received since the start, and returns those kept.
  func received(count: Int) async -> [SimulatedAPNs.ReceivedRequest] {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if state.count >= count {
          continuation.resume(returning: Array(state.kept))
        } else {
          state.waiting.append((count, continuation))
        }
      }
    }
  }

  /// The last `replay` requests kept, then every new one. A reader that is too slow misses the oldest.
  func watch(replay: Int) -> AsyncStream<SimulatedAPNs.ReceivedRequest> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: SimulatedAPNs.ReceivedRequest.self, bufferingPolicy: .bufferingNewest(max(replay, 200)))
    state.withLock { state in
      if state.isFinished { return continuation.finish() }
      for request in state.kept.suffix(replay) { continuation.yield(request) }
      state.lastWatcher += 1
      let number = state.lastWatcher
      state.watchers[number] = continuation
      continuation.onTermination = { [weak self] _ in self?.removeWatcher(number) }
    }
    return stream
  }

  /// Ends every stream of `watch`, for good.
  func finish() {
    let watchers = state.withLock { state in
      state.isFinished = true
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.finish() }
  }

  private func removeWatcher(_ number: Int) {
    state.withLock { $0.watchers[number] = nil }
  }
}
