import HTTPTypes
import Registry
import Wire

/// `/api/v1/keys`.
enum KeyOperations {
  static let all: [APIOperation] = [list, add, revoke]

  private static let list = APIOperation(
    method: .get, path: "/api/v1/keys", id: "listKeys", tag: .keys, security: .key(.admin),
    summary: "List the access keys",
    description: "Lists every key of the customer, revoked ones too, the oldest first. Tokens are not stored.",
    parameters: [.after("key"), .limit],
    responses: [.ok("A page of keys.", Page<AccessKeyReply, AccessKeyID>.example)])

  private static let add = APIOperation(
    method: .post, path: "/api/v1/keys", id: "addKey", tag: .keys, security: .key(.admin),
    summary: "Make an access key",
    description: "The reply shows the token once. Store it where it is needed.",
    parameters: [.idempotencyKey],
    requestBody: APIContent(AccessKeyRequest.example),
    responses: [.created("The key and its token.", IssuedAccessKey.example)])

  private static let revoke = APIOperation(
    method: .delete, path: "/api/v1/keys/{id}", id: "revokeKey", tag: .keys, security: .key(.admin),
    summary: "Revoke an access key",
    description: "The key opens nothing any more. Revoking it again changes nothing.",
    parameters: [.path("id", .id, "The key's number.", example: 2)],
    responses: [.ok("The revoked key.", AccessKeyReply.revokedExample)],
    errors: [
      .error("The customer has no key of this number.", RegistryError.accessKeyUnknown(AccessKeyID(2)))
    ])
}
