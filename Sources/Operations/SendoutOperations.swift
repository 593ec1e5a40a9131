import Delivery
import HTTPTypes
import Registry
import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let sendouts = Self(
    "Sendouts",
    "Messages to an audience of one app or several: make, schedule, start, pause, resume, cancel and count them.",
    readers: [.marketer, .analyst, .operator], editors: [.marketer])
}

/// `/api/v1/sendouts`.
package enum SendoutOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(add), AnyOperation(audience), AnyOperation(show), AnyOperation(change),
    AnyOperation(changeSome), AnyOperation(schedule), AnyOperation(unschedule), AnyOperation(endSeries),
    AnyOperation(figures), AnyOperation(pushes), AnyOperation(recipients), AnyOperation(why),
    AnyOperation(start), AnyOperation(pause), AnyOperation(resume), AnyOperation(cancel),
  ]

  package static let list = Operation(
    get: "/api/v1/sendouts", id: "listSendouts", .sendouts, "List the sendouts",
    """
    The newest come first, without audience, message and counts. `figures` adds the counts of broadcasts, and when they were first \
    opened.
    """,
    at: Parameters.choice("state", "Only sendouts in this state.", example: SendoutState.running)
      .and(
        .choice(
          "kind", "`broadcast` for messages to an audience, `stream` for single messages.",
          example: SendoutKind.broadcast)
      )
      .and(.text("name", "Only sendouts whose name begins so, in upper or lower case.", example: "Friday"))
      .and(.flag("figures", "Whether broadcasts come with their counts and first opens."))
      .and(.page(of: "sendout", by: SendoutID.self)),
    replies: .ok("A page of sendouts.", Page<SendoutReply, SendoutID>(items: [.listedExample]))
  ) { call, target, _ in
    let ((((state, kind), name), figures), page) = target
    let filter = SendoutFilter(states: state.map { [$0] }, kind: kind, name: name)
    var found = try await call.sendouts.list(call.customer, page, matching: filter)
    if figures { try await call.sendouts.addFigures(call.customer, to: &found.items) }
    return found
  }

  package static let add = Operation(
    .post, "/api/v1/sendouts", id: "addSendout", .sendouts, "Make a sendout",
    """
    A message to every contact, to a list, or to some original ids, in one app or several. With `start` it is sent at once. \
    With `startAt` or `localTime` it is scheduled, unless `draft` is true. Else it stays a draft.

    Every text of the message is a Mustache template. The sendout keeps the current version of its template. If a reply \
    was lost, repeat the request with the same `Idempotency-Key`: the message is sent once.
    """,
    at: .none, body: .json(SendoutRequest.form, upTo: longestRequest),
    replies: .created("The sendout.", SendoutReply.form), errors: [appUnknown, noCredentials], audit: "sendout.add"
  ) { call, _, request in
    let sendout = try await call.sendouts.create(call.customer, request)
    let target = "sendout \(sendout.sendoutId)"
    var lines = [Changed<SendoutReply>.Line(target, after: sendout.forAudit)]
    if request.start == true {
      lines.append(
        .init(
          target, before: ["state": SendoutState.draft.rawValue], after: ["state": sendout.state.rawValue],
          as: "sendout.start"))
    }
    if request.isScheduled {
      lines.append(
        .init(
          target, before: ["state": SendoutState.draft.rawValue], after: ["state": sendout.state.rawValue],
          as: "sendout.schedule"))
    }
    return Changed(sendout, lines)
  }

  package static let audience = Operation(
    showing: "/api/v1/sendouts/audience", id: "countAudience", .sendouts, "Count an audience",
    """
    How many valid devices a sendout would go to, by app. Nothing is stored or sent. It counts up to `limit` devices of an app, and then \
    says that there are more.
    """,
    body: .json(AudienceRequest.form, upTo: longestRequest), replies: .ok("The devices.", AudienceReply.form),
    errors: [appUnknown]
  ) { call, request in
    try await call.sendouts.count(call.customer, request)
  }

  package static let change = Operation(
    .put, "/api/v1/sendouts/{id}", id: "changeSendout", .sendouts, "Change a sendout that has not started",
    """
    Replaces all that it says: apps, audience, message, times and the rest. What has been started cannot be changed. The current version \
    of its template is taken again. One that is scheduled stays so, and needs a time.
    """,
    at: id, body: .json(SendoutRequest.draft, upTo: longestRequest),
    replies: .ok("The sendout as it is now, without counts.", uncounted), errors: changeErrors, audit: "sendout.change"
  ) { call, id, request in
    let (before, after) = try await call.sendouts.change(call.customer, id, request)
    return changed(before, after)
  }

  package static let changeSome = Operation(
    .patch, "/api/v1/sendouts/{id}", id: "changeSendoutFields", .sendouts, "Change some of a sendout's fields",
    """
    Fields that are present replace those that a draft or a scheduled sendout has; the others stay. `startAt` takes the place of \
    `localTime`, and the other way round. Null removes a field; of `quietHours` it means none at all.
    """,
    at: id, body: .json(SendoutChange.form, upTo: longestRequest),
    replies: .ok("The sendout as it is now, without counts.", uncounted), errors: changeErrors, audit: "sendout.change"
  ) { call, id, change in
    let (before, after) = try await call.sendouts.change(call.customer, id, change)
    return changed(before, after)
  }

  private static let changeErrors = [
    unknown, appUnknown, noCredentials,
    .error("The sendout was started.", SendoutError.notDraft(SendoutID(7), .running)),
    .error("It is scheduled, and the customer wants approval.", SendoutError.changeNeedsApproval(SendoutID(7))),
  ]

  private static func changed(_ before: SendoutReply, _ after: SendoutReply) -> Changed<SendoutReply> {
    Changed(
      after,
      .init(
        "sendout \(after.sendoutId)", before: DraftChange(before, changed: []),
        after: DraftChange(after, changed: after.fieldsChanged(since: before))))
  }

  package static let show = Operation(
    get: "/api/v1/sendouts/{id}", id: "showSendout", .sendouts, "Show a sendout",
    "The counts by state are those of this moment.", at: id, replies: .ok("The sendout.", SendoutReply.form),
    errors: [unknown]
  ) { call, id, _ in try await call.sendouts.find(call.customer, id) }

  package static let figures = Operation(
    get: "/api/v1/sendouts/{id}/figures", id: "showSendoutFigures", .sendouts, "Show a sendout's figures",
    """
    From audience to open, with the pace of the last minute, the reasons of failures and what helps, and opens by hour. Of a sendout of \
    more than 20,000 devices the reasons are estimated; the report `failures` counts all.
    """,
    at: id, replies: .ok("The figures.", SendoutFigures.form), errors: [unknown]
  ) { call, id, _ in try await call.sendouts.figures(call.customer, id) }

  package static let pushes = Operation(
    get: "/api/v1/sendouts/{id}/pushes", id: "listPushes", .sendouts, "List a sendout's pushes",
    "Lists the ledger: one row for each device of the audience, by the push's number.",
    at: id.and(.choice("state", "Only pushes in this state.", example: PushState.failed)).and(
      .page(of: "push", by: PushNumber.self)),
    replies: .ok("A page of pushes.", Page(items: [PushReply.example], next: PushReply.example.pushNo)),
    errors: [unknown]
  ) { call, target, _ in
    let ((id, state), page) = target
    return try await call.sendouts.pushes(call.customer, id, state: state, page)
  }

  package static let recipients = Operation(
    get: "/api/v1/sendouts/{id}/recipients", id: "listRecipients", .sendouts, "List a sendout's recipients",
    """
    One row for each push, with the contact's original id, by the push's number. With `query` there is one page: pushes to the first \
    100 contacts whose original id begins so, and to the contact of this number.
    """, showsPersonal: true,
    at: id.and(.text("query", "How original ids begin, or a contact's number.", example: "lars@"))
      .and(.choice("state", "Only pushes in this state.", example: PushState.failed))
      .and(.flag("opened", "Whether only pushes are listed that a person opened."))
      .and(.page(of: "push", by: PushNumber.self)),
    replies: .ok("A page of recipients.", Page(items: [RecipientReply.example], next: RecipientReply.example.pushNo)),
    errors: [unknown]
  ) { call, target, _ in
    let ((((id, query), state), opened), page) = target
    return try await call.sendouts.recipients(
      call.customer, id, query: query, state: state, isOpened: opened, page)
  }

  package static let why = Operation(
    get: "/api/v1/sendouts/{id}/why", id: "whySendout", .sendouts, "Tell what became of a sendout for one recipient",
    """
    Line by line, from the ledger and the register. Of somebody outside the audience it says why: not on the list, no \
    device, or a device that was invalidated before.
    """, showsPersonal: true,
    at: id.and(
      .required(
        "originalId", "The contact's id in your own system. It is compared exactly.", example: "lars@example.com")),
    replies: .ok("The lines, in the order of what happened.", WhyReply.form), errors: [unknown]
  ) { call, target, _ in
    let (id, originalID) = target
    return try await call.sendouts.why(call.customer, id, originalID: originalID)
  }

  package static let start = control(
    .start, "Start a sendout",
    """
    The audience of a draft is frozen into the ledger, and its pushes are sent. With `digest` it is started only if it still says \
    what somebody looked at. One that is scheduled starts now; with a local time its contacts keep their moments.
    """,
    body: .optional(SendoutStart.now, absent: SendoutStart()), errors: [hasChanged], audit: "sendout.start"
  ) { $0 }
  package static let schedule = control(
    .schedule, "Schedule a sendout",
    """
    The draft starts by itself at its `startAt` or `localTime`, or `inSeconds`. With `digest` it is scheduled only if it still says what \
    somebody looked at. One that is scheduled already is held to these conditions, too.
    """,
    body: .optional(SendoutStart.form, absent: SendoutStart()),
    errors: [
      hasChanged,
      .error("It is scheduled, and the customer wants approval.", SendoutError.changeNeedsApproval(SendoutID(7))),
    ], audit: "sendout.schedule"
  ) { $0 }
  package static let unschedule = control(
    .unschedule, "Bring a scheduled sendout back",
    "It is a draft again. Of a series it is this time alone that is brought back, unless it is the first.",
    body: .none, audit: "sendout.unschedule")
  package static let endSeries = Operation(
    .post, "/api/v1/sendouts/series/{id}/end", id: "endSeries", .sendouts, "End a series",
    """
    No further sendout of the series is made, and the one that is scheduled is cancelled. Those that have started go on. Repeating the \
    request changes nothing.
    """,
    at: Parameters.id(SeriesID.self, "The series' number.", example: 3), body: .none,
    replies: .ok("What was cancelled.", SeriesEnd.form),
    errors: [.error("The customer has no series of this number.", SendoutError.seriesUnknown)], audit: "series.end",
    statementLimit: Ledger.wholeSendoutLimit
  ) { call, id, _ in
    let cancelled = try await call.sendouts.endSeries(call.customer, id)
    let lines = cancelled.map { sendout in
      Changed<SeriesEnd>.Line(
        "sendout \(sendout.sendoutId)", before: ["state": SendoutState.scheduled.rawValue],
        after: ["state": sendout.state.rawValue], as: "sendout.cancel")
    }
    let end = SeriesEnd(seriesId: id, cancelledSendoutIds: cancelled.map(\.sendoutId))
    return Changed(end, [.init("series \(id)", after: end)] + lines)
  }
  private static let hasChanged = APIResponse.error(
    "The draft says something else than `digest` stands for.", SendoutError.changed(SendoutID(7)))
  package static let pause = control(
    .pause, "Pause a sendout",
    "After the reply no further push is sent, except those that a hub is sending at this moment.",
    body: .none, audit: "sendout.pause")
  package static let resume = control(
    .resume, "Resume a sendout", "The remaining pushes of a paused sendout are sent.", body: .none,
    audit: "sendout.resume")
  package static let cancel = control(
    .cancel, "Cancel a sendout",
    "Pushes that were not sent never will be. This cannot be undone. Opens of sent pushes still count.",
    body: .none, audit: "sendout.cancel")

  /// It waits for no freeze. The more unsent pushes there are, the longer it takes to cancel them.
  /// - Parameter conditions: what a request's body says has to hold.
  private static func control<Body>(
    _ verb: SendoutVerb, _ summary: String, _ description: String, body: RequestBody<Body>, errors: [APIResponse] = [],
    audit: AuditAction, conditions: @escaping @Sendable (Body) -> SendoutStart = { _ in SendoutStart() }
  ) -> Operation<SendoutID, Body, SendoutReply> {
    Operation(
      .post, "/api/v1/sendouts/{id}/\(verb.rawValue)", id: "\(verb.rawValue)Sendout", .sendouts, summary,
      description + " Repeating the request changes nothing.", at: id, body: body,
      replies: .ok("The sendout as it is now, without counts.", uncounted),
      errors: [
        unknown,
        .error(
          "The sendout's state does not allow this.",
          SendoutError.wrongState(SendoutID(7), verb == .start ? .cancelled : .finished, verb)),
      ] + errors, audit: audit, statementLimit: Ledger.wholeSendoutLimit
    ) { call, id, body in
      let conditions = conditions(body)
      let (before, after) = try await call.sendouts.apply(verb, to: id, of: call.customer, conditions)
      var now: [UTF8String: JSONValue] = ["state": .string(after.state.rawValue)]
      if let most = conditions.maximumContacts { now["maximumContacts"] = .integer(most) }
      return Changed(after, .init("sendout \(id)", before: ["state": before.rawValue], after: now))
    }
  }

  static let uncounted: SendoutReply = {
    var reply = SendoutReply.example
    reply.counts = nil
    return reply
  }()

  /// In bytes: room for the most original ids, long ones, and the message.
  static let longestRequest = 4 * 1024 * 1024
  static let appUnknown = APIResponse.error(
    "The app is unknown.", RegistryError.appUnknown(appID: "com.acme.app"))
  static let noCredentials = APIResponse.error(
    "Nothing can be sent to the app yet.",
    HTTPErrorResponse.noCredentials(CustomerID(1), PushAppID(1), appID: "com.acme.app", .ios, field: "signingKey"))
  static let id = Parameters.id(SendoutID.self, "The sendout's number.", example: 7)
  static let unknown = APIResponse.error(
    "The customer has no sendout of this number.", RegistryError.numberUnknown("sendout"))
}

extension APIOperation.Tag {
  package static let reports = Self(
    "Reports", "The views of schema `report`, for those without psql.", readers: [.marketer, .analyst, .operator])
}

/// `/api/v1/reports` and what a first page shows.
package enum ReportOperations: ManagedOperations {
  package static let all = [AnyOperation(show), AnyOperation(activity), AnyOperation(alarms)]

  /// How many days can be asked for.
  package static let days = 1...DayCounts.kept

  package static let activity = Operation(
    get: "/api/v1/activity", id: "showActivity", .reports, "Show what happened by day",
    "Pushes, opens and registrations of each of the last days, today included. Days are UTC.",
    at: Parameters.integer("days", in: days, "How many days. 30 if absent.", example: 30),
    replies: .ok("The days.", ActivityReply.form)
  ) { call, days, _ in
    let counts = DayCounts(call.database)
    // The batches of a day with a million messages take 20 ms, which nobody is to wait for at each look.
    try await counts.count(call.customer, olderThan: .seconds(10))
    var found = try await counts.last(Int(days ?? 30), of: call.customer)
    // Whoever waits for a first push or open is shown it at once. What there is to count is little then.
    if found.allSatisfy({ $0.sent == 0 }) || found.allSatisfy({ $0.opened == 0 }) {
      try await counts.count(call.customer, olderThan: .seconds(1))
      found = try await counts.last(Int(days ?? 30), of: call.customer)
    }
    return ActivityReply(days: found)
  }

  package static let alarms = Operation(
    get: "/api/v1/alarms", id: "listAlarms", .reports, "List what needs attention",
    """
    Apps whose credentials are refused or expire, addresses that take nothing, sendouts that the hub has paused, and apps at which somebody \
    may be guessing PINs. Each says what helps.
    """,
    at: .none, replies: .ok("The alarms, the newest first.", AlarmsReply.form)
  ) { call, _, _ in AlarmsReply(alarms: try await Alarms(call.database, of: call.customer).all()) }

  package static let show = Operation(
    get: "/api/v1/reports/{report}", id: "showReport", .reports, "Show a report",
    """
    The same numbers as in psql: `devices`, `registrations` and `invalidations` by day, `sendouts`, `funnel`, \
    `failures`, `opens` by hour, `campaigns`, `variants`, `local_times`, `left_out` and `caps` of sendouts, `subscriptions` and \
    `notifications` of data trees, `hybrid` and `suppressions`, and the `timeline` of one contact. The newest rows come first. Days and hours \
    are UTC.
    """,
    at: Parameters.path("report", Report.schema, "The report's name.", example: "sendouts")
      .and(
        .number(
          "sendout", SendoutID.self, "Only this sendout. For the reports of sendouts, but not `caps`.", example: 7)
      )
      .and(
        .text(
          "contact", "The contact's original id. Needed for `timeline`, and only there.", example: "lars@example.com")
      )
      .and(.integer("limit", in: Reports.limits, "Number of rows. 100 if absent.", example: 100)),
    replies: .ok("The report.", ReportReply.form), errors: [.error("There is no such report.", unknown)]
  ) { call, target, _ in
    let (((name, sendout), contact), limit) = target
    guard let report = Report(rawValue: name) else { throw unknown }
    guard call.seesPersonal || report != .timeline else { throw HTTPErrorResponse.personalRefused }
    return try await call.parts.reports.read(
      report, call.customer, sendout: sendout, contact: contact, limit: limit ?? Reports.usualLimit)
  }

  private static let unknown = HTTPErrorResponse.notFound(
    "There is no such report; there are \(Report.allCases.map(\.rawValue).joined(separator: ", ")).")
}

extension OperationCall {
  /// The store in the call's transaction, or for reading.
  var sendouts: SendoutStore {
    SendoutStore(database, reading: slowReads, by: user, retentionDays: parts.retentionDays)
  }
}

/// A draft in the audit log. Of audience and message it says only whether they have changed, as they may name people.
private struct DraftChange: Encodable, Sendable {
  let sendout: SendoutReply
  let changed: [String]

  init(_ sendout: SendoutReply, changed: [String]) {
    self.sendout = sendout.forAudit
    self.changed = changed
  }

  private enum CodingKeys: String, CodingKey { case changed }

  func encode(to encoder: any Encoder) throws {
    try sendout.encode(to: encoder)
    guard !changed.isEmpty else { return }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(changed, forKey: .changed)
  }
}

extension SendoutReply {
  /// Which of the two have changed that the audit log does not show.
  fileprivate func fieldsChanged(since before: SendoutReply) -> [String] {
    (audience == before.audience ? [] : ["audience"]) + (message == before.message ? [] : ["message"])
      + (campaign.variants == before.campaign.variants ? [] : ["variants"])
  }

  /// Without audience, message and variants, which may be long and name people.
  var forAudit: SendoutReply {
    var reply = self
    reply.audience = nil
    reply.message = nil
    reply.digest = nil
    reply.counts = nil
    reply.campaign.variants = nil
    return reply
  }
}
