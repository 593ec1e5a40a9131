import HTTPTypes
import Registry
import Wire

/// `/api/v1/keys`.
enum KeyOperations {
  static let all: [Operation] = [list, add, revoke]

  static let list = Operation(
    method: .get, path: "/api/v1/keys", id: "listKeys", topic: .keys, door: .key(.admin),
    summary: "List the access keys",
    about: "Every key of the customer, revoked ones too, in the order they were made. Their tokens are stored nowhere.",
    parameters: [.after("key"), .limit],
    replies: [.page("A page of keys.", of: "AccessKey", example: key)])

  static let add = Operation(
    method: .post, path: "/api/v1/keys", id: "addKey", topic: .keys, door: .key(.admin),
    summary: "Make an access key",
    about: "The reply shows the token this once: keep it where it is needed.",
    parameters: [.idempotencyKey],
    body: Body(schema: .named("AccessKeyRequest"), example: #"{ "name": "app push user", "scope": "backend" }"#),
    replies: [.created("The key and its token.", .named("IssuedAccessKey"), example: issued)])

  static let revoke = Operation(
    method: .delete, path: "/api/v1/keys/{id}", id: "revokeKey", topic: .keys, door: .key(.admin),
    summary: "Revoke an access key",
    about: "From now on the key opens nothing. Revoking it again changes nothing.",
    parameters: [.path("id", .id("The key's number."), example: "2")],
    replies: [
      .ok(
        "The key, revoked.", .named("AccessKey"),
        example: """
          {
            "keyId": 2, "name": "app push user", "scope": "backend",
            "createdAt": "2026-11-20T09:00:00.000Z", "revokedAt": "2026-11-20T10:00:00.000Z"
          }
          """)
    ],
    errors: [
      .refusal("The customer has no key of that number.", RegistryError.accessKeyUnknown(AccessKeyID(2)))
    ])

  private static let key = """
    {
      "keyId": 2, "name": "app push user", "scope": "backend", "createdAt": "2026-11-20T09:00:00.000Z"
    }
    """

  private static let issued = """
    {
      "keyId": 2, "name": "app push user", "scope": "backend", "createdAt": "2026-11-20T09:00:00.000Z",
      "token": "pck_1_Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oTiU"
    }
    """
}
