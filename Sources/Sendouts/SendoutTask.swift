import Delivery
import Locking

/// The task that works on a sendout on this hub, as others wake and stop it.
final class SendoutTask: Sendable {
  private struct State {
    /// Lanes that are being sent.
    var lanes: Set<Lane> = []
    var isWoken = false
    var isStopped = false
    var sleeper: CheckedContinuation<Void, Never>?
    var stop: StopSignal?
  }

  let key: SendoutKey
  private let state = Mutex(State())

  init(_ key: SendoutKey) { self.key = key }

  /// Wakes the task, since something has changed.
  func wake() { wake { $0.isWoken = true } }

  /// Whether it was woken since the last call.
  func takeWake() -> Bool {
    state.withLock { state in
      defer { state.isWoken = false }
      return state.isWoken
    }
  }

  /// Stops the current step's dispatch; then the task reads the sendout's state again.
  func interrupt() {
    state.withLock(\.stop)?.stop()
    wake()
  }

  /// Stops the current step's dispatch and every later one.
  func stop() {
    state.withLock { $0.isStopped = true }
    interrupt()
  }

  var isStopped: Bool { state.withLock(\.isStopped) }

  func isSending(_ lane: Lane) -> Bool { state.withLock { $0.lanes.contains(lane) } }

  /// - Returns: false if the lane is being sent already.
  func begin(_ lane: Lane) -> Bool { state.withLock { $0.lanes.insert(lane).inserted } }

  func end(_ lane: Lane) { state.withLock { _ = $0.lanes.remove(lane) } }

  /// Runs a step; `interrupt` stops its dispatch.
  func interruptible<Result>(_ body: (StopSignal) async throws -> Result) async rethrows -> Result {
    let signal = StopSignal()
    let isStopped = state.withLock { state in
      state.stop = signal
      return state.isStopped
    }
    if isStopped { signal.stop() }
    defer { state.withLock { $0.stop = nil } }
    return try await body(signal)
  }

  /// Sleeps until woken, for `duration` at most, or until the task is cancelled.
  func sleep(atMost duration: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await Task.sleep(for: duration) }
      group.addTask { await self.sleepUntilWoken() }
      await group.next()
      group.cancelAll()
    }
    _ = takeWake()
  }

  /// Sleeps until woken, or until the task is cancelled.
  func sleepUntilWoken() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          let isOver = state.isWoken || Task.isCancelled
          if !isOver { state.sleeper = continuation }
          return isOver
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.sleeper.take() }?.resume()
    }
  }

  private func wake(_ change: (inout State) -> Void) {
    let sleeper = state.withLock { state -> CheckedContinuation<Void, Never>? in
      change(&state)
      guard state.isWoken else { return nil }
      defer { state.sleeper = nil }
      return state.sleeper
    }
    sleeper?.resume()
  }
}

/// The tasks of this hub, one for each sendout that it works on.
final class SendoutTasks: Sendable {
  private struct State {
    var tasks: [SendoutKey: SendoutTask] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())
  private let continuation: AsyncStream<SendoutTask>.Continuation
  /// Tasks to be run.
  let added: AsyncStream<SendoutTask>

  init() { (added, continuation) = AsyncStream.makeStream() }

  /// Adds a task for a sendout, unless it has one.
  /// - Returns: the task that it has already.
  @discardableResult
  func add(_ key: SendoutKey) -> SendoutTask? {
    state.withLock { state in
      if let task = state.tasks[key] { return task }
      guard !state.isClosed else { return nil }
      let task = SendoutTask(key)
      state.tasks[key] = task
      continuation.yield(task)
      return nil
    }
  }

  var all: [SendoutTask] { state.withLock { Array($0.tasks.values) } }

  /// Removes a task that has nothing left to do.
  /// - Returns: `false` if it was woken in the meantime, so that it has to continue.
  func remove(_ task: SendoutTask) -> Bool {
    state.withLock { state in
      guard !task.takeWake() || state.isClosed else { return false }
      state.tasks[task.key] = nil
      return true
    }
  }

  /// Adds nothing more, and stops every task.
  func close() {
    let tasks = state.withLock { state in
      state.isClosed = true
      return Array(state.tasks.values)
    }
    continuation.finish()
    for task in tasks { task.stop() }
  }
}
