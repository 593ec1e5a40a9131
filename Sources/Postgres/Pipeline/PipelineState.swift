import Retrying

/// The protocol of one connection in pipeline mode, without the connection: it takes events and returns actions.
///
/// A *segment* is what lies between two Syncs, an implicit transaction to the server. Its states:
///
/// - **closed**: nothing sent since the last Sync. A read, or a `begin`, opens a segment; any other call is a segment of its
///   own, Sync included. → open, closed
/// - **open**: reads, or a `begin`, were sent and no Sync yet. Any other call closes it: reads get their Sync first, so that
///   a write commits or fails alone; a `begin` shares the Sync of its successor. The end of a batch closes it too. → closed
///
/// Results that the server has yet to send stand in `pending`, in the order of the requests; results are matched from its
/// front. When a call fails, those behind it in its segment come back aborted: they never ran and are sent again.
///
/// A call other than a read is answered only when its Sync is. Its result comes before the commit, which can still fail.
///
/// A cancel request hits whatever the server runs when it arrives. While one may hit, a call that is cancelled though nobody
/// asked for that is sent again.
struct PipelineState {
  private enum Outcome {
    case rows(ResultBox)
    case failed(ServerError)
    case aborted
  }

  private var pending = PendingResults()
  private var prepared = PreparedStatements()
  private var outcome: Outcome?
  /// A call whose result has come and whose Sync has not.
  private var unsettled: (call: Call, result: ResultBox)?
  /// Why plans could not be prepared, for calls that were sent before that was known.
  private var refusals: [String: ServerError] = [:]
  /// The error that aborted the segment being answered.
  private var segmentError: ServerError?
  private var segmentIsOpen = false
  private var segmentBegins = false
  private var cancelRequest = CancelRequest()
  /// When a cancel request is to be repeated.
  private var cancelRetry = MonotonicInstant.distantFuture
  /// Calls in flight that are being cancelled.
  private var cancelledInFlight = 0
  private var syncsSent = 0
  private(set) var syncsAnswered = 0

  /// Calls sent and not yet answered.
  private(set) var callsInFlight = 0
  private var bytesInFlight = 0
  /// How busy the connection is.
  var load: ConnectionLoad {
    ConnectionLoad(
      callsInFlight: callsInFlight, bytesInFlight: bytesInFlight,
      headSince: pending.isEmpty ? .distantFuture : pending.since)
  }
  /// Whose statement the server is at, if that is certain; see `PendingResults`.
  var flowAtHead: Int64? { pending.flowAtHead }
  /// Whether nothing is pending, so that the connection may change its mode or be leased to somebody else.
  var isIdle: Bool { pending.isEmpty && !segmentIsOpen }
  /// Whether results are expected.
  var expectsResults: Bool { !pending.isEmpty }
  /// Whether a result has come whose end has not.
  var hasResult: Bool { outcome != nil }
  /// Whether a cancel request may yet hit whatever runs next.
  var cancelIsPending: Bool { cancelRequest.mayHit }

  /// The statement whose result comes next, to name it in the result.
  var headStatement: String {
    (pending.headCall ?? unsettled?.call)?.statement.name ?? "sync"
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
      let (added, surplus) = prepared.add(call.statement, types: types)
      plan = added
      // Statements that were sent before still find the old plan.
      if let surplus { deallocate(surplus, at: now, &actions) }
      pending.append(.prepare(call, plan), at: now)
      actions.append(.prepare(call, plan))
    }
    pending.append(.execute(call, plan), at: now)
    actions.append(.execute(call, plan))
    segmentIsOpen = true
    segmentBegins = call.role == .begin
    if !sharesSync, !segmentBegins { closeSegment(&actions) }
  }

  /// All calls of this turn have been sent: reads get their Sync.
  mutating func endBatch(_ actions: inout [PipelineAction]) {
    if segmentIsOpen, !segmentBegins { closeSegment(&actions) }
  }

  /// No statement will follow the `begin` for now. The server is asked to answer, or it would look hung.
  mutating func endSegment(_ actions: inout [PipelineAction]) {
    if segmentIsOpen { closeSegment(&actions) }
  }

  /// Under a Sync of its own, since the server may not know the plan.
  private mutating func deallocate(_ plan: Plan, at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    if segmentIsOpen { closeSegment(&actions) }
    pending.append(.deallocate, at: now)
    actions.append(.deallocate(plan))
    closeSegment(&actions)
  }

  private mutating func closeSegment(_ actions: inout [PipelineAction]) {
    segmentIsOpen = false
    segmentBegins = false
    syncsSent += 1
    pending.appendSync()
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
      if let call = pending.headCall {
        actions.append(.fail(call, PostgresError.misuse("\(call.statement.name): \(what)")))
      }
      lose(what, &actions)
    }
  }

  private mutating func fail(_ error: ServerError, at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    segmentError = error
    if pending.headIsSync, let (call, _) = unsettled {
      // The commit itself failed, as a deferred constraint does.
      unsettled = nil
      conclude(call, error, plan: nil, at: now, &actions)
    } else {
      outcome = .failed(error)
    }
  }

  private mutating func settleHead(at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    guard let outcome = outcome.take(), let head = pending.first else { return }
    switch head {
    case .sync: return
    case .deallocate: pending.removeFirst(at: now)
    case .prepare(let call, let plan):
      pending.removeFirst(at: now)
      switch outcome {
      case .rows: break
      case .failed(let error):
        prepared.remove(plan)
        if error.sqlState != ServerError.queryCanceled { refusals[plan.name] = error }
        conclude(call, error, plan: nil, at: now, &actions)
      case .aborted:
        prepared.remove(plan)
      }
    case .execute(let call, let plan):
      pending.removeFirst(at: now)
      switch outcome {
      case .rows(let rows) where call.role == .read || call.role == .begin: finish(.succeed(call, rows), &actions)
      case .rows(let rows): unsettled = (call, rows)
      case .failed(let error): conclude(call, refusals[plan.name] ?? error, plan: plan, at: now, &actions)
      case .aborted: skip(call, at: now, &actions)
      }
    }
    cancelHeadIfAsked(at: now, &actions)
  }

  private mutating func answerSync(at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    guard pending.headIsSync else { return lose("a Sync was answered that had not been sent", &actions) }
    pending.removeFirst(at: now)
    syncsAnswered += 1
    segmentError = nil
    if let (call, rows) = unsettled.take() { finish(.succeed(call, rows), &actions) }
    cancelRequest.synced(syncsAnswered: syncsAnswered)
    cancelHeadIfAsked(at: now, &actions)
  }

  /// A call whose prepare failed is answered already; the execute skipped behind it says nothing new.
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
      let isOurs = cancelRequest.mayHit
      switch call.conclusion(fromCancel: error, isOurs: isOurs, since: pending.segmentSince, at: now) {
      case .fail(let error): finish(.fail(call, error), &actions)
      case .resend: finish(.resend(call), &actions)
      }
      return
    }
    if let plan, error.meansStalePlan {
      if prepared.remove(plan) { deallocate(plan, at: now, &actions) }
      if call.standsAlone, !call.wasReprepared {
        call.wasReprepared = true
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
      if call.cancelling != nil { cancelledInFlight -= 1 }
      actions.append(action)
    default: actions.append(action)
    }
  }

  // MARK: Cancelling and time limits

  /// The call is to be cancelled. The server is asked only once it may be at the call: a request hits whatever runs when it
  /// arrives.
  mutating func cancel(
    _ call: Call, because reason: Call.Cancelling, at now: MonotonicInstant, _ actions: inout [PipelineAction]
  ) {
    guard call.isInFlight, call.cancelling == nil else { return }
    call.cancelling = reason
    cancelledInFlight += 1
    cancelHeadIfAsked(at: now, &actions)
  }

  /// Answers the callers of all calls whose deadline has passed, and has the server cancel those calls. They stay in flight
  /// until their results have come.
  /// - Returns: when the next deadline passes.
  mutating func passDeadlines(at now: MonotonicInstant, _ actions: inout [PipelineAction]) -> MonotonicInstant {
    var next = MonotonicInstant.distantFuture
    for call in pending.calls + (unsettled.map { [$0.call] } ?? []) where call.isInFlight && !call.isFinished {
      if call.deadline > now {
        next = min(next, call.deadline)
      } else {
        actions.append(.giveUp(call, call.deadlineError))
        cancel(call, because: .deadline, at: now, &actions)
      }
    }
    return next
  }

  /// The connection is outside pipeline mode, and what it does there is to be cancelled.
  mutating func cancelOperation(_ actions: inout [PipelineAction]) {
    if !cancelRequest.isUnderWay { requestCancel(&actions) }
  }

  /// The request has been delivered, or has failed to be.
  mutating func cancelReturned(at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    guard cancelRequest.isUnderWay else { return }
    cancelRequest.returned(syncsSent: syncsSent)
    // The call it was meant for may be answered already, while another waits for a request of its own.
    cancelHeadIfAsked(at: now, &actions)
  }

  private mutating func cancelHeadIfAsked(at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    cancelRetry = .distantFuture
    guard cancelledInFlight > 0, !cancelRequest.isUnderWay, !pending.headIsSync else { return }
    var retry = MonotonicInstant.distantFuture
    let due = pending.firstCallBeforeSync { call in
      guard call.isInFlight, call.cancelling != nil, call.cancelRequests < CancelRequest.attempts else { return false }
      guard call.nextCancelRequest > now else { return true }
      retry = min(retry, call.nextCancelRequest)
      return false
    }
    guard let call = due else {
      cancelRetry = retry
      return
    }
    call.cancelRequests += 1
    call.nextCancelRequest = now.advanced(by: RetryPolicy.cancelRequests.delay(after: call.cancelRequests))
    requestCancel(&actions)
  }

  private mutating func requestCancel(_ actions: inout [PipelineAction]) {
    cancelRequest.request()
    actions.append(.requestCancel)
  }

  /// When `tick` has something to do next.
  var deadline: MonotonicInstant { min(overdue, cancelRetry) }

  /// When the server will have been at one call for too long.
  private var overdue: MonotonicInstant {
    if let call = pending.headCall { return call.overdue(since: pending.since) }
    // A Sync may never be answered either; there is nothing to cancel then.
    let waiter = unsettled?.call ?? pending.nextCall
    return waiter?.overdue(since: pending.since, isCancelled: true) ?? .distantFuture
  }

  /// Repeats a cancel request that had no effect, cancels the call that the server does not answer, or closes the connection.
  mutating func tick(at now: MonotonicInstant, _ actions: inout [PipelineAction]) {
    if now >= cancelRetry { cancelHeadIfAsked(at: now, &actions) }
    guard now >= overdue else { return }
    guard let call = pending.headCall, call.cancelling != .timeLimit else {
      return lose("no answer within the time limit", &actions)
    }
    // If the task was cancelled too, and that request had no answer either, the reason no longer matters.
    if call.cancelling == nil { cancelledInFlight += 1 }
    call.cancelling = .timeLimit
    call.cancelRequests = 0
    call.nextCancelRequest = now
    cancelHeadIfAsked(at: now, &actions)
  }

  // MARK: Loss

  /// The connection is gone. What was in flight fails, each call by what it may have done.
  /// - Parameter isAnnounced: whether the server announced it in place of the next result.
  mutating func lose(_ why: String, isAnnounced: Bool = false, _ actions: inout [PipelineAction]) {
    if let (call, _) = unsettled.take() { finish(.fail(call, call.lossError), &actions) }
    let head = pending.headCall
    for call in pending.removeAll() {
      let error = isAnnounced ? call.lossErrorIfAnnounced(isAtHead: call === head) : call.lossError
      finish(.fail(call, error), &actions)
    }
    segmentIsOpen = false
    actions.append(.close(why))
  }
}

/// What the pipeline's state machine wants done, in this order.
enum PipelineAction {
  case prepare(Call, Plan)
  case execute(Call, Plan)
  /// A plan is stale: the server may free it.
  case deallocate(Plan)
  /// Ends the segment, and with it the implicit transaction.
  case sync
  case succeed(Call, ResultBox)
  case fail(Call, any Error)
  /// The caller is answered with the error now, while the call is still in flight.
  case giveUp(Call, PostgresError)
  /// It certainly had no effect: back to the head of the queue.
  case resend(Call)
  /// Have the server cancel what it runs on this connection. Answer with `cancelReturned`.
  case requestCancel
  /// The connection is lost. Every call in flight has been failed already.
  case close(String)
}

/// One result, as libpq's `PQgetResult` gives it.
enum PipelineResult {
  case rows(ResultBox)
  case failed(ServerError)
  /// An earlier statement under the same Sync failed, so this one was skipped.
  case aborted
  /// The null that ends the results of one statement. There is none after a Sync.
  case end
  case sync
  /// Something a pipeline cannot carry, such as COPY.
  case unexpected(String)
}
