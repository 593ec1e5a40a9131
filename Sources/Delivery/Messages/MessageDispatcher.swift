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
  private let batcher: Batcher<Item, [Result<Acceptance, any Error>]>
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
    var policy = Batcher<Item, [Result<Acceptance, any Error>]>.FailurePolicy()
    policy.concernsSomeItems = { ($0 as? PostgresError)?.isOfData == true }
    batcher = Batcher(
      BatchLimits(
        batchWeight: Self.chunk, batchesPerKey: 1, items: 8192, timeout: dispatcher.settings.acceptTimeout),
      full: PostgresError.busy("too many messages are waiting already"), onFailure: policy,
      on: dispatcher.database.executor
    ) { _, items in
      try await Self.accept(items, dispatcher, sendsItself ? lanes : nil)
    }
  }

  /// Accepts a message without a task. Once it is answered, it is committed, and on its way.
  /// - Parameter answer: called once, from any thread.
  public func accept(
    _ message: NewMessage, in stream: MessageStream,
    _ answer: @escaping @Sendable (Result<Acceptance, any Error>) -> Void
  ) {
    let item = Item(messages: [message], stream: stream)
    batcher.answer(stream.key.sendout.rawValue, item, weight: item.weight) { acceptances in
      answer(acceptances.flatMap { $0[0] })
    }
  }

  private func answer(
    _ messages: [NewMessage], in stream: MessageStream
  ) async throws -> [Result<Acceptance, any Error>] {
    let item = Item(messages: messages, stream: stream)
    return try await batcher.answer(stream.key.sendout.rawValue, item, weight: item.weight)
  }

  /// Accepts messages of one stream. Those that succeed are committed and on their way once this returns. One that the database refuses
  /// for what it holds fails alone. Once the database is away, the rest is not tried.
  /// - Returns: what became of each, in their order.
  public func acceptEach(_ messages: [NewMessage], in stream: MessageStream) async -> [Result<Acceptance, any Error>] {
    var acceptances: [Result<Acceptance, any Error>] = []
    var chunks = Deque(Self.chunks(messages[...]))
    while let chunk = chunks.popFirst() {
      do {
        acceptances += try await answer(Array(chunk), in: stream)
      } catch let error as PostgresError where error.isOfData {
        guard chunk.count > 1 else {
          acceptances.append(.failure(error))
          continue
        }
        let middle = chunk.startIndex + chunk.count / 2
        chunks.prepend(contentsOf: [chunk[..<middle], chunk[middle...]])
      } catch {
        acceptances += messages.dropFirst(acceptances.count).map { _ in .failure(error) }
        return acceptances
      }
    }
    return acceptances
  }

  /// The parts of a list that one statement each accepts. So many wait at a time, and others take turns with them.
  private static func chunks(_ messages: ArraySlice<NewMessage>) -> [ArraySlice<NewMessage>] {
    var chunks: [ArraySlice<NewMessage>] = []
    var rest = messages
    while !rest.isEmpty {
      var weight = 0
      let chunk = rest.prefix {
        weight += $0.weight
        return weight <= Self.chunk || weight == $0.weight
      }
      chunks.append(chunk)
      rest = rest.dropFirst(chunk.count)
    }
    return chunks
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
  private static let chunk = 256

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

  /// Waits for verdicts without a task.
  /// - Parameter answer: called once, from any thread.
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
    _ items: [Item], _ dispatcher: Dispatcher, _ lanes: MessageLanes?
  ) async throws -> [[Result<Acceptance, any Error>]] {
    let stream = items[0].stream
    let messages = items.flatMap(\.messages)
    // Calls and PINs have no limits, whatever else is in their stream.
    let limits = items.flatMap { item in item.messages.map { _ in item.stream.limits } }
    var results = [Result<Acceptance, any Error>](repeating: .success(.deferred), count: messages.count)
    var isFirst = true
    for isLimited in [false, true] {
      var waiting = messages.indices.filter { (limits[$0] != nil) == isLimited }
      while let last = waiting.last {
        do {
          let acceptances = try await accept(
            waiting.map { messages[$0] }, in: stream, limits[last], dispatcher, lanes)
          for (index, acceptance) in zip(waiting, acceptances) { results[index] = .success(acceptance) }
          waiting = zip(waiting, acceptances).compactMap { index, acceptance -> Int? in
            if case .deferred = acceptance { index } else { nil }
          }
        } catch  where !isFirst {
          // What is committed must not be sent again for what is not.
          for index in waiting { results[index] = .failure(error) }
          break
        }
        isFirst = false
      }
    }
    var rest = results[...]
    return items.map { item in
      defer { rest = rest.dropFirst(item.messages.count) }
      return Array(rest.prefix(item.messages.count))
    }
  }

  /// Accepts messages by one statement.
  private static func accept(
    _ messages: [NewMessage], in stream: MessageStream, _ limits: StreamLimits?, _ dispatcher: Dispatcher,
    _ allLanes: MessageLanes?
  ) async throws -> [Acceptance] {
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
      suppressions: dispatcher.suppressions, tracked: stream.tracked, limits: limits)
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
        switch acceptance {
        case .accepted(_, let pushes), .limited(_, let pushes, _): count + pushes.count
        case .addresseeUnknown, .repeated, .suppressed, .deferred: count
        }
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
      // They are committed. If the notification fails, the scan of some hub finds them.
      try? await stream.notify()
    }
    return acceptances
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
  /// What decides about the messages that are handed over with it; nil for nothing, as with calls and PINs.
  public var limits: StreamLimits?
  /// Reserves numbers for this hub.
  let reserve: @Sendable () async throws -> StreamNumbers
  /// Notifies every hub that there is something to send.
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
