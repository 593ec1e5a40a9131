/// What a pool decides, without its connections: it takes events and gives actions.
///
/// The pool: **running** → **draining** (takes nothing new, finishes what it has) → **closed**.
///
/// A connection:
///
/// - **closed** → opening (`next`)
/// - **opening** → shared, idle or listening (`opened`); closed (`failed`)
/// - **shared**, carrying statements of many callers → closed (`closed`, `failed`)
/// - **idle**, for transactions and COPY → leased (`next`); closed
/// - **leased** to one caller → idle (`returned`); closed
/// - **listening**, for notifications → closed
///
/// A call: **waiting** → **sent** (`next`), or turned away (`next`). What was sent is the business of the connection's
/// `PipelineState`, which may hand it back: → waiting (`requeue`).
///
/// A waiter, who wants a connection: **waiting** → **leased** (`next`), or turned away (`next`).
///
/// Connections are shared by customer (`FlowTable`). Those that wait take turns, and each customer has a share of every kind
/// (`Shares`). So a customer that sends much, or what takes long, leaves others theirs.
///
/// After a failure to connect, connections are opened one at a time, and later with each failure, until the server answers.
struct PoolState {
  /// Identifies a connection until it is closed; another may have the same number afterwards.
  typealias ConnectionID = Int

  /// What a connection is opened for.
  enum Purpose: Equatable { case shared, dedicated, listening }

  /// What the pool wants done. Its driver does so before it asks for the next action.
  enum Action {
    /// Open a connection. Answer with `opened` or `failed`.
    case open(ConnectionID, Purpose)
    case send(Call, ConnectionID)
    case lease(ConnectionID, ConnectionWaiter)
    case turnAway(Call, PostgresError)
    case refuse(ConnectionWaiter, PostgresError)
    /// A call may have missed its deadline. Turn these away, which certainly have, and give up those that are in flight.
    /// Answer with `watch`, for the next deadline of those in flight.
    case passDeadlines([Call])
    /// All is done: close every connection.
    case close
  }

  enum Phase { case running, draining, closed }

  struct Connection {
    enum Phase: Equatable {
      case closed
      case opening(Purpose)
      case shared, idle, leased, listening
    }

    fileprivate(set) var phase = Phase.closed
    /// Whether the server has answered on it: a proxy may open connections to nowhere.
    fileprivate(set) var isProven = false
    /// Calls in flight on it of flows that keep connections busy for long.
    fileprivate(set) var slowCalls = 0
    /// Who leases it.
    fileprivate var holder: ConnectionWaiter?
    /// How busy it is. The driver sets it once a turn.
    var load = ConnectionLoad()
  }

  /// How many connections one customer may use at a time, of each kind.
  struct Shares {
    /// Shared connections with statements of one customer: all but one.
    let pipelines: Int
    /// Shared connections with statements of all customers whose statements take long: all but one.
    let allSlowPipelines: Int
    /// Short transactions of one customer.
    let transactions: Int
    /// Long transactions of one customer.
    let longTransactions: Int
    /// Long transactions of all: what is left is for short ones alone.
    let allLongTransactions: Int

    init(_ configuration: PoolConfiguration) {
      let (shared, dedicated) = (configuration.sharedConnections, configuration.dedicatedConnections)
      pipelines = max(1, shared - 1)
      allSlowPipelines = max(1, shared - 1)
      transactions = max(1, dedicated / 3)
      allLongTransactions = max(1, dedicated - transactions)
      longTransactions = max(1, allLongTransactions / 2)
    }
  }

  private let configuration: PoolConfiguration
  let shares: Shares
  private let hungAfter: Int64
  private(set) var phase = Phase.running
  var connections: [Connection]
  /// Calls for the shared connections.
  private(set) var calls: FlowTable<Call>
  /// Callers that wait for a connection of their own, for a short time.
  private(set) var waiters: FlowTable<ConnectionWaiter>
  /// Those that may have it for long.
  private(set) var longWaiters: FlowTable<ConnectionWaiter>
  /// Whether a long one has the next turn: both kinds take turns.
  private var longIsNext = false
  /// Connections that are leased for long.
  private var longLeases = 0
  /// What has waited too long, and is to be turned away.
  private var lateCalls: [Call] = []
  private var lateWaiters: [ConnectionWaiter] = []
  private(set) var backoff = ReconnectBackoff()
  /// Whether anybody listens to notifications.
  var needsListener = false
  /// The listening connection is not opened before this, since the server has refused to listen.
  var listensNotBefore = MonotonicInstant(nanoseconds: .min)
  /// Whether a call had to be sent behind another since a shared connection was last opened.
  private var wantsAnotherShared = false
  /// No later than the first deadline of any call, waiting or in flight.
  private var earliestDeadline = MonotonicInstant.distantFuture
  /// Deadlines are not looked at before this.
  private var deadlinesPassedUntil = MonotonicInstant(nanoseconds: .min)

  /// Cancelled callers are not looked for before this.
  private var finishedRemovedUntil = MonotonicInstant(nanoseconds: .min)

  /// By how much a call may outlive its deadline, so that many deadlines in a row are looked at together.
  private static let deadlineAccuracy = Duration.milliseconds(10)
  /// How long a customer leaves a connection to others after a statement of its took long. Others of it may wait that long for their
  /// turn.
  private static let slowFor = Duration.seconds(10)

  init(_ configuration: PoolConfiguration) {
    self.configuration = configuration
    hungAfter = configuration.hungAfter.wholeNanoseconds
    let most = configuration.sharedConnections + configuration.dedicatedConnections + 1
    connections = Array(repeating: Connection(), count: most)
    shares = Shares(configuration)
    calls = FlowTable(connections: most)
    waiters = FlowTable(connections: most)
    longWaiters = FlowTable(connections: most)
  }

  /// Connections that are in this phase now.
  func count(_ phase: Connection.Phase) -> Int { connections.count { $0.phase == phase } }

  // MARK: Calls

  /// A caller wants a statement run.
  /// - Returns: why the call is turned away, if it is.
  mutating func enqueue(_ call: Call, at now: MonotonicInstant) -> PostgresError? {
    guard phase == .running else { return .shutDown }
    guard call.deadline > now else { return unservedByDeadline }
    call.expires = now.advanced(by: configuration.queueTimeout)
    watch(call.deadline)
    calls.append(call)
    return nil
  }

  /// A call that was sent and certainly had no effect waits again, in front of those that were never sent.
  mutating func requeue(_ call: Call, at now: MonotonicInstant) {
    call.expires = now.advanced(by: configuration.queueTimeout)
    watch(call.deadline)
    calls.appendAgain(call)
  }

  /// A call is no longer in flight. If it comes back, that is said before `requeue`.
  mutating func left(_ call: Call, at now: MonotonicInstant) {
    let time = now.nanoseconds - call.sentAt.nanoseconds
    if let id = calls.leave(call, after: time), call.place.isSlow { connections[id].slowCalls -= 1 }
  }

  /// The server has been at a statement of this customer for long, on a shared connection.
  mutating func keepsBusy(_ customer: Int64, at now: MonotonicInstant) {
    if customer != 0 { calls.markSlow(customer, until: now.advanced(by: Self.slowFor)) }
  }

  /// There is a deadline then, of a call that waits or is in flight.
  mutating func watch(_ deadline: MonotonicInstant) { earliestDeadline = min(earliestDeadline, deadline) }

  /// Callers that wait for a connection of their own.
  var waiting: Int { waiters.count + longWaiters.count }

  /// A caller wants a connection.
  /// - Returns: why the caller is turned away, if that is so.
  mutating func enqueue(_ waiter: ConnectionWaiter, at now: MonotonicInstant) -> PostgresError? {
    guard phase == .running else { return .shutDown }
    if waiting >= configuration.queueLimit { removeFinished(at: now) }
    // A customer leaves room to others.
    let mostOfFlow = waiter.flow == 0 ? configuration.queueLimit : max(1, configuration.queueLimit / 2)
    let ofFlow = waiters.count(of: waiter.flow) + longWaiters.count(of: waiter.flow)
    guard waiting < configuration.queueLimit, ofFlow < mostOfFlow else {
      return .busy("\(min(waiting, mostOfFlow)) transactions are waiting already")
    }
    waiter.expires = now.advanced(by: configuration.queueTimeout)
    if waiter.isLong { longWaiters.append(waiter) } else { waiters.append(waiter) }
    return nil
  }

  // MARK: Connections

  /// The connection is open.
  mutating func opened(_ id: ConnectionID) {
    guard case .opening(let purpose) = connections[id].phase else { return }
    switch purpose {
    case .shared: connections[id].phase = .shared
    case .dedicated: connections[id].phase = .idle
    case .listening: connections[id].phase = .listening
    }
  }

  /// The server has answered on this connection.
  /// - Returns: whether that ends an outage.
  mutating func proved(_ id: ConnectionID) -> Bool {
    connections[id].isProven = true
    defer { backoff.succeeded() }
    return backoff.lastFailure != nil
  }

  /// The connection could not be opened, or was lost before the server had answered on it.
  /// - Returns: whether that begins an outage.
  mutating func failed(
    _ id: ConnectionID, _ reason: String, at now: MonotonicInstant, jitter: Double = .random(in: 0...1)
  ) -> Bool {
    closed(id)
    defer { backoff.failed(reason, at: now, jitter: jitter) }
    return backoff.lastFailure == nil
  }

  /// The connection is gone, for any other reason.
  mutating func closed(_ id: ConnectionID) {
    endLease(id)
    // What was in flight on it says itself that it is so no longer.
    let slowCalls = connections[id].slowCalls
    connections[id] = Connection()
    connections[id].slowCalls = slowCalls
  }

  /// A leased connection comes back, fit for another lease.
  mutating func returned(_ id: ConnectionID) {
    endLease(id)
    if connections[id].phase == .leased { connections[id].phase = .idle }
  }

  /// Ends the lease, if there is one.
  private mutating func endLease(_ id: ConnectionID) {
    guard let holder = connections[id].holder.take() else { return }
    if holder.isLong {
      longWaiters.leave(holder)
      longLeases -= 1
    } else {
      waiters.leave(holder)
    }
  }

  // MARK: The end

  /// Takes nothing new, and ends when all there is has been done.
  mutating func drain() {
    if phase == .running { phase = .draining }
  }

  /// Ends now.
  /// - Returns: those that still wait.
  mutating func close() -> (calls: [Call], waiters: [ConnectionWaiter]) {
    phase = .closed
    defer {
      calls.removeAll { _ in true }
      waiters.removeAll { _ in true }
      longWaiters.removeAll { _ in true }
      (lateCalls, lateWaiters) = ([], [])
    }
    return (calls.all + lateCalls, waiters.all + longWaiters.all + lateWaiters)
  }

  // MARK: What to do

  /// The next thing to do. The driver asks until there is none.
  mutating func next(at now: MonotonicInstant) -> Action? {
    guard phase != .closed else { return nil }
    if let action = passDeadlines(at: now) { return action }
    if let action = expire(at: now) { return action }
    if let action = dispatch(at: now) { return action }
    if let action = turnAwaySurplus(at: now) { return action }
    if let action = lease() { return action }
    if let action = open(at: now) { return action }
    guard phase == .draining, isDone else { return nil }
    phase = .closed
    return .close
  }

  /// When `next` will have something to do though no event occurs.
  var wakeTime: MonotonicInstant {
    var next = min(calls.expires, max(earliestDeadline, deadlinesPassedUntil))
    next = min(next, waiters.expires, longWaiters.expires)
    if let purpose = neededPurpose { next = min(next, opensNotBefore(purpose)) }
    return next
  }

  /// Looks at all calls, but only when one may be late: that costs less than an ordered queue that each call enters and leaves.
  private mutating func passDeadlines(at now: MonotonicInstant) -> Action? {
    guard earliestDeadline <= now, deadlinesPassedUntil <= now else { return nil }
    deadlinesPassedUntil = now.advanced(by: Self.deadlineAccuracy)
    earliestDeadline = .distantFuture
    var late: [Call] = []
    var next = MonotonicInstant.distantFuture
    calls.removeAll { call in
      guard !call.isFinished else { return true }
      guard call.deadline <= now else {
        next = min(next, call.deadline)
        return false
      }
      late.append(call)
      return true
    }
    earliestDeadline = next
    return .passDeadlines(late)
  }

  private mutating func expire(at now: MonotonicInstant) -> Action? {
    lateCalls += calls.removeExpired(at: now)
    lateWaiters += waiters.removeExpired(at: now)
    lateWaiters += longWaiters.removeExpired(at: now)
    if let call = lateCalls.popLast() { return .turnAway(call, unservedInTime) }
    if let waiter = lateWaiters.popLast() { return .refuse(waiter, unservedInTime) }
    return nil
  }

  private mutating func dispatch(at now: MonotonicInstant) -> Action? {
    var passed = 0
    while passed < max(1, calls.waitingFlows), let call = calls.next() {
      let (best, anyHasCapacity) = leastLoaded(for: call, at: now)
      guard anyHasCapacity else { return nil }
      if let id = best, isWorthSending(to: id, at: now) {
        calls.take(for: id, at: now)
        connections[id].load.add(call, at: now)
        if call.place.isSlow { connections[id].slowCalls += 1 }
        return .send(call, id)
      }
      // Its flow has its share, or waits for a connection to be opened; others need not wait.
      calls.pass()
      passed += 1
    }
    return nil
  }

  /// It is better to wait for a connection that is about to be there than behind a statement of unknown length.
  private mutating func isWorthSending(to id: ConnectionID, at now: MonotonicInstant) -> Bool {
    guard connections[id].load.callsInFlight > 0 else { return true }
    wantsAnotherShared = true
    return !(connections[id].load.isSlow(at: now) && mayHaveAnotherShared)
  }

  /// The shared connection that has least to do, of those that the call's flow may use. Not one whose server seems to hang: what waits
  /// can still be turned away, and what was sent cannot. Rather none that is slow, or has statements of those that are.
  private func leastLoaded(for call: Call, at now: MonotonicInstant) -> (best: ConnectionID?, anyHasCapacity: Bool) {
    var best: ConnectionID?
    var least = Int.max
    var anyHasCapacity = false
    let isSlow = calls.isSlow(call, at: now)
    let isCustomers = call.flow != 0
    let hasShare = isCustomers && calls.connections(of: call) >= shares.pipelines
    let slowOnesHaveTheirs =
      isSlow && connections.count { $0.phase == .shared && $0.slowCalls > 0 } >= shares.allSlowPipelines
    for id in connections.indices where connections[id].phase == .shared {
      let load = connections[id].load
      guard load.hasCapacity, load.timeAtHead(at: now) <= hungAfter else { continue }
      anyHasCapacity = true
      if hasShare, !calls.holds(call, on: id) { continue }
      if isCustomers, !calls.hasWindow(call, on: id) { continue }
      if slowOnesHaveTheirs, connections[id].slowCalls == 0 { continue }
      var count = load.callsInFlight
      if load.isSlow(at: now) || (!isSlow && connections[id].slowCalls > 0) { count += ConnectionLoad.mostCalls }
      guard count < least else { continue }
      (best, least) = (id, count)
      if count == 0 { break }
    }
    return (best, anyHasCapacity)
  }

  /// Calls beyond the queue's limit, once the connections have taken what they can: the last to arrive of the customer that has most
  /// waiting.
  private mutating func turnAwaySurplus(at now: MonotonicInstant) -> Action? {
    if calls.count > configuration.queueLimit { removeFinished(at: now) }
    while calls.count > configuration.queueLimit, let call = calls.popSurplus() {
      if !call.isFinished {
        return .turnAway(call, .busy("\(configuration.queueLimit) statements are waiting already"))
      }
    }
    return nil
  }

  /// Frees the places of callers that were cancelled. Looks at all of them, so not more than once in a while.
  private mutating func removeFinished(at now: MonotonicInstant) {
    guard finishedRemovedUntil <= now else { return }
    finishedRemovedUntil = now.advanced(by: Self.deadlineAccuracy)
    calls.removeAll(where: \.isFinished)
    waiters.removeAll(where: \.isFinished)
    longWaiters.removeAll(where: \.isFinished)
  }

  private mutating func lease() -> Action? {
    guard !waiters.isEmpty || !longWaiters.isEmpty else { return nil }
    let id = connections.firstIndex { $0.phase == .idle }
    let longHaveTheirs = longLeases >= shares.allLongTransactions
    let long = longHaveTheirs ? nil : Self.next(of: &longWaiters, share: shares.longTransactions)
    let short = Self.next(of: &waiters, share: shares.transactions)
    guard let id, let waiter = longIsNext ? long ?? short : short ?? long else { return nil }
    if waiter.isLong {
      longWaiters.take(for: id)
      longLeases += 1
    } else {
      waiters.take(for: id)
    }
    longIsNext = !waiter.isLong
    connections[id].phase = .leased
    connections[id].holder = waiter
    return .lease(id, waiter)
  }

  /// The first whose customer has not got its share.
  private static func next(of waiters: inout FlowTable<ConnectionWaiter>, share: Int) -> ConnectionWaiter? {
    for _ in 0..<max(1, waiters.waitingFlows) {
      guard let waiter = waiters.next() else { return nil }
      if waiter.flow == 0 || waiters.connections(of: waiter) < share { return waiter }
      waiters.pass()
    }
    return nil
  }

  private mutating func open(at now: MonotonicInstant) -> Action? {
    guard let purpose = neededPurpose, opensNotBefore(purpose) <= now,
      let id = connections.firstIndex(where: { $0.phase == .closed })
    else { return nil }
    connections[id].phase = .opening(purpose)
    if purpose == .shared { wantsAnotherShared = false }
    return .open(id, purpose)
  }

  private func opensNotBefore(_ purpose: Purpose) -> MonotonicInstant {
    purpose == .listening ? max(backoff.notBefore, listensNotBefore) : backoff.notBefore
  }

  /// What a connection is to be opened for.
  private var neededPurpose: Purpose? {
    guard backoff.lastFailure == nil || !connections.contains(where: \.isOpening) else { return nil }
    if needsShared { return .shared }
    if needsDedicated { return .dedicated }
    if needsListener, count(.listening) + count(.opening(.listening)) == 0 { return .listening }
    return nil
  }

  /// One is always kept open, so that the pool knows whether the server is there.
  private var needsShared: Bool {
    guard phase == .running || !calls.isEmpty else { return false }
    let opening = count(.opening(.shared))
    let total = count(.shared) + opening
    guard total > 0 else { return true }
    guard total < configuration.sharedConnections else { return false }
    return (wantsAnotherShared && opening == 0) || calls.hasUnfinished(moreThan: opening)
  }

  private var needsDedicated: Bool {
    guard !waiters.isEmpty || !longWaiters.isEmpty else { return false }
    let free = count(.idle) + count(.opening(.dedicated))
    guard free + count(.leased) < configuration.dedicatedConnections else { return false }
    if waiters.hasUnfinished(moreThan: free) { return true }
    return longLeases + free < shares.allLongTransactions && longWaiters.hasUnfinished(moreThan: free)
  }

  /// Whether another shared connection is about to be there, or will be opened now.
  private var mayHaveAnotherShared: Bool {
    let opening = count(.opening(.shared))
    return opening > 0 || (count(.shared) < configuration.sharedConnections && backoff.lastFailure == nil)
  }

  private var isDone: Bool {
    calls.isEmpty && waiters.isEmpty && longWaiters.isEmpty && lateCalls.isEmpty && lateWaiters.isEmpty
      && !connections.contains { $0.phase == .leased || ($0.phase == .shared && $0.load.callsInFlight > 0) }
  }

  /// Why nothing was sent within the queue's limit.
  private var unservedInTime: PostgresError { unserved("no connection was free within \(configuration.queueTimeout)") }
  /// Why nothing was sent before the deadline.
  var unservedByDeadline: PostgresError { unserved("no connection was free before the deadline") }

  /// Without a connection the database is away. With one, and none refused of late, others have kept all of them busy.
  private func unserved(_ what: String) -> PostgresError {
    if let failure = backoff.lastFailure { return .unavailable("\(what): \(failure)") }
    return connections.contains(where: \.isProven) ? .busy(what) : .unavailable(what)
  }
}

extension PoolState.Connection {
  fileprivate var isOpening: Bool { if case .opening = phase { true } else { false } }
}
