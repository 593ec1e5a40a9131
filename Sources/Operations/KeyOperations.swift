import HTTPTypes
import Registry
package import Wire

extension APIOperation.Tag {
  package static let keys = Self(
    "Keys",
    """
    The customer's access keys. A `device` key ships inside an app. A `send` key sends single messages too. A `backend` key opens \
    all of Carma's API. An \
    `admin` key opens the management API too. A `gateway` key opens the gateway of Hybrid Messaging alone, a `datasync` key the data tree \
    of its app alone. The audit log says who changed what.
    """, readers: [.operator], editors: [.operator])
}

/// `/api/v1/keys`.
package enum KeyOperations: ManagedOperations {
  package static let all = [AnyOperation(list), AnyOperation(add), AnyOperation(revoke)]

  package static let list = Operation(
    get: "/api/v1/keys", id: "listKeys", .keys, "List the access keys",
    "Lists every key of the customer, revoked ones too, the oldest first. Tokens are not stored.",
    at: .page(of: "key", by: AccessKeyID.self),
    replies: .ok("A page of keys.", Page<AccessKeyReply, AccessKeyID>.form)
  ) { call, page, _ in page.slice(of: try await AccessKeys(call.database).list(call.customer), by: \.keyId) }

  package static let add = Operation(
    .post, "/api/v1/keys", id: "addKey", .keys, "Make an access key",
    """
    The reply shows the token once. Store it where it is needed. A key with `appId` opens only the routes of that app. A \
    key with `expiresAt` opens nothing after that moment. A key expires no later than the key that makes it.
    """,
    at: .none, body: .json(AccessKeyRequest.form), replies: .created("The key and its token.", AccessKeyReply.issued),
    errors: [.error("The customer has no app of this `appId`.", RegistryError.appUnknown(appID: "com.acme.app"))],
    audit: .addKey
  ) { call, _, request in
    // These open what the console keeps from operators: users, and contacts' personal fields.
    if [.admin, .backend].contains(request.scope) { try await call.holdUser(as: [.owner]) }
    let new = try await AccessKeys(call.database).make(
      call.customer, name: request.name, scope: request.scope, appID: request.appId,
      expiresAt: request.expiresAt?.date, createdBy: call.key)
    var reply = new.key
    reply.token = new.token
    return Changed(reply, .init("key \(reply.keyId)", after: new.key))
  }

  /// The flag says whether to revoke also the keys that it created, and those that these created.
  package static let revoke = Operation(
    .delete, "/api/v1/keys/{id}", id: "revokeKey", .keys, "Revoke an access key",
    """
    The key opens nothing any more. Revoking it again changes nothing. `validKeysCreated` counts the keys that it had made \
    and that are still valid; `withCreated=true` revokes those too.
    """,
    at: Parameters.id(AccessKeyID.self, "The key's number.", example: 2)
      .and(.flag("withCreated", "Whether to revoke also the keys that it made, and those that they made.")),
    body: .none, replies: .ok("The revoked key.", AccessKeyReply.revoked),
    errors: [.error("The customer has no key of this number.", RegistryError.numberUnknown("access key"))],
    audit: "key.revoke", outdates: .accessKeys
  ) { call, target, _ in
    let (id, withCreated) = target
    let keys = AccessKeys(call.database)
    let revocation = try await keys.revoke(call.customer, id, withCreated: withCreated)
    let after = try await keys.list(call.customer)
    var reply = revocation.key
    (reply.alsoRevoked, reply.validKeysCreated) = (revocation.alsoRevoked, revocation.stillValid.count)
    return Changed(
      reply,
      revocation.before.map { before in
        .init("key \(before.keyId)", before: before, after: after.first { $0.keyId == before.keyId })
      })
  }
}
