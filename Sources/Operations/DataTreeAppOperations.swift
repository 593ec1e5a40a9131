import HTTPTypes
package import Registry
package import Subscriptions
package import Wire

extension APIOperation.Tag {
  package static let dataTrees = Self(
    "Data trees",
    """
    Small values of an app that its back end writes, and subscriptions of devices and webhooks to what changes in them (Webcom). \
    The app's secret, an access key of scope `datasync`, is sent as `Authorization: Bearer`.
    """, readers: [.operator], editors: [.operator])
}

/// `/api/v1/datasync`.
package enum DataTreeAppOperations: ManagedOperations {
  package static let all = [
    AnyOperation(enable), AnyOperation(list), AnyOperation(listWebhooks), AnyOperation(saveWebhook),
    AnyOperation(removeWebhook),
  ]

  package static let enable = Operation(
    .post, "/api/v1/datasync", id: "enableDatasync", .dataTrees, "Give an app a data tree",
    """
    The reply shows a new secret once. It is an access key of scope `datasync` that is bound to the app, opens its data tree alone, and can be revoked as one. \
    Enabling it again makes another secret; earlier ones stay valid.
    """,
    at: .none, body: .json(DataTreeRequest.form),
    replies: .created("The data tree and its secret.", DataTreeSecret.form),
    errors: [.error("The customer has no app of this `appId`.", RegistryError.appUnknown(appID: "com.acme.app"))],
    audit: "datasync.enable"
  ) { call, _, request in
    let new = try await DataTreeApps(call.database).enable(call.customer, app: request.app, createdBy: call.key)
    return Changed(
      DataTreeSecret(app: request.app, secret: new.token, keyId: new.key.keyId),
      .init("key \(new.key.keyId)", after: new.key, as: .addKey),
      .init("datasync \(request.app)", after: ["app": request.app, "keyId": new.key.keyId.description]))
  }

  package static let list = Operation(
    get: "/api/v1/datasync", id: "listDatasync", .dataTrees, "List the data trees",
    "Lists the apps that have a data tree, by their ids.", at: .namedPage(of: "app", example: "com.acme.app"),
    replies: .ok("A page of data trees.", Page<DataTreeApp, String>.form)
  ) { call, page, _ in page.slice(of: try await DataTreeApps(call.database).list(call.customer), by: \.app) }

  // MARK: Webhooks

  package static let listWebhooks = Operation(
    get: "/api/v1/datasync/{appId}/webhooks", id: "listWebhooks", .dataTrees, "List the webhooks of a data tree",
    "Lists where subscriptions of back ends lead, by their names.",
    at: appID.and(.namedPage(example: "orders")),
    replies: .ok("A page of webhooks.", Page<WebhookReply, String>.form), errors: [notEnabled, sealed]
  ) { call, target, _ in
    let (appID, page) = target
    let settings = try await WebhookStore(call.database, vault: call.vault).settings(call.customer, app: appID).shown
    return page.slice(of: settings.destinations.map { WebhookReply($0.key.text, $0.value) }, by: \.name)
  }

  package static let saveWebhook = Operation(
    .put, "/api/v1/datasync/{appId}/webhooks/{name}", id: "saveWebhook", .dataTrees,
    "Add or change a webhook of a data tree",
    """
    What a change leaves out stays as it is; a new one needs `uris`. Each is an https address at a host of the internet, or at one that \
    `PUSHCART_WEBHOOK_ALLOWED_HOSTS` names. Certificates are always checked. The app's own secret can replace all webhooks at once, at \
    `/datasync/v2/{app}/settings/webhooks`.
    """,
    at: appID.and(webhook), body: .json(WebhookRequest.form), replies: .ok("The webhook.", WebhookReply.form),
    errors: [notEnabled, sealed], audit: "webhook.save"
  ) { call, target, request in
    let (appID, name) = target
    let (before, after) = try await WebhookStore(call.database, vault: call.vault).save(
      request, named: name, call.customer, app: appID, rule: call.parts.webhookRule)
    return changed(appID, name, from: before, to: after)
  }

  package static let removeWebhook = Operation(
    .delete, "/api/v1/datasync/{appId}/webhooks/{name}", id: "removeWebhook", .dataTrees,
    "Remove a webhook of a data tree", "Its subscriptions end, and what is due to it is dropped.",
    at: appID.and(webhook), body: .none, replies: .ok("The webhook as it was.", WebhookReply.form),
    errors: [
      .error(
        "The app has no data tree, or no webhook of this name.", SubscriptionsError.notEnabled(app: "com.acme.app"),
        SubscriptionsError.webhookUnknown(name: "orders")), sealed,
    ], audit: "webhook.remove"
  ) { call, target, _ in
    let (appID, name) = target
    let (before, after) = try await WebhookStore(call.database, vault: call.vault).remove(
      name, call.customer, app: appID)
    return changed(appID, name, from: before, to: after)
  }

  /// The webhook as it is now, or as it was, and its line in the audit log.
  private static func changed(
    _ appID: String, _ name: String, from before: WebhookSettings, to after: WebhookSettings
  ) -> Changed<WebhookReply> {
    func alone(_ settings: WebhookSettings) -> WebhookSettings? {
      settings.destinations[name].map { WebhookSettings(destinations: [UTF8String(name): $0]) }
    }
    let (old, new) = (alone(before), alone(after))
    guard let destination = (new ?? old)?.shown.destinations[name] else {
      preconditionFailure("the settings never had the webhook that was changed")
    }
    return Changed(
      WebhookReply(name, destination),
      .init("datasync \(appID)", before: old?.audited(), after: new?.audited(since: old)))
  }

  private static let appID = Parameters.path("appId", .string(1...200), "The app.", example: "com.acme.app")
  private static let webhook = Parameters.path("name", .string(1...100), "The webhook's name.", example: "orders")
  private static let notEnabled = APIResponse.error(
    "The app has no data tree.", SubscriptionsError.notEnabled(app: "com.acme.app"))
  private static let sealed = APIResponse.error(
    "The webhooks cannot be decrypted.", RegistryError.sealed(what: "data_tree_app/1/com.acme.app"))
}

extension ManagementChange {
  /// Replaces the webhooks of a data tree.
  package func saveWebhooks(
    _ settings: WebhookSettings, app: String, in store: WebhookStore, rule: EndpointRule
  ) async throws -> DataTreeSettings {
    let store = store.within(transaction)
    // What no master key opens can be replaced, too.
    let before = try? await store.settings(customer, app: app)
    let settings = settings.restored(from: before)
    try await store.save(settings, customer, app: app, rule: rule)
    try await record(
      .other(.changeWebhooks), "datasync \(app)", before: before?.audited(), after: settings.audited(since: before))
    return DataTreeSettings(webhooks: settings.shown)
  }
}
