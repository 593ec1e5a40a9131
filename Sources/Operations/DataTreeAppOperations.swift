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
package enum DataTreeAppOperations {
  package static let all = [AnyOperation(enable), AnyOperation(list)]

  package static let enable = Operation(
    .post, "/api/v1/datasync", id: "enableDatasync", .dataTrees, "Give an app a data tree",
    """
    The reply shows a new secret once. It is an access key of scope `datasync` that is bound to the app, opens its data tree alone, and can be revoked as one. \
    Enabling it again makes another secret; earlier ones stay valid.
    """,
    at: .none, body: .json(DataTreeRequest.form),
    replies: .created("The data tree and its secret.", DataTreeSecret.form),
    errors: [.error("The customer has no app of this `appId`.", RegistryError.appUnknown(appID: "com.acme.app"))],
    audit: .enableDataTree
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
      .changeWebhooks, "datasync \(app)", before: before?.audited(), after: settings.audited(since: before))
    return DataTreeSettings(webhooks: settings.shown)
  }
}
