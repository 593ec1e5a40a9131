/// Body of `PUT /api/v1/datasync/{appId}/webhooks/{name}`.
public struct WebhookRequest: APIRequest, Equatable {
  public var uris: [String]?
  public var enabled: Bool?
  public var subscribeDurationSeconds: Int?
  public var token: String?

  public init(
    uris: [String]? = nil, enabled: Bool? = nil, subscribeDurationSeconds: Int? = nil, token: String? = nil
  ) {
    self.uris = uris
    self.enabled = enabled
    self.subscribeDurationSeconds = subscribeDurationSeconds
    self.token = token
  }

  /// Of a webhook whose request names none: 30 days.
  public static let usualDuration = 2_592_000

  /// What a webhook becomes by this request.
  /// - Parameter before: `nil` for a new one.
  public func applied(to before: WebhookDestination?) -> WebhookDestination {
    var destination =
      before
      ?? WebhookDestination(enabled: true, subscribeDurationSeconds: Self.usualDuration, destinationUris: [])
    if let uris { destination.destinationUris = uris.map { DestinationURI(uri: $0) } }
    if let enabled { destination.enabled = enabled }
    if let subscribeDurationSeconds { destination.subscribeDurationSeconds = subscribeDurationSeconds }
    if let token { destination.headers = token.isEmpty ? nil : [WebhookDestination.tokenHeader: token] }
    return destination
  }

  public static let schemaName: String? = "WebhookRequest"
  public static let schemaDescription = "A webhook that is added or changed. What a change leaves out stays as it is."
  public static let example = WebhookRequest(
    uris: ["https://hooks.example.com/changes"], enabled: true, subscribeDurationSeconds: usualDuration, token: "bar")
  public static var fieldTable: FieldTable { WebhookReply.fieldTable }
}

/// A webhook of a data tree, as the management API shows it.
public struct WebhookReply: APIObject, Equatable {
  public var name: String
  public var uris: [String]
  public var enabled: Bool
  public var subscribeDurationSeconds: Int
  public var hasToken: Bool

  /// - Parameter destination: as `WebhookSettings.shown` has it.
  public init(_ name: String, _ destination: WebhookDestination) {
    self.name = name
    uris = destination.destinationUris.map(\.uri)
    enabled = destination.enabled
    subscribeDurationSeconds = destination.subscribeDurationSeconds
    hasToken = destination.headers?.isEmpty == false
  }

  public static let schemaName: String? = "Webhook"
  public static let schemaDescription = "A webhook of a data tree."
  public static let example = WebhookReply("orders", WebhookRequest.example.applied(to: nil))

  public static let fieldTable: FieldTable = [
    "name": "By which subscriptions name it, of up to 100 bytes.",
    "uris": FieldDescription(
      """
      https addresses of the internet. Each attempt takes the next of them. Replies show them without their queries; one that is sent back \
      so keeps the query that it had.
      """, limits: 1...8),
    "enabled":
      "Whether anything is sent to it. What is due waits while it is false, for two hours at most. True if a new one has none.",
    "subscribeDurationSeconds":
      FieldDescription(
        "How long subscriptions last that do not say so. 30 days if a new one has none.",
        limits: 1...Int64(SubscriptionRequest.longestDuration)),
    "token": FieldDescription(
      "Sent with each notification as `\(WebhookDestination.tokenHeader)`. It is never shown. `\"\"` removes it.",
      limits: 0...1024),
    "hasToken": "Whether a token is sent with each notification.",
  ]
}
