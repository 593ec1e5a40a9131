import Retrying
public import FoundationEssentials
import Logging
import Providers
public import Registry
public import Wire

/// Sends pushes of a room above, which keeps their state itself: through the lanes, the window, the alarms and the back-off that
/// sendouts and messages have.
public struct DirectSender: Sendable {
  private let dispatcher: Dispatcher

  public init(_ dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
  }

  /// How many pushes may be sent to a target now: none while its lane is closed, and one that tries whether it can be opened.
  public func capacity(for target: DirectTarget, upTo limit: Int) -> Int {
    if dispatcher.window.isSilent(target.key) { return 0 }
    return target.isOfService ? dispatcher.laneStatus.capacity(target.key, upTo: limit) : limit
  }

  /// Opens a customer's lanes that are closed, as after an app got other credentials.
  public func reopen(_ customer: CustomerID) {
    dispatcher.services.credentialsChanged(of: customer)
    dispatcher.laneStatus.reopen(customer)
  }

  /// A lane's pushes for as long as there are some: whatever number of calls sends them, they share one part of the hub's window. So a
  /// push service that is slow leaves capacity to others.
  public struct Run: Sendable {
    let window: SendWindow
  }

  public func withRun<Answer>(
    to target: DirectTarget, _ body: (Run) async throws -> Answer
  ) async rethrows -> Answer {
    let run = Run(
      window: SendWindow(
        dispatcher.window, target.key, isBulk: true, isOfOneService: target.account.outageEvidence == .anyFailure))
    defer { run.window.leave() }
    return try await body(run)
  }

  /// Sends pushes, and hands over what came of them in groups. Their capacity in the hub's window is free once `settle` returns.
  ///
  /// Invalid tokens are reported at the end. If there are too many, the app gets an alarm, and none is reported as dead. A token counts once,
  /// however many pushes go to it, and not at all if it is known to be dead. The lane stays open: only refused credentials and a service that
  /// cannot be reached close it.
  /// - Parameters:
  ///   - run: waits for capacity on behalf of one call at a time.
  ///   - isWanted: called just before each push leaves; once it returns false, the rest do not leave.
  ///   - hasCapacity: called once all pushes have their capacity, so that another call may wait for some.
  ///   - settle: called with each push's outcome exactly once, from several tasks.
  public func send(
    _ pushes: [DirectPush], to target: DirectTarget, in run: Run,
    while isWanted: @escaping @Sendable () -> Bool = { true }, hasCapacity: () -> Void = {},
    settle: @escaping @Sendable ([DirectOutcome]) async -> Void
  ) async {
    var admitted = pushes.indices
    let admission = target.isOfService ? dispatcher.laneStatus.admit(target.key) : .open
    switch admission {
    case .open: break
    case .probe: admitted = pushes.indices.prefix(1)
    case .closed: admitted = pushes.indices.prefix(0)
    }
    let held = pushes.indices.dropFirst(admitted.count)
    if !held.isEmpty {
      await settle(
        held.map { DirectOutcome(index: $0, form: 0, result: .blocked(after: .zero, reason: .hub(.laneClosed))) })
    }
    let window = run.window
    let size = max(1, min(dispatcher.settings.slice, dispatcher.window.share))
    let reports = await withTaskGroup(of: SliceReport.self) { group in
      for start in stride(from: 0, to: admitted.count, by: size) {
        guard let capacity = await window.acquire(min(size, admitted.count - start)) else {
          // Its push service does not answer, or the hub stops.
          await settle(
            (start..<admitted.count).map {
              DirectOutcome(
                index: $0, form: 0, result: .blocked(after: RetryPolicy.silentLane, reason: .hub(.noAnswer)))
            })
          break
        }
        let slice = start..<min(start + size, admitted.count)
        group.addTask {
          let report = await send(pushes, slice, to: target, while: isWanted, settle)
          window.release([capacity])
          return report
        }
      }
      hasCapacity()
      return await group.reduce(into: []) { $0.append($1) }
    }
    await settleInvalidTokens(reports, of: target, settle)
    if target.isOfService { await updateLane(reports, of: target, wasProbe: admission == .probe) }
  }

  /// What a slice says of the lane.
  private struct SliceReport: Sendable {
    var service = ServiceAvailability()
    /// Pushes that the service looked at.
    var answered = 0
    var hasAccepted = false
    var refusal: String?
    /// What is wrong with the app, though its lane stays open.
    var warning: String?
    /// Pushes to tokens that it reported as invalid without a date, and what becomes of each if the app is at fault.
    var invalid: [(outcome: DirectOutcome, otherwise: DirectOutcome.Result)] = []
    /// Tokens of which it said something. Of these, those that it reported as invalid without a date.
    var tokens: Set<String> = []
    var suspects: Set<String> = []

    mutating func count(_ push: DirectPush, isSuspect: Bool) {
      answered += 1
      guard !push.isToDeadToken else { return }
      tokens.insert(push.token)
      if isSuspect { suspects.insert(push.token) }
    }
  }

  private func send(
    _ pushes: [DirectPush], _ slice: Range<Int>, to target: DirectTarget,
    while isWanted: @escaping @Sendable () -> Bool,
    _ settle: @Sendable ([DirectOutcome]) async -> Void
  ) async -> SliceReport {
    var report = SliceReport()
    var requests: [PushRequest] = []
    var sent: [(index: Int, form: Int)] = []
    var settled: [DirectOutcome] = []
    for index in slice {
      switch Self.prepare(pushes[index], target.account) {
      case (let form, .request(let request)):
        requests.append(request)
        sent.append((index, form))
      case (let form, .refused(let verdict)):
        // The service was not asked: that says nothing of it, nor of its tokens.
        var own = SliceReport()
        let outcome = PushOutcome(index: index, verdict: verdict, sentAt: nil)
        if let outcome = result(of: outcome, pushes[index], index, form, &own) { settled.append(outcome) }
        report.refusal = report.refusal ?? own.refusal
        report.invalid += own.invalid
      }
    }
    if !settled.isEmpty { await settle(settled) }
    var unanswered = Set(sent.indices)
    for await outcomes in target.account.send(requests, to: .production, while: isWanted) {
      DeliveryMetrics.count(outcomes)
      report.warning = report.warning ?? target.account.warning(on: outcomes)
      let group = outcomes.compactMap { outcome in
        unanswered.remove(outcome.index)
        let push = sent[outcome.index]
        return result(of: outcome, pushes[push.index], push.index, push.form, &report)
      }
      if !group.isEmpty { await settle(group) }
    }
    if !unanswered.isEmpty {
      await settle(
        unanswered.map {
          let push = pushes[sent[$0].index]
          return DirectOutcome(
            index: sent[$0].index, form: sent[$0].form,
            result: .uncertain(after: delay(push, nil), reason: .hub(.noOutcome)))
        })
    }
    return report
  }

  /// The first form that the service does not find too large.
  private static func prepare(_ push: DirectPush, _ account: any PushAccount) -> (form: Int, PreparedPush) {
    var last = PreparedPush.refused(.payloadRefused(reason: .hub(.messageTooBig)))
    for (form, message) in push.forms.enumerated() {
      last = account.prepare(OutgoingPush(token: push.token, id: push.id, message: message))
      guard case .refused(let verdict) = last, verdict == .payloadRefused(reason: .hub(.messageTooBig)) else {
        return (form, last)
      }
    }
    return (max(0, push.forms.count - 1), last)
  }

  /// - Returns: nil for an invalid token, which is reported at the end.
  private func result(
    of outcome: PushOutcome, _ push: DirectPush, _ index: Int, _ form: Int, _ report: inout SliceReport
  ) -> DirectOutcome? {
    report.service.record(outcome.verdict)
    var reported = DirectOutcome(index: index, form: form, result: .accepted)
    switch outcome.verdict {
    case .accepted: report.hasAccepted = true
    case .retry(let after, let reason, _):
      reported.result = .retry(after: delay(push, after), reason: reason.forLedger)
    case .unsent(let reason):
      reported.result =
        outcome.verdict.lacksCapacity
        ? .blocked(
          after: RetryPolicy.withoutPlace.delay(after: 1, random: dispatcher.random()), reason: reason.forLedger)
        : .retry(after: delay(push, nil), reason: reason.forLedger)
      return reported
    case .uncertain(let reason, let isAnswered):
      // What was answered is not sent again.
      reported.result =
        isAnswered
        ? .refused(reason: reason.forLedger) : .uncertain(after: delay(push, nil), reason: reason.forLedger)
    case .payloadRefused(let reason): reported.result = .refused(reason: reason.forLedger)
    case .waitsForCorrection(let reason):
      reported.result = .retry(after: max(delay(push, nil), RetryPolicy.refusedCredentials), reason: reason.forLedger)
    case .credentialsRefused(let reason):
      report.refusal = reason.forLedger
      reported.result = .blocked(after: .zero, reason: reason.forLedger)
      return reported
    case .tokenInvalid(let cause, let since, let reason):
      reported.result = .tokenDead(
        reason: reason.forLedger, after: delay(push, nil),
        since: since ?? outcome.sentAt ?? dispatcher.now())
      if since == nil, !push.isToDeadToken {
        report.count(push, isSuspect: true)
        // Where the credentials are those of another app, its tokens are taken once these are corrected.
        report.invalid.append(
          (
            reported,
            cause == .wrongApp
              ? .retry(after: max(delay(push, nil), RetryPolicy.refusedCredentials), reason: reason.forLedger)
              : .refused(reason: reason.forLedger)
          ))
        return nil
      }
    }
    report.count(push, isSuspect: false)
    return reported
  }

  private func delay(_ push: DirectPush, _ retryAfter: Duration?) -> Duration {
    RetryPolicy.notifications.delay(after: push.attempts + 1, atLeast: retryAfter ?? .zero, random: dispatcher.random())
  }

  /// Reports invalid tokens. If there are too many, the app may be at fault: none is reported as dead, and the app's alarm says why. The
  /// alarm also says what else is wrong with the app.
  private func settleInvalidTokens(
    _ reports: [SliceReport], of target: DirectTarget, _ settle: @Sendable ([DirectOutcome]) async -> Void
  ) async {
    let found = reports.flatMap(\.invalid)
    var invalid = found.map(\.outcome)
    let suspect = reports.reduce(into: Set()) { $0.formUnion($1.suspects) }.count
    let answered = reports.reduce(into: Set()) { $0.formUnion($1.tokens) }.count
    let breaker = CircuitBreaker(
      share: dispatcher.settings.circuitBreakerShare, evidence: dispatcher.settings.circuitBreakerEvidence)
    if breaker.opens(at: suspect, of: answered) {
      for index in invalid.indices { invalid[index].result = found[index].otherwise }
      let reason =
        "\(suspect) of \(answered) tokens came back from \(target.account.service) as invalid at once; none of these is "
        + "taken for dead. Are the app's id and credentials right?"
      dispatcher.logger.warning(
        "too many invalid tokens: none of these is taken for dead",
        metadata: ["app": "\(target.key.lane.map { "\($0.app)" } ?? "-")", "reason": "\(reason)"])
      await raiseAlarm(of: target, reason)
    } else if let lane = target.key.lane, let warning = reports.compactMap(\.warning).first {
      dispatcher.logger.warning(
        "some pushes are not taken until the app is corrected",
        metadata: ["app": "\(lane.app)", "reason": "\(warning)"])
      await raiseAlarm(of: target, warning)
    } else if let lane = target.key.lane, reports.contains(where: \.hasAccepted),
      reports.allSatisfy({ $0.refusal == nil })
    {
      _ = try? await PushAppAlarms(dispatcher.database).clear(
        target.key.customer, lane.app, isSandbox: lane.isSandbox)
    }
    if !invalid.isEmpty { await settle(invalid) }
  }

  private func raiseAlarm(of target: DirectTarget, _ reason: String) async {
    guard let lane = target.key.lane else { return }
    _ = try? await PushAppAlarms(dispatcher.database).raise(
      target.key.customer, lane.app, isSandbox: lane.isSandbox, reason: reason)
  }

  /// Opens or closes the lane by what came of all pushes. A service that puts pushes off does not close it, since each push has a
  /// back-off of its own.
  private func updateLane(_ reports: [SliceReport], of target: DirectTarget, wasProbe: Bool) async {
    let key = target.key
    if let refusal = reports.compactMap(\.refusal).first {
      dispatcher.laneStatus.close(key, .refused(reason: refusal), retryAfter: RetryPolicy.refusedCredentials)
      return await raiseAlarm(of: target, refusal)
    }
    for report in reports {
      dispatcher.laneStatus.record(
        report.service, key, by: target.account.outageEvidence, isEnough: wasProbe || report.answered == 0)
    }
    // A probe that neither opened nor closed the lane.
    guard wasProbe, dispatcher.laneStatus.isProbing(key) else { return }
    if reports.contains(where: { $0.answered > 0 }) {
      dispatcher.laneStatus.close(key, .unavailable(reason: .hub(.notAccepted)))
    } else {
      dispatcher.laneStatus.endProbe(key)
    }
  }
}

/// Where pushes of a room above go: an app's account at its push service, or the addresses of webhooks.
public struct DirectTarget: Sendable {
  let account: any PushAccount
  let key: LaneKey

  /// The app; nil for webhooks.
  package var app: PushAppID? { key.lane?.app }

  /// Whether a push service is in between, which can be away as a whole.
  var isOfService: Bool { key.lane != nil }
}

extension Dispatcher {
  /// An app at its push service.
  public func target(_ app: PushApp, _ credentials: PushServiceCredentials) -> DirectTarget {
    DirectTarget(
      account: target(for: app, credentials).account,
      key: LaneKey(customer: app.customer, lane: Lane(app: app.id, isSandbox: false)))
  }

  /// A customer's webhooks.
  /// - Parameter token: the value of their header.
  public func webhooks(of customer: CustomerID, token: String?) -> DirectTarget {
    DirectTarget(
      account: services.webhooks(of: customer, token: token), key: LaneKey(customer: customer, lane: nil))
  }
}

/// A push of a room above.
public struct DirectPush: Sendable {
  /// The device's at its push service, or the address of a webhook.
  public var token: String
  /// Names the push in the service's logs.
  public var id: UUID
  /// What it says, and smaller forms for a service that finds that too large. The first that fits is sent.
  public var forms: [RenderedMessage]
  /// How often it was sent before.
  public var attempts: Int
  /// Whether the token is known to be dead, so that another refusal says nothing of the app.
  public var isToDeadToken: Bool

  public init(token: String, id: UUID, forms: [RenderedMessage], attempts: Int, isToDeadToken: Bool = false) {
    self.token = token
    self.id = id
    self.forms = forms
    self.attempts = attempts
    self.isToDeadToken = isToDeadToken
  }
}

/// What came of a push.
public struct DirectOutcome: Sendable, Equatable {
  public enum Result: Sendable, Equatable {
    case accepted
    /// It may be tried again after that time.
    case retry(after: Duration, reason: String)
    /// It left and was not answered. It may be tried again after that time.
    case uncertain(after: Duration, reason: String)
    /// Its token reaches no device. If it was registered again after `since`, the push may be tried again after that time.
    case tokenDead(reason: String, after: Duration, since: Date)
    /// It will never be accepted.
    case refused(reason: String)
    /// Nothing was tried. It can be sent after that time, when its lane is open again.
    case blocked(after: Duration, reason: String)
  }

  /// The push's index in what was sent.
  public var index: Int
  /// The index of the form that was sent.
  public var form: Int
  public var result: Result

  /// Whether nothing was tried.
  public var isBlocked: Bool { if case .blocked = result { true } else { false } }
}
