/// Body of `PUT /datasync/v2/{app}/settings/webhooks`, and a part of the settings (Webcom, "Webhooks").
public struct WebhookSettings: APIRequest, Equatable {
  /// By name.
  public var destinations: [UTF8String: WebhookDestination]

  public init(destinations: [UTF8String: WebhookDestination] = [:]) { self.destinations = destinations }

  /// As replies show them: addresses without their queries. Headers are shown to whoever may set them.
  public var shown: WebhookSettings { mapURIs { _, uri in ShownURL(uri).text } }

  /// These settings, with the queries that `shown` left out. An address that is as `shown` has one of before stands for the whole of that
  /// one. So whoever reads the settings, changes some and sends them back keeps the queries of the others.
  public func restored(from before: WebhookSettings?) -> WebhookSettings {
    mapURIs { name, uri in
      before?.destinations[name]?.destinationUris.first { ShownURL($0.uri).text.hasSameBytes(as: uri) }?.uri ?? uri
    }
  }

  private func mapURIs(_ change: (_ name: UTF8String, _ uri: String) -> String) -> WebhookSettings {
    var settings = self
    for (name, destination) in destinations {
      settings.destinations[name]?.destinationUris = destination.destinationUris.map {
        DestinationURI(uri: change(name, $0.uri), acceptAnyCertificate: $0.acceptAnyCertificate)
      }
    }
    return settings
  }

  /// As the audit log shows them: addresses as `shown`, and of headers only whether they are others than before.
  public func audited(since before: WebhookSettings? = nil) -> WebhookSettings {
    WebhookSettings(
      destinations: Dictionary(
        uniqueKeysWithValues: destinations.map { name, destination in
          var shown = destination
          let isNew = before != nil && before?.destinations[name]?.headers != destination.headers
          shown.headers = destination.headers?.mapValues { _ in isNew ? "new" : "…" }
          return (name, shown)
        })
    ).shown
  }

  public static let schemaName: String? = "WebhookSettings"
  public static let schemaDescription = "Where webhooks lead."
  public static let example = WebhookSettings(destinations: ["myWebhook": .example])

  public static let fieldTable: FieldTable = [
    "destinations": "Webhooks by their names, which subscriptions name."
  ]
}

/// Where a webhook leads.
public struct WebhookDestination: APIRequest, Equatable {
  public var enabled: Bool
  public var subscribeDurationSeconds: Int
  public var destinationUris: [DestinationURI]
  public var headers: [String: String]?

  public init(
    enabled: Bool, subscribeDurationSeconds: Int, destinationUris: [DestinationURI], headers: [String: String]? = nil
  ) {
    self.enabled = enabled
    self.subscribeDurationSeconds = subscribeDurationSeconds
    self.destinationUris = destinationUris
    self.headers = headers
  }

  /// The only header that a webhook can have.
  public static let tokenHeader = "X-webcom-webhook-token"

  public static let schemaName: String? = "WebhookDestination"
  public static let schemaDescription = "A webhook."
  public static let example = WebhookDestination(
    enabled: true, subscribeDurationSeconds: 3_600_000,
    destinationUris: [DestinationURI(uri: "https://hooks.example.com/changes", acceptAnyCertificate: false)],
    headers: [tokenHeader: "bar"])

  public static let fieldTable: FieldTable = [
    "enabled": "Whether anything is sent to it. What is due waits while it is false, for two hours at most.",
    "subscribeDurationSeconds":
      FieldDescription(
        "How long subscriptions last that do not say so.", limits: 1...Int64(SubscriptionRequest.longestDuration)),
    "destinationUris": FieldDescription("Addresses. Each attempt takes the next of them.", limits: 1...8),
    "headers": "Only `X-webcom-webhook-token` is allowed.",
  ]
}

/// An address of a webhook.
public struct DestinationURI: APIRequest, Equatable {
  public var uri: String
  public var acceptAnyCertificate: Bool?

  public init(uri: String, acceptAnyCertificate: Bool? = nil) {
    self.uri = uri
    self.acceptAnyCertificate = acceptAnyCertificate
  }

  public static let schemaName: String? = "DestinationURI"
  public static let schemaDescription = "An address of a webhook."
  public static let example = DestinationURI(uri: "https://hooks.example.com/changes", acceptAnyCertificate: false)

  public static let fieldTable: FieldTable = [
    "uri":
      FieldDescription(
        """
        An https address of the internet. Replies show it without its query; one that is sent back so keeps the query that it had.
        """, limits: 1...2048),
    "acceptAnyCertificate": "Must be false: certificates are always checked.",
  ]
}

/// Reply of `GET /datasync/v2/{app}/settings`.
public struct DataTreeSettings: APIObject, Equatable {
  public var webhooks: WebhookSettings

  public init(webhooks: WebhookSettings) { self.webhooks = webhooks }

  public static let schemaName: String? = "DatasyncSettings"
  public static let schemaDescription = "The settings of an app's data tree."
  public static let example = DataTreeSettings(webhooks: .example)

  public static let fieldTable: FieldTable = [
    "webhooks": "Where webhooks lead. Values of headers are secrets, and shown here as they are."
  ]
}
