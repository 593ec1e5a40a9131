public import FoundationEssentials
import Logging
import Providers
public import Registry
public import Wire

/// Sends pushes of a room above, which keeps their state itself: through the lanes, the window, the alarms and the back-off that
/// sendouts and messages have.
public struct DirectSender: Sendable {
  private let dispatcher: Dispatcher
  private let retrySchedule: RetrySchedule

  public init(_ dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
    retrySchedule = dispatcher.settings.retrySchedule
  }

  /// How many pushes may be sent to a target now: none while its lane is closed, and one that tries whether it can be opened.
  public func room(for target: DirectTarget, upTo limit: Int) -> Int {
    guard let lane = target.lane else { return limit }
    return dispatcher.laneStatus.room(lane, upTo: limit)
  }

  /// Opens a customer's lanes that are closed, as after an app got other credentials.
  public func reopen(_ customer: CustomerID) { dispatcher.laneStatus.reopen(customer) }

  /// Sends pushes, and hands over what came of them in groups. Their room in the hub's window is free once `settle` returns.
  ///
  /// Of invalid tokens more is told at the end: if too many are, nobody may take any for dead.
  /// - Parameters:
  ///   - isWanted: called just before each push leaves; once it returns false, the rest do not leave.
  ///   - settle: called with each push's outcome exactly once, from several tasks.
  public func send(
    _ pushes: [DirectPush], to target: DirectTarget, while isWanted: @escaping @Sendable () -> Bool = { true },
    settle: @escaping @Sendable ([DirectOutcome]) async -> Void
  ) async {
    var admitted = pushes.indices
    switch target.lane.map({ dispatcher.laneStatus.admit($0) }) ?? .open {
    case .open: break
    case .probe: admitted = pushes.indices.prefix(1)
    case .closed: admitted = pushes.indices.prefix(0)
    }
    let held = pushes.indices.dropFirst(admitted.count)
    if !held.isEmpty {
      await settle(held.map { DirectOutcome(index: $0, form: 0, result: .blocked(reason: "LaneClosed")) })
    }
    let window = SendWindow(dispatcher.window)
    defer { window.leave() }
    let size = max(1, min(dispatcher.settings.slice, dispatcher.window.share))
    let reports = await withTaskGroup(of: SliceReport.self) { group in
      for start in stride(from: 0, to: admitted.count, by: size) {
        guard await window.acquire(min(size, admitted.count - start)) else { break }
        let slice = start..<min(start + size, admitted.count)
        group.addTask {
          let report = await send(pushes, slice, to: target, while: isWanted, settle)
          window.release(slice.count)
          return report
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    await judge(reports, of: target, settle)
  }

  /// What a slice says of the lane.
  private struct SliceReport: Sendable {
    var service = ServiceAvailability()
    var answered = 0
    var hasAccepted = false
    var refusal: String?
    var invalid: [DirectOutcome] = []
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
        let outcome = PushOutcome(index: index, verdict: verdict, sentAt: nil)
        if let outcome = result(of: outcome, pushes[index], index, form, &report) { settled.append(outcome) }
      }
    }
    if !settled.isEmpty { await settle(settled) }
    var unanswered = Set(sent.indices)
    for await outcomes in target.account.send(requests, to: .production, while: isWanted) {
      DeliveryMetrics.count(outcomes)
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
            result: .uncertain(after: delay(push, nil), reason: "NoOutcome"))
        })
    }
    return report
  }

  /// The first form that the service does not find too large.
  private static func prepare(_ push: DirectPush, _ account: any PushAccount) -> (form: Int, PreparedPush) {
    var last = PreparedPush.refused(.payloadRefused(reason: "MessageTooBig"))
    for (form, message) in push.forms.enumerated() {
      last = account.prepare(OutgoingPush(token: push.token, id: push.id, message: message))
      guard case .refused(.payloadRefused("MessageTooBig")) = last else { return (form, last) }
    }
    return (max(0, push.forms.count - 1), last)
  }

  /// - Returns: nil for an invalid token, which is told at the end.
  private func result(
    of outcome: PushOutcome, _ push: DirectPush, _ index: Int, _ form: Int, _ report: inout SliceReport
  ) -> DirectOutcome? {
    report.service.record(outcome.verdict)
    var told = DirectOutcome(index: index, form: form, result: .accepted)
    switch outcome.verdict {
    case .accepted: report.hasAccepted = true
    case .retry(let after, let reason):
      told.result = .retry(after: delay(push, after), reason: reason.forLedger)
    case .unsent(let reason): told.result = .retry(after: delay(push, nil), reason: reason.forLedger)
    case .uncertain(let reason): told.result = .uncertain(after: delay(push, nil), reason: reason.forLedger)
    case .payloadRefused(let reason): told.result = .refused(reason: reason.forLedger)
    case .credentialsRefused(let reason):
      report.refusal = reason.forLedger
      told.result = .blocked(reason: reason.forLedger)
      return told
    case .tokenInvalid(.wrongApp, _, let reason):
      // The credentials are those of another app: no token is dead by that.
      told.result = .retry(after: max(delay(push, nil), Self.refusedDelay), reason: reason.forLedger)
    case .tokenInvalid(_, let since, let reason):
      told.result = .tokenDead(reason: reason.forLedger, since: since ?? outcome.sentAt ?? dispatcher.now())
      report.answered += 1
      report.invalid.append(told)
      return nil
    }
    report.answered += 1
    return told
  }

  private func delay(_ push: DirectPush, _ wish: Duration?) -> Duration {
    retrySchedule.lengthenedDelay(after: push.attempts + 1, jitter: dispatcher.random(), atLeast: wish ?? .zero)
  }

  /// How long a lane waits whose credentials are refused, before one push tries it again.
  private static let refusedDelay = Duration.seconds(60)

  /// Opens or closes the lane by what came of all pushes, and tells what invalid tokens mean.
  private func judge(
    _ reports: [SliceReport], of target: DirectTarget, _ settle: @Sendable ([DirectOutcome]) async -> Void
  ) async {
    var invalid = reports.flatMap(\.invalid)
    var refusal = reports.compactMap(\.refusal).first
    let breaker = CircuitBreaker(
      share: dispatcher.settings.circuitBreakerShare, evidence: dispatcher.settings.circuitBreakerEvidence)
    let answered = reports.reduce(0) { $0 + $1.answered }
    if breaker.opens(at: invalid.count, of: answered) {
      refusal =
        "\(invalid.count) of \(answered) tokens came back as invalid at once; none is taken for dead. Are the app's id and "
        + "credentials right?"
      for index in invalid.indices { invalid[index].result = .blocked(reason: "TooManyInvalid") }
    }
    if !invalid.isEmpty { await settle(invalid) }
    guard let lane = target.lane else { return }
    let alarms = PushAppAlarms(dispatcher.database)
    if let refusal {
      dispatcher.laneStatus.close(lane, refusal, wish: Self.refusedDelay)
      _ = try? await alarms.raise(lane.customer, lane.lane.app, reason: refusal)
      return
    }
    if reports.contains(where: \.hasAccepted) { _ = try? await alarms.clear(lane.customer, lane.lane.app) }
    var isProbing = true
    for report in reports {
      switch report.service.finding(by: target.account.outageEvidence) {
      case .available:
        dispatcher.laneStatus.open(lane)
        isProbing = false
      case .unavailable(let reason, let wish):
        dispatcher.laneStatus.close(lane, reason, wish: wish)
        isProbing = false
      case .unknown: break
      }
    }
    if isProbing { dispatcher.laneStatus.endProbe(lane) }
  }
}

/// Where pushes of a room above go: an app's account at its push service, or the addresses of webhooks.
public struct DirectTarget: Sendable {
  let account: any PushAccount
  /// Nil where no push service is in between.
  let lane: LaneStatus.Key?
}

extension Dispatcher {
  /// An app at its push service.
  public func target(_ app: PushApp, _ credentials: PushServiceCredentials) -> DirectTarget {
    DirectTarget(
      account: order(for: app, credentials).account,
      lane: LaneStatus.Key(customer: app.customer, lane: Lane(app: app.id, isSandbox: false)))
  }

  /// A customer's webhooks.
  /// - Parameter token: the value of their header.
  public func webhooks(of customer: CustomerID, token: String?) -> DirectTarget {
    DirectTarget(account: services.webhooks(of: customer, token: token), lane: nil)
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

  public init(token: String, id: UUID, forms: [RenderedMessage], attempts: Int) {
    self.token = token
    self.id = id
    self.forms = forms
    self.attempts = attempts
  }
}

/// What came of a push.
public struct DirectOutcome: Sendable, Equatable {
  public enum Result: Sendable, Equatable {
    case accepted
    /// It may be tried again after that time.
    case retry(after: Duration, reason: String)
    /// It left and was not answered; the same.
    case uncertain(after: Duration, reason: String)
    /// Its token reaches no device, unless it was registered again after `since`.
    case tokenDead(reason: String, since: Date)
    /// It will never be accepted.
    case refused(reason: String)
    /// It can be sent when its lane is open again.
    case blocked(reason: String)
  }

  /// The push's index in what was sent.
  public var index: Int
  /// The index of the form that was sent.
  public var form: Int
  public var result: Result
}
