import DequeModule
import FoundationEssentials
import Logging
import NIOCore
import Wire

/// The connections of one account to one address, and the pushes that wait for them. The pool and its connections belong to one
/// event loop, so nothing is locked.
final class HTTP2ConnectionPool {
  let logger: Logger
  let service: any ServiceDescription
  /// The value of `:authority`.
  var authority: String { connector.address.authority }
  /// Whether it speaks HTTP/1.1 without TLS.
  var isPlain: Bool { connector.address.isPlain }
  private let clock: @Sendable () -> Date
  private let connector: HTTP2Connector
  /// Counts its connections beside the first; nil where these are not counted.
  private let quotas: (quotas: Quotas, holder: QuotaHolder)?
  /// Connections that are counted.
  private var counted: Set<Int> = []
  private let timeouts: HTTP2ConnectionTimeouts
  private let loop: any EventLoop
  private let metrics: ProviderMetrics
  private var state: HTTP2PoolState
  private var connections: [Int: HTTP2Connection] = [:]
  private var queue: Deque<PushJob> = []
  private var touched: [PushBatch] = []
  private var isPumping = false
  private var willPump = false
  private var awaitsAuthorization = false
  private var timer: (at: NIODeadline, task: Scheduled<Void>)?
  private var whenEmpty: EventLoopPromise<Void>?
  /// Responses to any push.
  private var answerCount = 0
  /// Most pushes that may be open on a new connection at first.
  private var window = Int.max

  /// How often a push that was certainly not processed is sent again while no other is answered; then it comes back `unsent`.
  private static let resendLimit = 3
  /// Most pushes that a connection takes before the next one has its turn: some full TLS records.
  private static let slice = 128

  init(
    _ service: any ServiceDescription, connector: HTTP2Connector,
    quotas: (quotas: Quotas, holder: QuotaHolder)? = nil, timeouts: HTTP2ConnectionTimeouts, settings: PoolSettings,
    loop: any EventLoop, metrics: ProviderMetrics, logger: Logger,
    now: @escaping @Sendable () -> Date
  ) {
    self.service = service
    clock = now
    self.connector = connector
    self.quotas = quotas
    self.timeouts = timeouts
    self.loop = loop
    self.metrics = metrics
    self.logger = logger
    state = HTTP2PoolState(settings)
  }
}

// MARK: - Pushes

extension HTTP2ConnectionPool {
  /// The clock by which pushes are dated.
  var now: Date { clock() }

  /// Enqueues a batch's pushes, but those that are refused already.
  func enqueue(_ batch: PushBatch, refused: [PushOutcome]) {
    let without = Set(refused.map(\.index))
    for outcome in refused { finish(PushJob(batch: batch, index: outcome.index), outcome.verdict, outcome.sentAt) }
    for index in batch.requests.indices where !without.contains(index) {
      queue.append(PushJob(batch: batch, index: index))
    }
    pump()
  }

  /// The next push to send, for a connection that has capacity.
  func next() -> PushJob? {
    while let job = queue.popFirst() {
      if job.batch.isCancelled { continue }
      guard let cancellationReason = job.batch.cancellationReason else { return job }
      finish(job, .unsent(reason: cancellationReason))
    }
    return nil
  }

  /// Sends what can be sent, and delivers outcomes.
  func pump() {
    guard !isPumping else { return }
    isPumping = true
    if !queue.isEmpty, let authorization = authorization() {
      var hasSent = false
      for serial in state.ready where connections[serial]?.sendWaiting(slice: Self.slice, authorization) == true {
        hasSent = true
      }
      if hasSent, !queue.isEmpty { pumpAgain() }
    }
    review()
    isPumping = false
    for batch in touched { batch.deliver() }
    touched.removeAll(keepingCapacity: true)
    metrics.openStreams(connections.values.reduce(0) { $0 + $1.openStreams })
  }

  /// Continues later, so that others on this event loop have their turn.
  private func pumpAgain() {
    guard !willPump else { return }
    willPump = true
    loop.assumeIsolated().execute {
      self.willPump = false
      self.pump()
    }
  }

  /// The authorization to send with. Without one, pushes wait until it is fetched, or get their verdict.
  private func authorization() -> Authorization? {
    guard !awaitsAuthorization else { return nil }
    let pool = NIOLoopBound(self, eventLoop: loop)
    let available = service.authorization { [loop] in
      loop.execute {
        pool.value.awaitsAuthorization = false
        pool.value.pump()
      }
    }
    switch available {
    case .available(let authorization): return authorization
    case .pending: awaitsAuthorization = true
    case .unusable(let verdict): finishAll(verdict)
    }
    return nil
  }

  /// - Parameter sentAt: `nil` if the push never left.
  private func finish(
    _ job: PushJob, _ verdict: Verdict, except exceptions: [Int: Verdict] = [:], _ sentAt: Date? = nil
  ) {
    if job.batch.settle(job, verdict, except: exceptions, sentAt: sentAt) { touched.append(job.batch) }
  }

  private func finishAll(_ verdict: Verdict) {
    while let job = next() { finish(job, verdict) }
  }
}

// MARK: - Endings

extension HTTP2ConnectionPool {
  /// A request has ended on a connection; `pump` follows.
  func settle(_ job: PushJob, _ ending: RequestEnding, sentAt: Date, on connection: HTTP2Connection) {
    switch ending {
    case .answered(let response):
      let classification = service.classification(of: response, to: job.request)
      metrics.answered(
        status: response.status, reason: classification.reason ?? "", after: now.timeIntervalSince(sentAt))
      answerCount += 1
      state.answered(on: connection.serial, now: .now())
      let isRefusal = if case .credentialsRefused = classification.verdict { true } else { false }
      if !isRefusal { connection.proven() }
      let isUnproven = connection.isUnproven
      apply(classification, job, sentAt: sentAt, on: connection)
      if isRefusal, isUnproven { refuseRest(of: job, classification.verdict) }
    case .notProcessed(let reason):
      metrics.notProcessed()
      resend(job, reason: reason)
    case .lost(let reason):
      metrics.lost()
      finish(job, .uncertain(reason: reason), sentAt)
    }
  }

  /// A fresh connection's answer refused the account: what waits of the same call need not leave to learn that. Nothing is known of pushes
  /// that name a topic or sender of their own, nor while the refused one is tried again.
  private func refuseRest(of refused: PushJob, _ verdict: Verdict) {
    let isRetried = queue.contains { $0.batch === refused.batch && $0.index == refused.index }
    guard !isRetried, !refused.request.hasOwnTopic, !refused.request.hasOwnSender else { return }
    var kept: Deque<PushJob> = []
    while let job = queue.popFirst() {
      if job.batch === refused.batch, !job.request.hasOwnTopic, !job.request.hasOwnSender {
        finish(job, verdict)
      } else {
        kept.append(job)
      }
    }
    queue = kept
  }

  private func resend(_ job: PushJob, reason: String) {
    if let verdict = service.verdict(onGoAway: reason) { return finish(job, verdict) }
    var job = job
    // While others are answered, the server works: as when it ends each connection after some pushes.
    job.unprocessedCount = job.answersBefore == answerCount ? job.unprocessedCount + 1 : 1
    job.answersBefore = answerCount
    if job.unprocessedCount > Self.resendLimit { return finish(job, .unsent(reason: reason)) }
    queue.prepend(job)
  }

  private func apply(
    _ classification: ResponseClassification, _ job: PushJob, sentAt: Date, on connection: HTTP2Connection
  ) {
    var isRetryable = false
    switch classification.recovery {
    case .none: break
    case .reopen:
      retiring(connection)
      connection.retire()
    case .smaller:
      guard !job.isSmaller, let smaller = job.request.source?.smaller() else { break }
      var job = job
      job.smaller = smaller
      return queue.prepend(job)
    case .newConnection: isRetryable = true
    case .newToken, .previousToken: isRetryable = service.replace(job.authorization, classification.recovery)
    }
    guard isRetryable, !job.isRetry else {
      return finish(job, classification.verdict, except: classification.exceptions, sentAt)
    }
    let (isWorthwhile, actions) = state.renew(
      for: classification.reason ?? "", on: connection.serial, now: .now())
    perform(actions)
    guard isWorthwhile else { return finish(job, classification.verdict, sentAt) }
    var job = job
    job.isRetry = true
    queue.prepend(job)
  }
}

// MARK: - Connections

extension HTTP2ConnectionPool {
  /// A connection may take pushes.
  func opened(_ connection: HTTP2Connection) {
    logger.info("connected to \(service.name)", metadata: ["connection": "\(connection.serial)"])
    perform(state.opened(connection.serial, hasStreams: connection.hasStreams))
  }

  /// A connection takes no more pushes.
  /// - Parameter byUs: whether this is no loss of a connection.
  func retiring(_ connection: HTTP2Connection, byUs: Bool = false) {
    state.retiring(connection.serial, byUs: byUs)
  }

  /// A server turned pushes back after it had processed so many on a connection. It may do so again, and whatever leaves beyond them
  /// is sent in vain.
  func turnedBack(after processed: Int) {
    window = max(Self.leastWindow, processed)
  }

  private static let leastWindow = 16

  /// A connection is closed, and has settled all its pushes.
  func closed(_ connection: HTTP2Connection, reason: String) {
    closed(connection.serial, reason: reason)
  }

  private func closed(_ serial: Int, reason: String) {
    guard connections.removeValue(forKey: serial) != nil else { return }
    if counted.remove(serial) != nil, let quotas { quotas.quotas.closeConnection(of: quotas.holder) }
    metrics.connectionClosed()
    state.closed(serial, reason: reason, jitter: .random(in: 0...1), now: .now())
    logger.info("\(service.name) connection closed", metadata: ["connection": "\(serial)", "reason": "\(reason)"])
    pump()
    if connections.isEmpty { whenEmpty?.succeed() }
  }

  private func perform(_ actions: [HTTP2PoolState.Action]) {
    for action in actions {
      switch action {
      case .open(let serial): open(serial)
      case .retire(let serial): connections[serial]?.retire()
      case .failWaiting(HubReason.noConnection.rawValue) where awaitsAuthorization:
        finishAll(.unsent(reason: .hub(.noAuthorization)))
      case .failWaiting(let reason): finishAll(.unsent(reason: reason))
      }
    }
  }

  private func open(_ serial: Int) {
    // Its customer has many already, so what waits takes its turn on those that there are.
    if let quotas, !connections.isEmpty {
      guard quotas.quotas.openConnection(of: quotas.holder) else { return state.forget(serial) }
      counted.insert(serial)
    }
    let connection = HTTP2Connection(serial, pool: self, timeouts: timeouts, window: window)
    connections[serial] = connection
    metrics.connectionOpened()
    connector.connect(connection, on: loop).assumeIsolated().whenFailure { error in
      guard self.connections[serial] != nil else { return }
      self.logger.warning("could not connect to \(self.service.name)", metadata: ["error": "\(error)"])
      // Its devices named an address to which nothing is sent, unless their names are looked up wrongly at the moment.
      if HTTP2ConnectionFailure.isOfAddress(error) { self.finishAll(.unsent(reason: .hub(.addressNotAllowed))) }
      self.closed(serial, reason: HTTP2ConnectionFailure.reason(error))
    }
  }

  private func review() {
    perform(state.review(waiting: queue.count, maySend: !awaitsAuthorization, now: .now()))
    let at = state.nextReview()
    if let timer, timer.at <= at { return }
    timer?.task.cancel()
    timer = nil
    guard at != .distantFuture else { return }
    let task = loop.assumeIsolated().scheduleTask(deadline: at) {
      self.timer = nil
      self.pump()
    }
    timer = (at, task)
  }

  /// Closes all connections now. Pushes that wait for their responses are uncertain.
  func closeConnections() {
    for connection in Array(connections.values) { connection.close(reason: "shut down") }
  }

  /// Returns waiting pushes as `unsent`, and finishes once the last connection has closed.
  func shutDown() -> EventLoopFuture<Void> {
    if let whenEmpty { return whenEmpty.futureResult }
    let promise = loop.makePromise(of: Void.self)
    whenEmpty = promise
    perform(state.shutDown())
    pump()
    if connections.isEmpty { promise.succeed() }
    return promise.futureResult
  }
}
