import DequeModule

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
/// Cancelling goes `none` → `requested` (the request travels on a connection of its own) → `landed` (the server has
/// signalled the backend, which may look at the signal a little later) → `none`, at the answer to a Sync sent after the
/// request came back. Until then a cancelled neighbour, one that nobody asked to cancel, is sent again.
struct PipelineState {
  private enum Debt {
    case prepare(Call, Plan)
    case execute(Call, Plan)
    case sync
  }

  private enum Cancelling {
    case none
    case requested
    case landed(afterSync: Int)
  }

  private enum Outcome {
    case rows(ResultBox)
    case failed(ServerError)
    case aborted
  }

  private var owed: Deque<Debt> = []
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
  private var cancelling = Cancelling.none
  private var syncsSent = 0
  private var syncsAnswered = 0
  private var headSince = Moment.distantFuture

  /// Calls sent and not yet answered.
  private(set) var callsInFlight = 0
  /// What the parameters of those calls take.
  private(set) var bytesInFlight = 0
  /// Whether the server owes nothing, so that the connection may change its mode or be lent to somebody else.
  var isIdle: Bool { owed.isEmpty && !segmentIsOpen }
  /// Whether results are to be asked for.
  var expectsResults: Bool { !owed.isEmpty }
  /// Whether the server has been at one statement for longer than statements here take as a rule.
  func isStuck(at now: Moment) -> Bool {
    !owed.isEmpty && now.nanoseconds - headSince.nanoseconds > Self.usualTime
  }

  /// 20 ms: a slow commit on a spinning disk.
  private static let usualTime: Int64 = 20_000_000

  /// Whether a cancel request may yet hit whatever runs next.
  var cancelIsInTheAir: Bool { if case .none = cancelling { false } else { true } }

  /// The statement whose result comes next: a result bears its name.
  var headStatement: String {
    switch owed.first {
    case .prepare(let call, _), .execute(let call, _): call.statement.name
    case .sync, nil: unsettled?.call.statement.name ?? "sync"
    }
  }

  // MARK: Sending

  mutating func send(_ call: Call, at now: Moment, _ actions: inout [PipelineAction]) {
    let sharesSync = call.role == .read
    if segmentIsOpen, !sharesSync, !segmentBegins { closeSegment(&actions) }
    if owed.isEmpty { headSince = now }
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
      owed.append(.prepare(call, plan))
      actions.append(.prepare(call, plan))
    }
    owed.append(.execute(call, plan))
    actions.append(.execute(call, plan))
    segmentIsOpen = true
    segmentBegins = call.role == .begin
    if !sharesSync, !segmentBegins { closeSegment(&actions) }
  }

  /// Everything that was waiting has been sent: reads get their Sync.
  mutating func endBatch(_ actions: inout [PipelineAction]) {
    if segmentIsOpen, !segmentBegins { closeSegment(&actions) }
  }

  private mutating func closeSegment(_ actions: inout [PipelineAction]) {
    segmentIsOpen = false
    segmentBegins = false
    syncsSent += 1
    owed.append(.sync)
    actions.append(.sync)
  }

  // MARK: Answers

  mutating func receive(_ result: PipelineResult, at now: Moment, _ actions: inout [PipelineAction]) {
    switch result {
    case .rows(let rows): outcome = .rows(rows)
    case .aborted: outcome = .aborted
    case .failed(let error) where error.endsConnection: lose(error.description, &actions)
    case .failed(let error): fail(error, at: now, &actions)
    case .end: settleHead(at: now, &actions)
    case .sync: answerSync(at: now, &actions)
    case .unexpected(let what):
      if let call = headCall { actions.append(.fail(call, PostgresError.misuse("\(call.statement.name): \(what)"))) }
      lose(what, &actions)
    }
  }

  private mutating func fail(_ error: ServerError, at now: Moment, _ actions: inout [PipelineAction]) {
    segmentError = error
    if headIsSync, let (call, _) = unsettled {
      // The commit itself failed, as a deferred constraint does.
      unsettled = nil
      conclude(call, error, plan: nil, at: now, &actions)
    } else {
      outcome = .failed(error)
    }
  }

  private mutating func settleHead(at now: Moment, _ actions: inout [PipelineAction]) {
    guard let outcome = outcome.take(), let head = owed.first else { return }
    switch head {
    case .sync: return
    case .prepare(let call, let plan):
      owed.removeFirst()
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
      owed.removeFirst()
      switch outcome {
      case .rows(let rows) where call.role == .read || call.role == .begin: finish(.succeed(call, rows), &actions)
      case .rows(let rows): unsettled = (call, rows)
      case .failed(let error): conclude(call, refusals[plan.name] ?? error, plan: plan, at: now, &actions)
      case .aborted: skip(call, &actions)
      }
    }
    headMoved(at: now, &actions)
  }

  private mutating func answerSync(at now: Moment, _ actions: inout [PipelineAction]) {
    guard headIsSync else { return lose("a Sync was answered that was not owed", &actions) }
    owed.removeFirst()
    syncsAnswered += 1
    segmentError = nil
    if let (call, rows) = unsettled.take() { finish(.succeed(call, rows), &actions) }
    if case .landed(let mark) = cancelling, syncsAnswered > mark { cancelling = .none }
    headMoved(at: now, &actions)
  }

  /// A call whose prepare failed has its answer already; the skipped execute behind it says nothing new.
  private mutating func skip(_ call: Call, _ actions: inout [PipelineAction]) {
    guard call.isInFlight else { return }
    switch call.role {
    case .read, .write: finish(.resend(call), &actions)
    case .begin, .within, .commit:
      let error = segmentError.map { PostgresError.server($0) } ?? .connectionLost(statement: call.statement.name)
      finish(.fail(call, error), &actions)
    }
  }

  /// Decides what an error of the server means for the call that met it.
  private mutating func conclude(
    _ call: Call, _ error: ServerError, plan: Plan?, at now: Moment,
    _ actions: inout [PipelineAction]
  ) {
    let standsAlone = call.role == .read || call.role == .write
    if error.sqlState == ServerError.queryCanceled {
      switch call.cancelling {
      case .task: finish(.fail(call, CancellationError()), &actions)
      case .deadline: finish(.fail(call, PostgresError.timedOut(statement: call.statement.name)), &actions)
      case nil where call.hasOutlivedLimit(at: now):
        finish(.fail(call, PostgresError.timedOut(statement: call.statement.name)), &actions)
      case nil where cancelIsInTheAir && standsAlone: finish(.resend(call), &actions)
      case nil: finish(.fail(call, PostgresError.server(error)), &actions)
      }
      return
    }
    if let plan, error.meansStalePlan {
      prepared.forget(plan)
      if standsAlone, !call.preparedAnew {
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
      actions.append(action)
    default: actions.append(action)
    }
  }

  // MARK: Cancelling and time limits

  /// The caller wants no answer any more. The server is asked only once the call is what it runs: a request hits whatever
  /// runs when it arrives.
  mutating func cancel(_ call: Call, because reason: Call.Cancelling, _ actions: inout [PipelineAction]) {
    guard call.isInFlight, call.cancelling == nil else { return }
    call.cancelling = reason
    cancelHeadIfAsked(&actions)
  }

  /// The connection is outside pipeline mode, and what it does there is to be cancelled.
  mutating func cancelExchange(_ actions: inout [PipelineAction]) {
    if case .requested = cancelling { return }
    cancelling = .requested
    actions.append(.requestCancel)
  }

  /// The request has been delivered, or has failed to be.
  mutating func cancelReturned(_ actions: inout [PipelineAction]) {
    guard case .requested = cancelling else { return }
    cancelling = .landed(afterSync: syncsSent)
    // The call it was meant for may be answered already, and the next one be waiting for a request of its own.
    cancelHeadIfAsked(&actions)
  }

  private mutating func headMoved(at now: Moment, _ actions: inout [PipelineAction]) {
    headSince = owed.isEmpty ? .distantFuture : now
    if owed.isEmpty, !refusals.isEmpty { refusals = [:] }
    cancelHeadIfAsked(&actions)
  }

  private mutating func cancelHeadIfAsked(_ actions: inout [PipelineAction]) {
    if case .requested = cancelling { return }
    guard let call = headCall, call.isInFlight, call.cancelling != nil else { return }
    cancelling = .requested
    actions.append(.requestCancel)
  }

  /// When `tick` has something to do next.
  var deadline: Moment {
    guard let limit = headCall?.limit else { return .distantFuture }
    let patience: Duration = headCall?.cancelling == .deadline ? .seconds(10) : .seconds(1)
    return headSince.advanced(by: limit).advanced(by: patience)
  }

  /// The server enforces `statement_timeout` by itself; this is for the server that does not answer any more. A second
  /// beyond the limit the call is cancelled, ten seconds beyond it the connection is given up.
  mutating func tick(at now: Moment, _ actions: inout [PipelineAction]) {
    guard let call = headCall, now >= deadline else { return }
    if call.cancelling == .deadline {
      lose("no answer within the time limit", &actions)
    } else {
      // A task that was cancelled, and whose request got no answer either, is past caring which of the two it was.
      call.cancelling = .deadline
      cancelHeadIfAsked(&actions)
    }
  }

  // MARK: Loss

  /// The connection is gone. What was in flight fails, each call by what it may have done.
  mutating func lose(_ why: String, _ actions: inout [PipelineAction]) {
    if let (call, _) = unsettled.take() { finish(.fail(call, call.lossError), &actions) }
    for debt in owed {
      if case .execute(let call, _) = debt { finish(.fail(call, call.lossError), &actions) }
    }
    owed.removeAll()
    segmentIsOpen = false
    actions.append(.close(why))
  }

  private var headIsSync: Bool { if case .sync = owed.first { true } else { false } }

  private var headCall: Call? {
    switch owed.first {
    case .prepare(let call, _), .execute(let call, _): call
    case .sync, nil: nil
    }
  }
}

extension ServerError {
  /// The plan no longer fits the tables (0A000 "cached plan must not change result type") or is unknown to the server
  /// (26000, after a neighbour's prepare failed or DISCARD ALL): the statement did not run and a new plan mends it.
  fileprivate var meansStalePlan: Bool { sqlState == "0A000" || sqlState == "26000" }
}

extension Call {
  fileprivate func hasOutlivedLimit(at now: Moment) -> Bool {
    limit.map { now >= sentAt.advanced(by: $0) } ?? false
  }
}
