/// Body of `PUT /api/v1/sms`.
public struct SMSSettingsRequest: APIRequest, Equatable {
  public var provider: SMSProviderKind
  public var sender: String
  public var url: String?
  public var voiceUrl: String?
  public var productToken: String?
  public var accountSid: String?
  public var authToken: String?
  public var template: JSONValue?

  public init(
    provider: SMSProviderKind, sender: String, url: String? = nil, voiceUrl: String? = nil,
    productToken: String? = nil, accountSid: String? = nil, authToken: String? = nil, template: JSONValue? = nil
  ) {
    self.provider = provider
    self.sender = sender
    self.url = url
    self.voiceUrl = voiceUrl
    self.productToken = productToken
    self.accountSid = accountSid
    self.authToken = authToken
    self.template = template
  }

  public static let schemaName: String? = "SMSSettingsRequest"
  public static let schemaDescription = "The provider that sends the customer's SMS, and makes its calls."
  public static let example = SMSSettingsRequest(
    provider: .cm, sender: "Acme", productToken: "00000000-0000-4000-8000-000000000000")

  public static let fieldTable: FieldTable = [
    "provider": "`cm` for CM Business Messaging, `twilio`, or `http` for any other.",
    "sender":
      FieldDescription(
        "Of messages that name none: \(SMSAccount.senderForm); with Twilio also a messaging service.",
        limits: 1...34),
    "url":
      FieldDescription(
        "The full address that messages are posted to. The provider's own if absent; `http` needs one.", limits: 1...500
      ),
    "voiceUrl":
      FieldDescription(
        "The full address that calls are posted to, by CM or Twilio. No calls if absent.", limits: 1...500),
    "productToken": FieldDescription("CM's product token. It is never shown again.", limits: 1...200),
    "accountSid": FieldDescription("Twilio's Account SID.", limits: 1...64),
    "authToken": FieldDescription("Twilio's Auth Token. It is never shown again.", limits: 1...200),
    "template":
      """
    Of a provider `http`, the request for one message: `contentType` (json, form, xml or query) and `body`, in which `{to}`, \
    `{to_plus}`, `{from}`, `{text}` and `{reference}` stand for the message's values. Optional are `method`, `headers`, \
    `successStatuses`, `successPath` with `successValue`, and `temporaryStatuses`. It is never shown again.
    """,
  ]
}

/// The provider that sends the customer's SMS. Its sign-in is never shown.
public struct SMSSettingsReply: APIObject, Equatable {
  public var pushAppId: PushAppID
  public var provider: SMSProviderKind
  public var sender: String
  public var url: ShownURL
  public var voiceUrl: ShownURL?
  public var account: String
  public var statusUrl: String
  public var alarm: PushAppReply.Alarm?
  public var updatedAt: Timestamp

  public init(
    pushAppId: PushAppID, provider: SMSProviderKind, sender: String, url: ShownURL, voiceUrl: ShownURL? = nil,
    account: String, statusUrl: String, alarm: PushAppReply.Alarm? = nil, updatedAt: Timestamp
  ) {
    self.pushAppId = pushAppId
    self.provider = provider
    self.sender = sender
    self.url = url
    self.voiceUrl = voiceUrl
    self.account = account
    self.statusUrl = statusUrl
    self.alarm = alarm
    self.updatedAt = updatedAt
  }

  public static let schemaName: String? = "SMSSettings"
  public static let schemaDescription = "The provider that sends the customer's SMS."
  public static let example = SMSSettingsReply(
    pushAppId: PushAppID(9), provider: .cm, sender: "Acme", url: ShownURL("https://gw.messaging.cm.com/v1.0/message"),
    account: "cm", statusUrl: "https://push.example.com/sms/status/1-vT0c2nUe0nEJzN0bXwKpQy", updatedAt: .example)

  public static let fieldTable: FieldTable = [
    "pushAppId": "The app of the type SMS that stands for it in sendouts, messages and reports.",
    "provider": "The kind of provider.",
    "sender": "The sender of messages that name none.",
    "url": "Where messages are posted to, without its query.",
    "voiceUrl": "Where calls are posted to, without its query. Absent if it makes none.",
    "account": "Who signs in, never with what.",
    "statusUrl":
      """
    Where the provider posts its status reports: enter it in CM's console. Twilio gets it with each message. It is a secret, and \
    POST /api/v1/sms/status-address renews it.
    """,
    "alarm": "Why the provider needs attention, such as a refused sign-in. Absent if all is well.",
    "updatedAt": "When it last changed.",
  ]
}

/// A telephone number that gets SMS again, and the opt-out that this undid.
public struct SMSOptOutReply: APIObject, Equatable {
  public var number: String
  public var optedOutAt: Timestamp
  public var reason: String?

  public init(number: String, optedOutAt: Timestamp, reason: String?) {
    self.number = number
    self.optedOutAt = optedOutAt
    self.reason = reason
  }

  public static let schemaName: String? = "SMSOptOut"
  public static let schemaDescription = "An opt-out of SMS that was undone."
  public static let example = SMSOptOutReply(
    number: "0031612345678", optedOutAt: .example, reason: "37 opted out (national blacklist)")

  public static let fieldTable: FieldTable = [
    "number": "The telephone number, which gets SMS again.",
    "optedOutAt": "When its opt-out came.",
    "reason": "The provider's words for it.",
  ]
}
