import DequeModule
import Logging
import Postgres
import Registry
public import ServiceLifecycle
import Locking
public import Wire

/// Sends single messages as soon as they are committed: from the statement that accepted them to the push service, without another
/// read.
///
/// Messages of one stream that arrive while a statement is under way share the next one. What a lane cannot send, because its push
/// service is away, goes back to the ledger, and `SendoutRunner` of some hub sends it later.
public final class MessageDispatcher: Service {
  /// What travels together of one request.
  private struct Item: Sendable {
    let messages: [NewMessage]
    let stream: MessageStream

    /// How much of a statement it takes: large messages travel with fewer others.
    var weight: Int { messages.reduce(0) { $0 + $1.weight } }
  }

  private let dispatcher: Dispatcher
  private let batcher: Batcher<Item, [Acceptance]>
  private let lanes: MessageLanes
  private let shutdownTimeout: Duration

  /// - Parameters:
  ///   - sendsItself: false leaves sending to the hubs, as the command line does.
  ///   - shutdownTimeout: how long shutdown waits for pushes in flight; those without an outcome by then are uncertain.
  public init(_ dispatcher: Dispatcher, sendsItself: Bool = true, shutdownTimeout: Duration = .seconds(25)) {
    self.dispatcher = dispatcher
    self.shutdownTimeout = shutdownTimeout
    let lanes = MessageLanes(dispatcher)
    self.lanes = lanes
    dispatcher.streams.onStop { [weak lanes] in lanes?.stop($0) }
    var policy = Batcher<Item, [Acceptance]>.FailurePolicy()
    policy.concernsSomeItems = { ($0 as? PostgresError)?.isOfData == true }
    batcher = Batcher(
      BatchLimits(batchWeight: Self.slice, batchesPerKey: 1, items: 8192, timeout: .seconds(10)),
      full: PostgresError.busy("too many messages are waiting already"), onFailure: policy,
      on: dispatcher.database.executor
    ) { _, items in
      try await Self.accept(items, dispatcher, sendsItself ? lanes : nil)
    }
  }

  /// Accepts a message; once this returns, it is committed, and on its way.
  public func accept(_ message: NewMessage, in stream: MessageStream) async throws -> Acceptance {
    try await answer([message], in: stream)[0]
  }

  /// The same without a task.
  public func accept(
    _ message: NewMessage, in stream: MessageStream,
    _ answer: @escaping @Sendable (Result<Acceptance, any Error>) -> Void
  ) {
    let item = Item(messages: [message], stream: stream)
    batcher.answer(stream.key.sendout.rawValue, item, weight: item.weight) { acceptances in
      answer(acceptances.map { $0[0] })
    }
  }

  private func answer(_ messages: [NewMessage], in stream: MessageStream) async throws -> [Acceptance] {
    let item = Item(messages: messages, stream: stream)
    return try await batcher.answer(stream.key.sendout.rawValue, item, weight: item.weight)
  }

  /// Accepts messages of one stream. Those that succeed are committed and on their way once this returns. One that the database refuses
  /// for what it holds fails alone. Once the database is away, the rest is not tried.
  /// - Returns: what became of each, in their order.
  public func acceptEach(_ messages: [NewMessage], in stream: MessageStream) async -> [Result<Acceptance, any Error>] {
    var acceptances: [Result<Acceptance, any Error>] = []
    var slices = Deque(Self.slices(messages[...]))
    while let slice = slices.popFirst() {
      do {
        acceptances += try await answer(Array(slice), in: stream).map { .success($0) }
      } catch let error as PostgresError where error.isOfData {
        guard slice.count > 1 else {
          acceptances.append(.failure(error))
          continue
        }
        let middle = slice.startIndex + slice.count / 2
        slices.prepend(contentsOf: [slice[..<middle], slice[middle...]])
      } catch {
        acceptances += messages.dropFirst(acceptances.count).map { _ in .failure(error) }
        return acceptances
      }
    }
    return acceptances
  }

  /// The parts of a list that one statement each accepts. So many wait at a time, and others take turns with them.
  private static func slices(_ messages: ArraySlice<NewMessage>) -> [ArraySlice<NewMessage>] {
    var slices: [ArraySlice<NewMessage>] = []
    var rest = messages
    while !rest.isEmpty {
      var weight = 0
      let slice = rest.prefix {
        weight += $0.weight
        return weight <= Self.slice || weight == $0.weight
      }
      slices.append(slice)
      rest = rest.dropFirst(slice.count)
    }
    return slices
  }

  /// Waits while many pushes of a customer's messages wait to be sent, as these take memory, and until `end` at most.
  public func waitForCapacity(_ customer: CustomerID, until end: ContinuousClock.Instant) async {
    while dispatcher.handover.pushes(of: customer) >= Self.manyWaiting, .now < end {
      guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return }
    }
  }

  /// Pushes enough for the window to stay full meanwhile.
  private static let manyWaiting = 1000

  /// How many messages of 4 KiB a statement accepts at most.
  private static let slice = 256

  /// Waits for the verdicts on a message's pushes, for at most so long.
  /// - Returns: what is known by then.
  public func verdicts(
    _ wait: MessageWait, on pushes: [PushNumber], of stream: SendoutKey, within limit: Duration
  ) async -> [PushNumber: PushVerdict] {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        verdicts(wait, on: pushes, of: stream, within: limit) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      wait.end()
    }
  }

  /// The same without a task.
  public func verdicts(
    _ wait: MessageWait, on pushes: [PushNumber], of stream: SendoutKey, within limit: Duration,
    _ answer: @escaping @Sendable ([PushNumber: PushVerdict]) -> Void
  ) {
    dispatcher.waits.verdicts(wait, within: limit) { [waits = dispatcher.waits] verdicts in
      waits.remove(stream, pushes)
      answer(verdicts)
    }
  }

  private static func accept(
    _ items: [Item], _ dispatcher: Dispatcher, _ allLanes: MessageLanes?
  ) async throws -> [[Acceptance]] {
    let stream = items[0].stream
    let messages = items.flatMap(\.messages)
    let fields = MessageLedger.fields(of: messages)
    let handover = dispatcher.handover
    let lanes = allLanes.flatMap {
      !$0.isClosed && handover.hasCapacity(for: messages.count, of: stream.key.customer, naming: fields) ? $0 : nil
    }
    let active = dispatcher.streams.active(stream.key)
    var (numbers, verifications) = active.reserved.withLock { $0 }
    if numbers?.suffice(for: messages.count) != true { numbers = try await stream.reserve() }
    guard var numbers else { preconditionFailure("a stream without numbers") }
    // Most contacts have a device or two. What does not fit is marked when the window has capacity for it.
    let window = dispatcher.window
    let capacity =
      lanes == nil
      ? Capacity()
      : window.reserve(of: stream.key.customer, in: stream.lanes, upTo: messages.count * 2 + 10)
    let ledger = MessageLedger(
      database: dispatcher.database, key: stream.key, apps: stream.apps.map(\.app),
      run: lanes == nil ? nil : active.run, lease: dispatcher.settings.lease, capacity: capacity.count,
      tracked: stream.tracked)
    var isAssigned = false
    defer { if !isAssigned { window.release(capacity) } }
    // Whatever happens, numbers that may be used are not used again.
    active.reserved.withLock { $0.numbers = nil }
    let (acceptances, batches) = try await ledger.accept(messages, &numbers, reading: fields)
    // If it was paused meanwhile, what was accepted waits in the ledger.
    let mayGoOn = active.reserved.withLock { [left = numbers] in
      if $0.verifications == verifications { $0.numbers = left }
      return $0.verifications == verifications
    }
    active.wrote(
      acceptances.reduce(0) { count, acceptance in
        if case .accepted(_, let pushes) = acceptance { count + pushes.count } else { count }
      }, ledger)
    for (message, acceptance) in zip(messages, acceptances) {
      if let wait = message.wait, case .accepted(_, let pushes) = acceptance {
        dispatcher.waits.add(wait, stream.key, pushes.map(\.number))
      }
    }
    if let lanes {
      isAssigned = true
      let capacities = window.assign(
        capacity, to: batches.map { (LaneKey(customer: stream.key.customer, lane: $0.lane), $0.batch.markedCount) })
      for (var batch, capacity) in zip(batches, capacities) {
        batch.marked = capacity
        batch.memory = handover.take(batch, of: stream.key.customer, with: fields)
        if !mayGoOn || !lanes.hand(batch, stream, active.run) { await release(batch, of: ledger, dispatcher) }
      }
    } else if !batches.isEmpty {
      // They are committed: if nobody hears of them, the scan of some hub finds them.
      try? await stream.notify()
    }
    var rest = acceptances[...]
    return items.map { item in
      defer { rest = rest.dropFirst(item.messages.count) }
      return Array(rest.prefix(item.messages.count))
    }
  }

  /// Leaves a batch to other hubs, as this one has begun to stop.
  private static func release(_ handed: HandedBatch, of ledger: MessageLedger, _ dispatcher: Dispatcher) async {
    dispatcher.window.release(handed.marked)
    guard let run = ledger.run else { return }
    let batches = BatchLedger(
      database: dispatcher.database, key: ledger.key, lane: handed.lane, run: run, lease: ledger.lease)
    // If this fails, its lease expires.
    try? await batches.release(handed.batch.claim)
  }

  /// Ends lanes that have nothing to do, until graceful shutdown or cancellation; then waits for pushes in flight.
  public func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await gracefulShutdown() }
      group.addTask {
        while (try? await Task.sleep(for: .seconds(30))) != nil {
          self.lanes.endIdle()
          self.dispatcher.streams.forgetIdle()
        }
      }
      await group.next()
      group.cancelAll()
    }
    await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        await self.end()
        return true
      }
      group.addTask {
        try? await Task.sleep(for: self.shutdownTimeout)
        return false
      }
      if await group.next() == false {
        dispatcher.logger.warning(
          "shutdown timeout: some batches of messages are not settled yet; a hub continues with them when their leases expire",
          metadata: ["batches": "\(lanes.held)", "timeout": "\(shutdownTimeout)"])
      }
      group.cancelAll()
    }
  }

  /// Gives what has not left back to the ledger, and waits for what is in flight. What is accepted later is left to other hubs. When the
  /// task is cancelled it drops all, and leases expire.
  /// - Parameter sendsRest: whether what has not left is sent, however long that takes.
  public func end(sendsRest: Bool = false) async { await lanes.endAll(sendsRest: sendsRest) }
}

/// A stream that messages go to: what they have in common, and the apps that they are sent to.
public struct MessageStream: Sendable {
  public let key: SendoutKey
  public let apps: [AppTarget]
  /// Of tracked messages.
  let tracked: TrackedTraits?
  /// Reserves numbers for this hub.
  let reserve: @Sendable () async throws -> StreamNumbers
  /// Tells every hub that it has something to send.
  let notify: @Sendable () async throws -> Void

  /// Where its messages may go.
  fileprivate var lanes: [LaneKey] {
    apps.flatMap { app in
      [false, true].map { LaneKey(customer: key.customer, lane: Lane(app: app.app, isSandbox: $0)) }
    }
  }

  public init(
    key: SendoutKey, apps: [AppTarget], tracked: TrackedTraits? = nil,
    notify: @escaping @Sendable () async throws -> Void,
    reserve: @escaping @Sendable () async throws -> StreamNumbers
  ) {
    self.key = key
    self.apps = apps
    self.tracked = tracked
    self.notify = notify
    self.reserve = reserve
  }
}

/// What this hub keeps of each stream that it has accepted messages for.
final class ActiveStreams: Sendable {
  final class Active: Sendable {
    let run = RunID()
    /// The numbers that are left, and how often they were dropped: those that a statement has in hand are dropped with them.
    let reserved = Mutex<(numbers: StreamNumbers?, verifications: Int)>((nil, 0))
    private let pushes = Atomic(0)

    /// Tells the planner whenever this hub's pushes of the stream have doubled. Plans are made once, and one that was made for an empty
    /// table reads all of it for each message.
    func wrote(_ count: Int, _ ledger: MessageLedger) {
      let (before, now) = pushes.add(count, ordering: .relaxed)
      guard now >= 256, before.leadingZeroBitCount != now.leadingZeroBitCount else { return }
      Task {
        _ = try? await ledger.database.query(FreezeQueries.analyze, ledger.key.sendout.rawValue, Int64(now))
      }
    }
  }

  private let streams = Mutex<[SendoutKey: (active: Active, lastUse: ContinuousClock.Instant)]>([:])

  func active(_ key: SendoutKey) -> Active {
    streams.withLock { streams in
      let active = streams[key]?.active ?? Active()
      streams[key] = (active, .now)
      return active
    }
  }

  /// What stops the lanes of a stream.
  private let lanes = Mutex<[@Sendable (SendoutKey?) -> Void]>([])

  func onStop(_ handler: @escaping @Sendable (SendoutKey?) -> Void) { lanes.withLock { $0.append(handler) } }

  /// Drops the numbers that are reserved, as reserving others shows whether the stream still goes on, and stops its lanes.
  /// - Parameter key: nil for all.
  func stop(_ key: SendoutKey?) {
    let all = streams.withLock { streams in key.map { [streams[$0]].compactMap(\.self) } ?? Array(streams.values) }
    for (active, _) in all { active.reserved.withLock { $0 = (nil, $0.verifications + 1) } }
    for stop in lanes.withLock(\.self) { stop(key) }
  }

  /// Forgets streams that had no message for so long that their lanes have ended: each day has new ones.
  func forgetIdle() { streams.withLock { $0 = $0.filter { .now - $0.value.lastUse < .seconds(3600) } } }
}

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
