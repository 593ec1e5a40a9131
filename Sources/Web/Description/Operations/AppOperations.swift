import HTTPTypes
import Registry
import Wire

/// `/api/v1/apps`.
enum AppOperations {
  static let all: [Operation] = [list, add, show, change, check]

  static let list = Operation(
    method: .get, path: "/api/v1/apps", id: "listApps", topic: .apps, door: .key(.admin),
    summary: "List the apps",
    about: "Every app of the customer, in the order they were added.",
    parameters: [.after("app"), .limit],
    replies: [.page("A page of apps.", of: "PushApp", example: app)])

  static let add = Operation(
    method: .post, path: "/api/v1/apps", id: "addApp", topic: .apps, door: .key(.admin),
    summary: "Add an app",
    about: """
      The same `appId` may be added once per platform. An iOS app takes Apple's Team Id, the Key Id and the signing key \
      (the text of `AuthKey_….p8`) together; they may also come later, by PATCH.

      The signing key is checked, sealed, and never given back. A file that is something else is refused with a sentence \
      that says what it is.
      """,
    parameters: [.idempotencyKey],
    body: Body(
      schema: .named("PushAppRequest"),
      example: """
        {
          "name": "Acme", "appId": "com.acme.app", "appType": 1
        }
        """),
    replies: [.created("The app.", .named("PushApp"), example: bareApp)],
    errors: [
      .refusal(
        "The customer has this appId on this platform already.",
        RegistryError.appTaken(appID: "com.acme.app", type: .ios))
    ])

  static let show = Operation(
    method: .get, path: "/api/v1/apps/{id}", id: "showApp", topic: .apps, door: .key(.admin),
    summary: "Show an app", about: "What is known of it; its credentials only by their fingerprints.",
    parameters: [id], replies: [.ok("The app.", .named("PushApp"), example: app)], errors: [unknown])

  static let change = Operation(
    method: .patch, path: "/api/v1/apps/{id}", id: "changeApp", topic: .apps, door: .key(.admin),
    summary: "Change an app",
    about: """
      Fields that are absent or null stay as they are. `appId` and `appType` cannot be changed, since the tokens \
      registered under them belong to that app and no other.
      """,
    parameters: [id],
    body: Body(schema: .named("PushAppChangeRequest"), example: #"{ "name": "Acme for iPhone" }"#),
    replies: [.ok("The app as it is now.", .named("PushApp"), example: app)], errors: [unknown])

  static let check = Operation(
    method: .post, path: "/api/v1/apps/{id}/check", id: "checkApp", topic: .apps, door: .key(.admin),
    summary: "Check an app's credentials",
    about: """
      Asks the push service whether it accepts the app's credentials, in each environment, without sending anything to a \
      phone. Only apps of iOS can be checked so far. An environment that does not answer within 15 seconds is `unreachable`.
      """,
    parameters: [id, .idempotencyKey],
    replies: [
      .ok(
        "What the push service said.", .named("PushAppCheck"),
        example: """
          {
            "pushAppId": 1, "appId": "com.acme.app",
            "checks": [
              { "environment": "production", "verdict": "accepted" },
              { "environment": "sandbox", "verdict": "refused", "reason": "BadEnvironmentKeyInToken" }
            ]
          }
          """)
    ],
    errors: [
      unknown,
      .refusal(
        "There are no credentials that could be asked about, or they do not open.", HTTPErrorResponse.noSigningKey,
        HTTPErrorResponse.uncheckable, RegistryError.sealed(what: "push_credential/1/1/apns_signing_key")),
    ])

  static let id = Parameter.path("id", .id("The app's `pushAppId`."), example: "1")
  static let unknown = Reply.refusal(
    "The customer has no app of that number.", RegistryError.pushAppUnknown(PushAppID(1)))

  private static let app = """
    {
      "pushAppId": 1, "appId": "com.acme.app", "appType": 1, "name": "Acme", "teamId": "A1B2C3D4E5",
      "keyId": "F6G7H8J9K0", "warnings": [],
      "credentials": [
        {
          "kind": "apns_signing_key", "fingerprint": "3f0b9c1d2e4a5867", "updatedAt": "2026-11-20T09:00:00.000Z"
        }
      ],
      "createdAt": "2026-11-20T09:00:00.000Z", "updatedAt": "2026-11-20T09:00:00.000Z"
    }
    """

  private static let bareApp = """
    {
      "pushAppId": 1, "appId": "com.acme.app", "appType": 1, "name": "Acme", "credentials": [],
      "warnings": ["There is no signingKey, so nothing can be sent to this app yet."],
      "createdAt": "2026-11-20T09:00:00.000Z", "updatedAt": "2026-11-20T09:00:00.000Z"
    }
    """
}
