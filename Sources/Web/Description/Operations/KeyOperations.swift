import HTTPTypes
import Registry
import Wire

/// `/api/v1/keys`, `/api/v1/audit` and `/api/v1/customer`.
enum KeyOperations {
  static let all: [APIOperation] = [list, add, revoke, audit, showCustomer, changeCustomer]

  private static let list = APIOperation(
    method: .get, path: "/api/v1/keys", id: "listKeys", tag: .keys, security: .key(.admin),
    summary: "List the access keys",
    description: "Lists every key of the customer, revoked ones too, the oldest first. Tokens are not stored.",
    parameters: [.after("key"), .limit],
    responses: [.ok("A page of keys.", Page<AccessKeyReply, AccessKeyID>.example)])

  private static let add = APIOperation(
    method: .post, path: "/api/v1/keys", id: "addKey", tag: .keys, security: .key(.admin),
    summary: "Make an access key",
    description: """
      The reply shows the token once. Store it where it is needed. A key with `appId` opens only the routes of that app. A \
      key with `expiresAt` opens nothing after that moment. A key expires no later than the key that makes it.
      """,
    parameters: [.idempotencyKey],
    requestBody: APIContent(AccessKeyRequest.example),
    responses: [.created("The key and its token.", IssuedAccessKey.example)],
    errors: [.error("The customer has no app of this `appId`.", RegistryError.appUnknown(appID: "com.acme.app"))])

  private static let revoke = APIOperation(
    method: .delete, path: "/api/v1/keys/{id}", id: "revokeKey", tag: .keys, security: .key(.admin),
    summary: "Revoke an access key",
    description: """
      The key opens nothing any more. Revoking it again changes nothing. `validKeysCreated` counts the keys that it had made \
      and that are still valid; `withCreated=true` revokes those too.
      """,
    parameters: [
      .path("id", .id, "The key's number.", example: 2),
      .query(
        "withCreated", Bool.schema, "Whether to revoke also the keys that it made, and those that they made.",
        example: true),
    ],
    responses: [.ok("The revoked key.", RevokedAccessKey.example)],
    errors: [
      .error("The customer has no key of this number.", RegistryError.accessKeyUnknown(AccessKeyID(2)))
    ])

  private static let audit = APIOperation(
    method: .get, path: "/api/v1/audit", id: "listAudit", tag: .keys, security: .key(.admin),
    summary: "List the management changes",
    description: """
      Lists who changed what, the newest first: keys, apps, lists, templates, sendouts and settings, by API and by command \
      line. A line is committed together with its change. `before` and `after` never hold a secret.
      """,
    parameters: [.after("line"), .limit],
    responses: [.ok("A page of changes.", Page<AuditEntryReply, AuditEntryID>.example)])

  private static let showCustomer = APIOperation(
    method: .get, path: "/api/v1/customer", id: "showCustomer", tag: .keys, security: .key(.admin),
    summary: "Show the customer", description: "Returns the customer of the access key, with the settings of all apps.",
    responses: [.ok("The customer.", CustomerReply.example)])

  private static let changeCustomer = APIOperation(
    method: .patch, path: "/api/v1/customer", id: "changeCustomer", tag: .keys, security: .key(.admin),
    summary: "Change the customer's settings", description: "A field that is absent or null stays as it is.",
    requestBody: APIContent(CustomerChangeRequest.example),
    responses: [.ok("The customer.", CustomerReply.example)])
}
