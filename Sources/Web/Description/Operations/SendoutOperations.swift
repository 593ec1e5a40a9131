import HTTPTypes
import Operations
import Registry
import Sendouts
import Wire

/// `/api/v1/sendouts`.
enum SendoutOperations {
  static let all: [APIOperation] = [
    list, add, show, pushes, why,
    control(.start, "Start a sendout", "The audience of a draft is frozen into the ledger, and its pushes are sent."),
    control(
      .pause, "Pause a sendout",
      "After the reply no further push is sent, except those that a hub is sending at this moment."),
    control(.resume, "Resume a sendout", "The remaining pushes of a paused sendout are sent."),
    control(
      .cancel, "Cancel a sendout",
      "Pushes that were not sent never will be. This cannot be undone. Opens of sent pushes still count."),
  ]

  private static let list = APIOperation(
    method: .get, path: "/api/v1/sendouts", id: "listSendouts", tag: .sendouts, security: .key(.admin),
    summary: "List the sendouts",
    description: "The newest come first, without audience, message and counts.",
    parameters: [.after("sendout"), .limit],
    responses: [.ok("A page of sendouts.", Page<SendoutReply, SendoutID>(items: [.listedExample]))])

  private static let add = APIOperation(
    method: .post, path: "/api/v1/sendouts", id: "addSendout", tag: .sendouts, security: .key(.admin),
    summary: "Make a sendout",
    description: """
      A message to every contact, to a list, or to some original ids, in one app or several. With `start` it is sent at once. \
      Without it the sendout stays a draft.

      Every text of the message is a Mustache template. The sendout keeps the current version of its template. If a reply \
      was lost, repeat the request with the same `Idempotency-Key`: the message is sent once.
      """,
    parameters: [.idempotencyKey],
    requestBody: APIContent(SendoutRequest.example),
    bodyLimit: SendoutRoutes.bodyLimit,
    responses: [.created("The sendout.", SendoutReply.example)],
    errors: [
      .error("The app is unknown.", RegistryError.appUnknown(appID: "com.acme.app")),
      .error(
        "Nothing can be sent to the app yet.",
        HTTPErrorResponse.noCredentials(CustomerID(1), PushAppID(1), appID: "com.acme.app", .ios, field: "signingKey")),
    ])

  private static let show = APIOperation(
    method: .get, path: "/api/v1/sendouts/{id}", id: "showSendout", tag: .sendouts, security: .key(.admin),
    summary: "Show a sendout", description: "The counts by state are those of this moment.",
    parameters: [id], responses: [.ok("The sendout.", SendoutReply.example)], errors: [unknown])

  private static let pushes = APIOperation(
    method: .get, path: "/api/v1/sendouts/{id}/pushes", id: "listPushes", tag: .sendouts, security: .key(.admin),
    summary: "List a sendout's pushes",
    description: "Lists the ledger: one row for each device of the audience, by the push's number.",
    parameters: [
      id, .query("state", PushState.schema, "Only pushes in this state.", example: "failed"), .after("push"), .limit,
    ],
    responses: [.ok("A page of pushes.", Page(items: [PushReply.example], next: PushReply.example.pushNo))],
    errors: [unknown])

  private static let why = APIOperation(
    method: .get, path: "/api/v1/sendouts/{id}/why", id: "whySendout", tag: .sendouts, security: .key(.admin),
    summary: "Tell what became of a sendout for one recipient",
    description: """
      Line by line, from the ledger and the register. Of somebody outside the audience it tells why: not on the list, no \
      device, or a device that was invalidated before.
      """,
    parameters: [
      id,
      .query(
        "originalId", .string(), "The contact's id in your own system. It is compared exactly.",
        example: "lars@example.com", isRequired: true),
    ],
    responses: [.ok("The lines, in the order of what happened.", WhyReply.example)], errors: [unknown])

  private static func control(_ verb: SendoutVerb, _ summary: String, _ description: String) -> APIOperation {
    APIOperation(
      method: .post, path: "/api/v1/sendouts/{id}/\(verb.rawValue)", id: "\(verb.rawValue)Sendout", tag: .sendouts,
      security: .key(.admin), summary: summary,
      description: description + " Repeating the request changes nothing.",
      parameters: [id, .idempotencyKey],
      responses: [.ok("The sendout as it is now, without counts.", uncounted)],
      errors: [
        unknown,
        .error(
          "The sendout's state does not allow this.",
          SendoutError.wrongState(SendoutID(7), verb == .start ? .running : .finished, verb)),
      ])
  }

  private static let uncounted: SendoutReply = {
    var reply = SendoutReply.example
    reply.counts = nil
    return reply
  }()

  private static let id = APIParameter.path("id", .id, "The sendout's number.", example: 7)
  private static let unknown = APIResponse.error(
    "The customer has no sendout of this number.", SendoutError.sendoutUnknown(SendoutID(7)))
}

/// `/api/v1/reports`.
enum ReportOperations {
  static let all: [APIOperation] = [
    APIOperation(
      method: .get, path: "/api/v1/reports/{report}", id: "showReport", tag: .reports, security: .key(.admin),
      summary: "Show a report",
      description: """
        The same numbers as in psql: `devices`, `registrations` and `invalidations` by day, `sendouts`, `funnel`, \
        `failures`, `opens` by hour, `subscriptions` and `notifications` of data trees, and the `timeline` of one \
        contact. The newest rows come first. Days and hours are UTC.
        """,
      parameters: [
        .path("report", Report.schema, "The report's name.", example: "sendouts"),
        .query(
          "sendout", .id, "Only this sendout. For `sendouts`, `funnel`, `failures` and `opens`.", example: 7),
        .query(
          "contact", .string(), "The contact's original id. Needed for `timeline`, and only there.",
          example: "lars@example.com"),
        .query("limit", .integer(1...1000), "Number of rows. 100 if absent.", example: 100),
      ],
      responses: [.ok("The report.", ReportReply.example)],
      errors: [.error("There is no such report.", ReportRoutes.unknown)])
  ]
}
