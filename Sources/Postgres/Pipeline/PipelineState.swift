/// The protocol of one connection in pipeline mode, without the connection: it takes events and returns actions.
///
/// A *segment* is what lies between two Syncs, an implicit transaction to the server. Its states:
///
/// - **closed**: nothing sent since the last Sync. A read, or a `begin`, opens a segment; any other call is a segment of its
///   own, Sync included. → open, closed
/// - **open**: reads, or a `begin`, were sent and no Sync yet. A call that is no read closes it (reads get their Sync
///   first, so that the write commits or fails alone; a `begin` is closed together with its successor); so does the end of
///   a batch. → closed
///
/// What the server owes stands in `owed`, in the order it was asked for; results are matched from its front. When a call
/// fails, those behind it in its segment come back aborted: they never ran and are sent again.
///
/// A call that is no read is answered only when its Sync is: its result comes before the commit, which can still fail; and
/// whoever has the answer may rely on the connection owing nothing more for it.
///
/// While a request to cancel is in the air, a cancelled neighbour, one that nobody asked to cancel, is sent again.
struct PipelineState {
  private enum Outcome {
    case rows(ResultBox)
    case failed(ServerError)
    case aborted
  }

  private var owed = PendingResults()
  private var prepared = PreparedStatements()
  private var outcome: Outcome?
  /// A call whose result has come and whose Sync has not.
  private var unsettled: (call: Call, result: ResultBox)?
  /// Why plans could not be prepared, for calls sent in the belief that they were.
  private var refusals: [String: ServerError] = [:]
  /// The error that aborted the segment being answered.
  private var segmentError: ServerError?
  private var segmentIsOpen = false
  private var segmentBegins = false
  private var cancelRequest = CancelRequest()
  /// Calls in flight whose callers want no answer any more.
  private var unwanted = 0
  private var syncsSent = 0
  private(set) var syncsAnswered = 0

  /// Calls sent and not yet answered.
  private(set) var callsInFlight = 0
  /// What the parameters of those calls take.
  private(set) var bytesInFlight = 0
  /// Whether the server owes nothing, so that the connection may change its mode or be lent to somebody else.
  var isIdle: Bool { owed.isEmpty && !segmentIsOpen }
  /// Whether results are to be asked for.
  var expectsResults: Bool { !owed.isEmpty }
  /// For how long the server has been at one statement, in nanoseconds.
  func timeAtHead(at now: MonotonicInstant) -> Int64 { owed.isEmpty ? 0 : now.nanoseconds - owed.since.nanoseconds }
  /// Whether a cancel request may yet hit whatever runs next.
  var cancelIsInTheAir: Bool { cancelRequest.isInTheAir }

  /// The statement whose result comes next: a result bears its name.
  var headStatement: String {
    (owed.headCall ?? unsettled?.call)?.statement.name ?? "sync"
  }

  // MARK: Sending

  mutating func send(_ call: Call, at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    let sharesSync = call.role == .read
    if segmentIsOpen, !sharesSync, !segmentBegins { closeSegment(&actions) }
    call.sentAt = now
    call.isInFlight = true
    callsInFlight += 1
    bytesInFlight += call.parameters.bytes.count
    let types = call.parameters.types
    let plan: Plan
    if let known = prepared.plan(for: call.statement, types: types) {
      plan = known
    } else {
      plan = prepared.add(call.statement, types: types)
      owed.append(.prepare(call, plan), at: now)
      actions.append(.prepare(call, plan))
    }
    owed.append(.execute(call, plan), at: now)
    actions.append(.execute(call, plan))
    segmentIsOpen = true
    segmentBegins = call.role == .begin
    if !sharesSync, !segmentBegins { closeSegment(&actions) }
  }

  /// Everything that was waiting has been sent: reads get their Sync.
  mutating func endBatch(_ actions: inout [PipelineAction]) {
    if segmentIsOpen, !segmentBegins { closeSegment(&actions) }
  }

  /// No statement will follow the `begin` for now: the server shall answer, or it would look hung.
  mutating func endSegment(_ actions: inout [PipelineAction]) {
    if segmentIsOpen { closeSegment(&actions) }
  }

  /// Under a Sync of its own, as the server may know no such plan.
  private mutating func deallocate(_ plan: Plan, at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    if segmentIsOpen { closeSegment(&actions) }
    owed.append(.deallocate, at: now)
    actions.append(.deallocate(plan))
    closeSegment(&actions)
  }

  private mutating func closeSegment(_ actions: inout [PipelineAction]) {
    segmentIsOpen = false
    segmentBegins = false
    syncsSent += 1
    owed.appendSync()
    actions.append(.sync)
  }

  // MARK: Answers

  mutating func receive(_ result: PipelineResult, at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    switch result {
    case .rows(let rows): outcome = .rows(rows)
    case .aborted: outcome = .aborted
    case .failed(let error) where error.endsConnection:
      lose(error.description, isAnnounced: !error.sqlState.isEmpty, &actions)
    case .failed(let error): fail(error, at: now, &actions)
    case .end: settleHead(at: now, &actions)
    case .sync: answerSync(at: now, &actions)
    case .unexpected(let what):
      if let call = owed.headCall {
        actions.append(.fail(call, PostgresError.misuse("\(call.statement.name): \(what)")))
      }
      lose(what, &actions)
    }
  }

  private mutating func fail(_ error: ServerError, at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    segmentError = error
    if owed.headIsSync, let (call, _) = unsettled {
      // The commit itself failed, as a deferred constraint does.
      unsettled = nil
      conclude(call, error, plan: nil, at: now, &actions)
    } else {
      outcome = .failed(error)
    }
  }

  private mutating func settleHead(at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    guard let outcome = outcome.take(), let head = owed.first else { return }
    switch head {
    case .sync: return
    case .deallocate: owed.removeFirst(at: now)
    case .prepare(let call, let plan):
      owed.removeFirst(at: now)
      switch outcome {
      case .rows: break
      case .failed(let error):
        prepared.forget(plan)
        if error.sqlState != ServerError.queryCanceled { refusals[plan.name] = error }
        conclude(call, error, plan: nil, at: now, &actions)
      case .aborted:
        prepared.forget(plan)
      }
    case .execute(let call, let plan):
      owed.removeFirst(at: now)
      switch outcome {
      case .rows(let rows) where call.role == .read || call.role == .begin: finish(.succeed(call, rows), &actions)
      case .rows(let rows): unsettled = (call, rows)
      case .failed(let error): conclude(call, refusals[plan.name] ?? error, plan: plan, at: now, &actions)
      case .aborted: skip(call, at: now, &actions)
      }
    }
    cancelHeadIfAsked(&actions)
  }

  private mutating func answerSync(at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    guard owed.headIsSync else { return lose("a Sync was answered that was not owed", &actions) }
    owed.removeFirst(at: now)
    syncsAnswered += 1
    segmentError = nil
    if let (call, rows) = unsettled.take() { finish(.succeed(call, rows), &actions) }
    cancelRequest.synced(syncsAnswered: syncsAnswered)
    cancelHeadIfAsked(&actions)
  }

  /// A call whose prepare failed has its answer already; the skipped execute behind it says nothing new.
  private mutating func skip(_ call: Call, at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    guard call.isInFlight else { return }
    if call.standsAlone { return finish(.resend(call), &actions) }
    guard let segmentError else { return finish(.fail(call, call.lossError), &actions) }
    conclude(call, segmentError, plan: nil, at: now, &actions)
  }

  /// Decides what an error of the server means for the call that met it.
  private mutating func conclude(
    _ call: Call, _ error: ServerError, plan: Plan?, at now: MonotonicInstant,
    _ actions: inout [PipelineAction]
  ) {
    if error.sqlState == ServerError.queryCanceled {
      let isOurs = cancelRequest.isInTheAir
      switch call.conclusion(fromCancel: error, isOurs: isOurs, since: owed.segmentSince, at: now) {
      case .fail(let error): finish(.fail(call, error), &actions)
      case .resend: finish(.resend(call), &actions)
      }
      return
    }
    if let plan, error.meansStalePlan {
      if prepared.forget(plan) { deallocate(plan, at: now, &actions) }
      if call.standsAlone, !call.preparedAnew {
        call.preparedAnew = true
        return finish(.resend(call), &actions)
      }
    }
    finish(.fail(call, PostgresError.server(error)), &actions)
  }

  private mutating func finish(_ action: PipelineAction, _ actions: inout [PipelineAction]) {
    switch action {
    case .succeed(let call, _), .fail(let call, _), .resend(let call):
      guard call.isInFlight else { return }
      call.isInFlight = false
      callsInFlight -= 1
      bytesInFlight -= call.parameters.bytes.count
      if call.cancelling != nil { unwanted -= 1 }
      actions.append(action)
    default: actions.append(action)
    }
  }

  // MARK: Cancelling and time limits

  /// The caller wants no answer any more. The server is asked only once it may be at the call: a request hits whatever runs
  /// when it arrives.
  mutating func cancel(_ call: Call, because reason: Call.Cancelling, _ actions: inout [PipelineAction]) {
    guard call.isInFlight, call.cancelling == nil else { return }
    call.cancelling = reason
    unwanted += 1
    cancelHeadIfAsked(&actions)
  }

  /// Answers the callers of all calls whose deadline has passed, and has the server cancel those calls. They stay in flight
  /// until their results have come.
  /// - Returns: when the next deadline passes.
  mutating func passDeadlines(at now: MonotonicInstant, _ actions: inout [PipelineAction]) -> MonotonicInstant {
    var next = MonotonicInstant.distantFuture
    for call in owed.calls + (unsettled.map { [$0.call] } ?? []) where call.isInFlight && !call.isFinished {
      if call.deadline > now {
        next = min(next, call.deadline)
      } else {
        actions.append(.giveUp(call, call.deadlineError))
        cancel(call, because: .deadline, &actions)
      }
    }
    return next
  }

  /// The connection is outside pipeline mode, and what it does there is to be cancelled.
  mutating func cancelExchange(_ actions: inout [PipelineAction]) {
    if !cancelRequest.isUnderWay { requestCancel(&actions) }
  }

  /// The request has been delivered, or has failed to be.
  mutating func cancelReturned(_ actions: inout [PipelineAction]) {
    guard cancelRequest.isUnderWay else { return }
    cancelRequest.returned(syncsSent: syncsSent)
    // The call it was meant for may be answered already, and the next one be waiting for a request of its own.
    cancelHeadIfAsked(&actions)
  }

  private mutating func cancelHeadIfAsked(_ actions: inout [PipelineAction]) {
    guard unwanted > 0, !cancelRequest.isUnderWay, !owed.headIsSync else { return }
    let isWanted = { (call: Call) in
      call.isInFlight && call.cancelling != nil && call.cancelRequests < CancelRequest.attempts
    }
    guard let call = owed.firstCallBeforeSync(where: isWanted) else { return }
    call.cancelRequests += 1
    requestCancel(&actions)
  }

  private mutating func requestCancel(_ actions: inout [PipelineAction]) {
    cancelRequest.request()
    actions.append(.requestCancel)
  }

  /// When `tick` has something to do next.
  var deadline: MonotonicInstant {
    if let call = owed.headCall { return call.overdue(since: owed.since) }
    // A Sync can be waited for in vain, too; there is nothing to cancel then.
    let waiter = unsettled?.call ?? owed.nextCall
    return waiter?.overdue(since: owed.since, isCancelled: true) ?? .distantFuture
  }

  /// Cancels the call that the server does not answer, or gives the connection up.
  mutating func tick(at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    guard now >= deadline else { return }
    guard let call = owed.headCall, call.cancelling != .timeLimit else {
      return lose("no answer within the time limit", &actions)
    }
    // A task that was cancelled, and whose request got no answer either, is past caring which of the two it was.
    if call.cancelling == nil { unwanted += 1 }
    call.cancelling = .timeLimit
    call.cancelRequests = 0
    cancelHeadIfAsked(&actions)
  }

  // MARK: Loss

  /// The connection is gone. What was in flight fails, each call by what it may have done.
  /// - Parameter isAnnounced: whether the server said so in the place of the next answer.
  mutating func lose(_ why: String, isAnnounced: Bool = false, _ actions: inout [PipelineAction]) {
    if let (call, _) = unsettled.take() { finish(.fail(call, call.lossError), &actions) }
    let head = owed.headCall
    for call in owed.removeAll() {
      let error = isAnnounced ? call.lossErrorIfAnnounced(isAtHead: call === head) : call.lossError
      finish(.fail(call, error), &actions)
    }
    segmentIsOpen = false
    actions.append(.close(why))
  }
}
