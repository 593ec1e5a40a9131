/// Body of `POST /api/v1/messages/preview`. It has every field of `MessageRequest`, so that a message's body is previewed as it is.
public struct MessagePreviewRequest: APIRequest, Equatable {
  public var appId: String?
  public var appIds: [String]?
  public var appType: AppType?
  public var to: MessageTarget?
  public var message: MessageBody
  public var purpose: MessagePurpose?
  public var properties: [UTF8String: JSONValue]?
  public var template: String?
  public var deliverAt: Timestamp?
  public var reference: String?
  public var wait: Int?

  public init(
    appId: String? = nil, appIds: [String]? = nil, appType: AppType? = nil, to: MessageTarget? = nil,
    message: MessageBody, purpose: MessagePurpose? = nil, properties: [UTF8String: JSONValue]? = nil,
    template: String? = nil, deliverAt: Timestamp? = nil, reference: String? = nil, wait: Int? = nil
  ) {
    self.appId = appId
    self.appIds = appIds
    self.appType = appType
    self.to = to
    self.message = message
    self.purpose = purpose
    self.properties = properties
    self.template = template
    self.deliverAt = deliverAt
    self.reference = reference
    self.wait = wait
  }

  public static let schemaName: String? = "MessagePreviewRequest"
  public static let schemaDescription = "A message that is shown as push services would get it, and not sent."
  public static let example = MessagePreviewRequest(
    appId: "com.acme.app", message: MessageBody(alert: "Your parcel is here, {{firstName}}"),
    properties: ["firstName": "Lars"])

  public static let fieldTable: FieldTable = [
    "appId": "The app. Without `appId` and `appIds` it is every app of the customer.",
    "appIds": FieldDescription("Several apps.", limits: 1...20),
    "appType": "The platform. If it is absent, an appId stands for all its platforms.",
    "to":
      "Whose fields the texts name, and whose devices. If absent, contact and device are empty, and the token is an example.",
    "message": "What the push says.",
    "purpose": "Ignored: nothing is sent.",
    "properties": "What the texts can name, before the contact's own properties.",
    "template": "The name of the rich page's template.",
    "deliverAt": "Ignored: the request is the one of this moment.",
    "reference": FieldDescription("Ignored: nothing is stored.", limits: 1...200),
    "wait": FieldDescription("Ignored: nothing is sent.", limits: 0...Int64(MessageRequest.maximumWait)),
  ]
}

/// A message as push services would get it.
public struct MessagePreviewReply: APIObject, Equatable {
  public var requests: [PreviewedRequest]

  public init(requests: [PreviewedRequest]) { self.requests = requests }

  public static let schemaName: String? = "MessagePreview"
  public static let schemaDescription = "A message as push services would get it."
  public static let example = MessagePreviewReply(requests: [.example])

  public static let fieldTable: FieldTable = [
    "requests": "One for each app."
  ]
}

/// The request for one app.
public struct PreviewedRequest: APIObject, Equatable {
  public var pushAppId: PushAppID
  public var appId: String
  public var appType: AppType
  public var service: String?
  public var method: String?
  public var url: String?
  public var headers: [String: String]?
  public var body: JSONValue?
  public var shown: ShownPush?
  public var bytes: Int?
  public var limit: Int?
  public var parts: Int?
  public var mostParts: Int?
  public var dropped: String?
  public var problem: String?

  public init(
    pushAppId: PushAppID, appId: String, appType: AppType, service: String? = nil, method: String? = nil,
    url: String? = nil, headers: [String: String]? = nil, body: JSONValue? = nil, shown: ShownPush? = nil,
    bytes: Int? = nil, limit: Int? = nil, parts: Int? = nil, mostParts: Int? = nil, dropped: String? = nil,
    problem: String? = nil
  ) {
    self.pushAppId = pushAppId
    self.appId = appId
    self.appType = appType
    self.service = service
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.shown = shown
    self.bytes = bytes
    self.limit = limit
    self.parts = parts
    self.mostParts = mostParts
    self.dropped = dropped
    self.problem = problem
  }

  public static let schemaName: String? = "PreviewedRequest"
  public static let schemaDescription = "The request for one app, or why there is none."
  public static let example = PreviewedRequest(
    pushAppId: PushAppID(1), appId: "com.acme.app", appType: .ios, service: "APNs", method: "POST",
    url: "https://api.push.apple.com/3/device/c0ffee", headers: ["apns-topic": "com.acme.app"],
    body: ["aps": ["alert": "Your parcel is here, Lars"]], shown: .example,
    bytes: 48, limit: 4096)

  public static let fieldTable: FieldTable = [
    "pushAppId": "The app's number.",
    "appId": "Its bundle id or package name.",
    "appType": "Its platform.",
    "service": "The push service.",
    "method": "The request's method.",
    "url": "Where it goes.",
    "headers": "Its headers. What signs in is masked.",
    "body": "Its body: JSON, or a text of what is no JSON.",
    "shown": "What the device's owner sees. Absent if only the app gets the message.",
    "bytes": "The message's size as the service counts it. Absent for an SMS.",
    "limit": "The largest size that the service takes. Absent for an SMS.",
    "parts": "How many SMS the text takes. Absent for other pushes.",
    "mostParts": "How many SMS it may take: what is longer is cut. Absent for other pushes.",
    "dropped": "What was left out of the message so that it fits. Absent if nothing was.",
    "problem": "Why nothing can be sent: the app has no credentials, or the push service would refuse the message.",
  ]
}

/// What a device's owner sees of a push.
public struct ShownPush: APIObject, Hashable {
  public var title: String?
  public var text: String
  public var image: String?
  public var badge: String?

  public init(title: String? = nil, text: String, image: String? = nil, badge: String? = nil) {
    self.title = title
    self.text = text
    self.image = image
    self.badge = badge
  }

  public static let schemaName: String? = "ShownPush"
  public static let schemaDescription = "What a device's owner sees of a push."
  public static let example = ShownPush(text: "Your parcel is here, Lars")

  public static let fieldTable: FieldTable = [
    "title": "The first line. Absent if the message has one text alone.",
    "text": "The text.",
    "image": "The address of the picture.",
    "badge": "The number on the app's icon.",
  ]
}
