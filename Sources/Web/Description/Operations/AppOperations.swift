import HTTPTypes
import Operations
import Registry
import Wire

/// `/api/v1/apps`.
enum AppOperations {
  static let all: [APIOperation] = [list, add, show, change, check, identity, revokePreviousIdentity]

  private static let list = APIOperation(
    method: .get, path: "/api/v1/apps", id: "listApps", tag: .apps, security: .key(.admin),
    summary: "List the apps",
    description: "Lists every app of the customer, the oldest first.",
    parameters: [.after("app"), .limit],
    responses: [.ok("A page of apps.", Page<PushAppReply, PushAppID>.example)])

  private static let add = APIOperation(
    method: .post, path: "/api/v1/apps", id: "addApp", tag: .apps, security: .key(.admin),
    summary: "Add an app",
    description: """
      The same `appId` may be added once per platform. \
      \(PushService.all.map(\.guide).filter { !$0.isEmpty }.joined(separator: " ")) All may also be added later, by PATCH.

      A key or certificate is checked and encrypted, and never shown again. A wrong file is refused with a sentence that says \
      what it is.
      """,
    parameters: [.idempotencyKey],
    requestBody: APIContent(PushAppRequest.example),
    responses: [.created("The app.", PushAppReply.newExample)],
    errors: [
      .error(
        "The customer already has this appId on this platform.",
        RegistryError.appTaken(appID: "com.acme.app", type: .ios))
    ])

  private static let show = APIOperation(
    method: .get, path: "/api/v1/apps/{id}", id: "showApp", tag: .apps, security: .key(.admin),
    summary: "Show an app", description: "Credentials are shown only by their fingerprints.",
    parameters: [id], responses: [.ok("The app.", PushAppReply.example)], errors: [unknown])

  private static let change = APIOperation(
    method: .patch, path: "/api/v1/apps/{id}", id: "changeApp", tag: .apps, security: .key(.admin),
    summary: "Change an app",
    description: """
      A field that is absent or null stays as it is. `appId` and `appType` cannot change: the tokens registered under \
      them belong to that app.
      """,
    parameters: [id],
    requestBody: APIContent(PushAppChangeRequest.example),
    responses: [.ok("The changed app.", PushAppReply.example)], errors: [unknown])

  private static let check = APIOperation(
    method: .post, path: "/api/v1/apps/{id}/check", id: "checkApp", tag: .apps, security: .key(.admin),
    summary: "Check an app's credentials",
    description: """
      Asks the push service whether it accepts the app's credentials in each environment. Nothing is sent to a phone. \
      An environment that does not answer within 15 seconds is `unreachable`. Of Windows' push service, its sign-in is asked.
      """,
    parameters: [id, .idempotencyKey],
    responses: [.ok("The push service's answers.", PushAppCheckReply.example)],
    errors: [
      unknown,
      .error(
        "The app has no credentials to check, or they cannot be decrypted.",
        HTTPErrorResponse.noCredentials(CustomerID(1), PushAppID(1), appID: "com.acme.app", .ios, field: "signingKey"),
        RegistryError.sealed(what: "push_credential/1/1/apns_signing_key")),
    ])

  private static let identity = APIOperation(
    method: .post, path: "/api/v1/apps/{id}/identity", id: "rotateAppIdentity", tag: .apps, security: .key(.admin),
    summary: "Make an app's identity secret",
    description: """
      The customer's back end computes `X-Pushcart-Identity` with it: the HMAC-SHA256 of `originalId`, in hexadecimal or \
      base64url, with the secret's text as the key. The reply shows the secret once.

      The secret before it is accepted for 30 days, or until the next one is made. As soon as one app has `identity` \
      `required`, every request with a device key to any app of the customer needs the header: all apps share the \
      customer's contacts. An identity made with the secret of any of these apps counts.
      """,
    parameters: [id, .idempotencyKey],
    responses: [.created("The secret.", AppIdentityReply.example)], errors: [unknown])

  private static let revokePreviousIdentity = APIOperation(
    method: .delete, path: "/api/v1/apps/{id}/identity/previous", id: "revokePreviousAppIdentity", tag: .apps,
    security: .key(.admin), summary: "Revoke an app's previous identity secret",
    description: """
      Identities of the secret before the current one are refused from now on. After a leak, make a new secret, then call \
      this. Without a previous secret nothing changes.
      """,
    parameters: [id], responses: [.ok("The app.", PushAppReply.example)], errors: [unknown])

  private static let id = APIParameter.path("id", .id, "The app's `pushAppId`.", example: 1)
  private static let unknown = APIResponse.error(
    "The customer has no app of this number.", RegistryError.pushAppUnknown(PushAppID(1)))
}
