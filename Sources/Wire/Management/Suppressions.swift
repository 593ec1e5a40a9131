/// Somebody, or something, that is not sent to.
public struct SuppressionID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// What a suppression names.
public enum SuppressionKind: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// A contact, by its original id, on all devices.
  case contact
  /// A telephone number: the contact whose original id it is in 00 form, and SMS to it.
  case number
  /// A token of an app, whoever has it.
  case device
}

/// Body of `POST /api/v1/suppressions`, and of its DELETE: exactly one of `originalId`, `number` and `deviceToken`.
public struct SuppressionRequest: APIRequest, Equatable {
  public var originalId: String?
  public var number: String?
  public var deviceToken: TokenText?
  public var appId: String?
  public var appType: AppType?
  public var scope: SuppressionScope?
  public var reason: String?
  public var until: Timestamp?

  public init(
    originalId: String? = nil, number: String? = nil, deviceToken: String? = nil, appId: String? = nil,
    appType: AppType? = nil, scope: SuppressionScope? = nil, reason: String? = nil, until: Timestamp? = nil
  ) {
    self.originalId = originalId
    self.number = number
    self.deviceToken = deviceToken.map { TokenText($0) }
    self.appId = appId
    self.appType = appType
    self.scope = scope
    self.reason = reason
    self.until = until
  }

  public static let schemaName: String? = "SuppressionRequest"
  public static let schemaDescription = "A contact, a telephone number or a device that is not to be sent to."
  public static let example = SuppressionRequest(originalId: "lars@example.com", reason: "asked by telephone")
  /// What DELETE takes. It lifts both scopes unless it names one.
  public static let lifting = BodyForm(
    "SuppressionLiftRequest", "Whose suppressions to lift.", absent: ["reason", "until"],
    example: SuppressionRequest(originalId: "lars@example.com"))

  public static let fieldTable: FieldTable = [
    "originalId": FieldDescription(
      "The contact of this original id, on all its devices. It need not be there yet.", limits: 1...255),
    "number": FieldDescription(
      "The telephone number \(PhoneNumber.form): the contact whose original id it is in 00 form, and SMS to it.",
      limits: 1...40),
    "deviceToken": "The device with this token. Of a browser it is the subscription, as an object or as its JSON.",
    "appId": "The device's app.",
    "appType": "The device's platform, if the app exists on several.",
    "scope":
      """
    `marketing` stops messages of this purpose, `all` transactional ones too, PINs and calls among them. `marketing` if absent; a DELETE \
    without it lifts both.
    """,
    "reason": FieldDescription("Why, in your own words. It may name no person.", limits: 1...200),
    "until": "When it ends, in the future. Never if absent.",
  ]
}

/// A suppression. Whom it names is not stored: the hub keeps a keyed hash.
public struct SuppressionReply: APIObject, NumberedThing, Equatable {
  public var suppressionId: SuppressionID
  public var kind: SuppressionKind
  public var scope: SuppressionScope
  public var byPage: Bool
  public var reason: String?
  public var at: Timestamp
  public var until: Timestamp?

  public init(
    suppressionId: SuppressionID, kind: SuppressionKind, scope: SuppressionScope, byPage: Bool, reason: String? = nil,
    at: Timestamp, until: Timestamp? = nil
  ) {
    self.suppressionId = suppressionId
    self.kind = kind
    self.scope = scope
    self.byPage = byPage
    self.reason = reason
    self.at = at
    self.until = until
  }

  public static let noun = "suppression"
  public var number: SuppressionID { suppressionId }
  public static let schemaName: String? = "Suppression"
  public static let schemaDescription =
    "A contact, a telephone number or a device that is not sent to. Whom it names is not stored."
  public static let example = SuppressionReply(
    suppressionId: SuppressionID(1), kind: .contact, scope: .marketing, byPage: false, reason: "asked by telephone",
    at: .example)

  public static let fieldTable: FieldTable = [
    "suppressionId": "The suppression's number.",
    "kind":
      "`contact` for an original id, `number` for a telephone number, `device` for a token of an app.",
    "scope": "`marketing`, or `all` for transactional messages too.",
    "byPage":
      "Whether the person made it on the page of an `unsubscribeUrl`. They can take it back there. False once you have asked for it, too.",
    "reason": "Why. `unsubscribed` for the page. Absent if nobody said.",
    "at": "When it was first made.",
    "until": "When it ends. Absent for never.",
  ]
}

/// What a DELETE by the members of a suppression has lifted.
public struct SuppressionsLifted: APIObject, Equatable {
  public var lifted: [SuppressionReply]

  public init(lifted: [SuppressionReply]) { self.lifted = lifted }

  public static let schemaName: String? = "SuppressionsLifted"
  public static let schemaDescription = "The suppressions that were lifted."
  public static let example = SuppressionsLifted(lifted: [.example])
  public static let fieldTable: FieldTable = ["lifted": "They as they were. Empty if there was none."]
}
