import DequeModule
import Locking
import Postgres
import Registry
import Wire

/// A task for each lane of each stream that sends what is handed to it. The window gives those of a lane their turns.
final class MessageLanes: Sendable {
  private struct Key: Hashable {
    let sendout: SendoutKey
    let lane: Lane
  }

  private struct Running {
    let batches: InMemoryBatchQueue
    let app: AppTarget
    let stop: StopSignal
    var lastUse: ContinuousClock.Instant
  }

  private struct State {
    var lanes: [Key: Running] = [:]
    /// All tasks that have not ended, also those that get nothing more.
    var tasks: [ObjectIdentifier: (task: Task<Void, Never>, batches: InMemoryBatchQueue, key: Key, stop: StopSignal)] =
      [:]
    var isClosed = false
  }

  private let dispatcher: Dispatcher
  private let state = Mutex(State())
  private static let idleLimit = Duration.seconds(60)

  init(_ dispatcher: Dispatcher) { self.dispatcher = dispatcher }

  /// Whether it takes no further messages.
  var isClosed: Bool { state.withLock(\.isClosed) }

  /// - Returns: whether it is taken.
  func hand(_ batch: HandedBatch, _ stream: MessageStream, _ run: RunID) -> Bool {
    guard let app = stream.apps.first(where: { $0.app == batch.lane.app }) else { return false }
    return state.withLock { state in
      guard !state.isClosed else { return false }
      let key = Key(sendout: stream.key, lane: batch.lane)
      // One that began with older credentials sends what it has, and no more.
      if let earlier = state.lanes[key], earlier.app.version < app.version || earlier.stop.isStopped {
        earlier.batches.finish()
        state.lanes[key] = nil
      }
      var running = state.lanes[key] ?? begin(stream, app, batch.lane, run, &state)
      running.lastUse = .now
      running.batches.add(batch)
      state.lanes[key] = running
      return true
    }
  }

  private func begin(
    _ stream: MessageStream, _ app: AppTarget, _ lane: Lane, _ run: RunID, _ state: inout State
  ) -> Running {
    let (batches, stop) = (InMemoryBatchQueue(), StopSignal())
    // What it sends comes from the database's thread, and its outcomes go there.
    let task = Task(executorPreference: dispatcher.database.executor) {
      await self.send(batches, stream, app, lane, run, stop)
      self.state.withLock { _ = $0.tasks.removeValue(forKey: ObjectIdentifier(batches)) }
    }
    state.tasks[ObjectIdentifier(batches)] = (task, batches, Key(sendout: stream.key, lane: lane), stop)
    return Running(batches: batches, app: app, stop: stop, lastUse: .now)
  }

  /// How many batches are not settled yet.
  var held: Int { state.withLock { $0.tasks.values.reduce(0) { $0 + $1.batches.leases.count } } }

  private func send(
    _ batches: InMemoryBatchQueue, _ stream: MessageStream, _ app: AppTarget, _ lane: Lane, _ run: RunID,
    _ stop: StopSignal
  ) async {
    let plan = SendoutPlan(
      key: stream.key, content: .ofMessages(nil), onUncertain: stream.tracked?.onUncertain ?? .resend,
      isTracked: stream.tracked != nil, fallback: stream.tracked?.fallback)
    // Each dispatch lasts until its push service is away, or there is nothing more to come.
    while await batches.hasMore() {
      let result = await Dispatch(dispatcher, plan, app, lane, source: batches, run: run, stop: stop).run()
      if result.end == .drained, result.hasAccepted, !result.isSuspect {
        _ = try? await PushAppAlarms(dispatcher.database).clear(
          stream.key.customer, lane.app, isSandbox: lane.isSandbox)
      }
    }
  }

  /// Stops the lanes of a stream. What has not left goes back to the ledger.
  /// - Parameter key: nil for all streams.
  func stop(_ key: SendoutKey?) {
    stop { key == nil || $0.sendout == key }
  }

  private func stop(_ condition: (Key) -> Bool) {
    let stopped = state.withLock { state in
      for key in state.lanes.keys where condition(key) { state.lanes[key] = nil }
      return state.tasks.values.filter { condition($0.key) }
    }
    for lane in stopped {
      lane.stop.stop()
      lane.batches.finish()
    }
  }

  func endIdle() {
    let idle = state.withLock { state in
      let idle = state.lanes.filter { .now - $0.value.lastUse > Self.idleLimit && $0.value.batches.leases.count == 0 }
      for key in idle.keys { state.lanes[key] = nil }
      return idle.values.map(\.batches)
    }
    for batches in idle { batches.finish() }
  }

  func endAll(sendsRest: Bool) async {
    let tasks = state.withLock { state in
      state.isClosed = true
      return Array(state.tasks.values)
    }
    if sendsRest {
      for (_, batches, _, _) in tasks { batches.finish() }
    } else if !Task.isCancelled {
      stop { _ in true }
    }
    await withTaskCancellationHandler {
      for (task, _, _, _) in tasks { await task.value }
    } onCancel: {
      for (task, batches, _, _) in tasks {
        task.cancel()
        batches.finish()
      }
    }
  }
}

/// Batches that are handed over: one task at a time takes them. Their leases are extended while they wait, too.
final class InMemoryBatchQueue: Sendable {
  private struct State {
    var batches: Deque<HandedBatch> = []
    var isFinished = false
    var reader: CheckedContinuation<Bool, Never>?
  }

  let leases = Leases()
  private let state = Mutex(State())

  func add(_ batch: HandedBatch) {
    leases.add(batch.batch.claim, until: batch.batch.leaseEnd)
    change { $0.batches.append(batch) }
  }

  /// There will be no more.
  func finish() { change { $0.isFinished = true } }

  /// Waits for a batch.
  /// - Returns: whether there is one; `false` at the end.
  func hasMore() async -> Bool {
    await withCheckedContinuation { continuation in change { $0.reader = continuation } }
  }

  /// Waits for a batch and takes it; `nil` at the end.
  func next() async -> HandedBatch? {
    guard await hasMore() else { return nil }
    return takeWaiting()
  }

  /// Takes a batch if there is one now.
  func takeWaiting() -> HandedBatch? { state.withLock { $0.batches.popFirst() } }

  private func change(_ body: (inout State) -> Void) {
    let resumed = state.withLock { state -> (CheckedContinuation<Bool, Never>, Bool)? in
      body(&state)
      guard let reader = state.reader, state.isFinished || !state.batches.isEmpty else { return nil }
      state.reader = nil
      return (reader, !state.batches.isEmpty)
    }
    if let (reader, hasMore) = resumed { reader.resume(returning: hasMore) }
  }
}
