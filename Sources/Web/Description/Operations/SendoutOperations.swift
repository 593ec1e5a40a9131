import HTTPTypes
import Registry
import Sendouts
import Wire

/// `/api/v1/sendouts`.
enum SendoutOperations {
  static let all: [Operation] = [
    list, add, show, pushes,
    move(.start, "Start a sendout", "A draft's audience is frozen into the ledger and its pushes leave."),
    move(
      .pause, "Pause a sendout",
      "Once this is answered no further push leaves, but for those a hub is sending at this moment."),
    move(.resume, "Resume a sendout", "What was left when it was paused leaves now."),
    move(
      .cancel, "Cancel a sendout",
      "Pushes that have not left never will. It cannot be undone; what left already counts on."),
  ]

  static let list = Operation(
    method: .get, path: "/api/v1/sendouts", id: "listSendouts", topic: .sendouts, door: .key(.admin),
    summary: "List the sendouts",
    about: "The newest first, without audience, message and counts.",
    parameters: [.after("sendout"), .limit],
    replies: [
      .ok(
        "A page of sendouts.", .page(of: "Sendout"),
        example: """
          {
            "items": [
              {
                "sendoutId": 7, "name": "Friday offer", "pushAppId": 1, "appId": "com.acme.app", "appType": 1,
                "state": "finished", "template": "offer", "templateVersion": 3, "onUncertain": "resend",
                "createdAt": "2026-11-20T09:00:00.000Z", "startedAt": "2026-11-20T09:00:00.000Z",
                "frozenAt": "2026-11-20T09:00:00.120Z", "finishedAt": "2026-11-20T09:00:01.310Z"
              }
            ]
          }
          """)
    ])

  static let add = Operation(
    method: .post, path: "/api/v1/sendouts", id: "addSendout", topic: .sendouts, door: .key(.admin),
    summary: "Make a sendout",
    about: """
      A message to everybody, to a list, or to some original ids, of one app. With `start` it leaves at once; without it \
      stays a draft.

      Every text of the message is a Mustache template. The template's current version is kept for this sendout, whatever \
      is saved later. Repeat a request whose answer was lost under the same `Idempotency-Key`: it is sent once.
      """,
    parameters: [.idempotencyKey],
    body: Body(
      schema: .named("SendoutRequest"),
      example: """
        {
          "name": "Friday offer", "appId": "com.acme.app",
          "audience": { "originalIds": ["lars@example.com"] },
          "message": {
            "alert": "Hi {{firstName}}", "info": "20 % off today", "badge": 1, "fields": { "campaign": "friday" }
          },
          "start": true
        }
        """),
    bodyLimit: SendoutRoutes.limit,
    replies: [.created("The sendout.", .named("Sendout"), example: one)],
    errors: [.refusal("The app is unknown.", RegistryError.appUnknown(appID: "com.acme.app"))])

  static let show = Operation(
    method: .get, path: "/api/v1/sendouts/{id}", id: "showSendout", topic: .sendouts, door: .key(.admin),
    summary: "Show a sendout", about: "With its counts by state, as they are now.",
    parameters: [id], replies: [.ok("The sendout.", .named("Sendout"), example: one)], errors: [unknown])

  static let pushes = Operation(
    method: .get, path: "/api/v1/sendouts/{id}/pushes", id: "listPushes", topic: .sendouts, door: .key(.admin),
    summary: "List a sendout's pushes",
    about: "The ledger: one row for each device of the audience, by the device's number.",
    parameters: [
      id,
      .query("state", .word(of: PushState.allCases.map(\.rawValue), "Only those in this state."), example: "failed"),
      .after("device"), .limit,
    ],
    replies: [
      .ok(
        "A page of pushes.", .page(of: "Push"),
        example: """
          {
            "items": [
              {
                "deviceId": 12, "contactId": 5, "state": "failed", "attempts": 1, "reason": "Unregistered",
                "sentAt": "2026-11-20T09:00:00.500Z", "settledAt": "2026-11-20T09:00:00.610Z"
              }
            ],
            "next": 12
          }
          """)
    ], errors: [unknown])

  private static func move(_ verb: SendoutVerb, _ summary: String, _ about: String) -> Operation {
    Operation(
      method: .post, path: "/api/v1/sendouts/{id}/\(verb.rawValue)", id: "\(verb.rawValue)Sendout", topic: .sendouts,
      door: .key(.admin), summary: summary,
      about: about + " Asking for it again when it is so already changes nothing.",
      parameters: [id, .idempotencyKey],
      replies: [.ok("The sendout as it is now.", .named("Sendout"), example: one)],
      errors: [
        unknown,
        .refusal(
          "The sendout is in a state that this cannot follow.",
          SendoutError.wrongState(SendoutID(7), verb == .start ? .running : .finished, verb)),
      ])
  }

  static let id = Parameter.path("id", .id("The sendout's number."), example: "7")
  static let unknown = Reply.refusal(
    "The customer has no sendout of that number.", SendoutError.sendoutUnknown(SendoutID(7)))

  private static let one = """
    {
      "sendoutId": 7, "name": "Friday offer", "pushAppId": 1, "appId": "com.acme.app", "appType": 1,
      "state": "running", "audience": { "originalIds": ["lars@example.com"] }, "unknownOriginalIds": 0,
      "message": {
        "alert": "Hi {{firstName}}", "info": "20 % off today", "badge": 1, "fields": { "campaign": "friday" }
      },
      "onUncertain": "resend", "createdAt": "2026-11-20T09:00:00.000Z", "startedAt": "2026-11-20T09:00:00.000Z",
      "frozenAt": "2026-11-20T09:00:00.120Z",
      "counts": {
        "audience": 2, "queued": 0, "sending": 1, "waiting": 0, "sent": 1, "accepted": 1, "failed": 0,
        "uncertain": 0, "skipped": 0, "cancelled": 0, "opened": 0
      }
    }
    """
}
