/// Reply of `PUT` and `GET …/pushdevices`: the contact and its devices, in the guide's names and order; `null` for what is
/// unknown (Carma iOS Integration Guide, "Carma device token registration").
///
/// As in the guide's samples, `appType` and `sandboxToken` are strings and `invalidationType` is a number. Dates are
/// milliseconds since 1970. `CarmaSchemas` describes the reply, and a test compares the two.
public struct ContactReply: Sendable, Equatable {
  public var originalId: String
  public var listId: Int64?
  public var texts = ContactTexts()
  public var dateOfBirth: Int64?
  /// A JSON object.
  public var properties = "{}"
  public var deviceInfo: [DeviceInfo] = []

  public init(originalId: String) { self.originalId = originalId }

  /// A device as it is registered.
  public struct DeviceInfo: Sendable, Equatable {
    public var deviceToken: String
    public var appType: AppType?
    public var sandboxToken = false
    public var manufacturer: String?
    public var model: String?
    public var osVersion: String?
    public var country: String?
    public var timeZone: String?
    public var locale: String?
    public var dateOfInvalidation: Int64?
    public var invalidationType = InvalidationType.valid

    public init(deviceToken: String) { self.deviceToken = deviceToken }
  }

  /// The reply as JSON.
  public var json: [UInt8] {
    var writer = JSONWriter(capacity: 512 + deviceInfo.count * 384)
    writer.open("{")
    writer.member("listId", listId)
    for field in ContactField.allCases {
      writer.name(field.name)
      if let text = texts[field] { writer.value(text) } else { writer.raw("null") }
      switch field {
      case .country: writer.member("originalId", originalId)
      case .title: writer.member("dateOfBirth", dateOfBirth)
      default: break
      }
    }
    writer.name("properties")
    writer.raw(properties)
    writer.name("deviceInfo")
    writer.open("[")
    for device in deviceInfo { device.write(into: &writer) }
    writer.close("]")
    writer.close("}")
    return writer.bytes
  }
}

extension ContactReply.DeviceInfo {
  fileprivate func write(into writer: inout JSONWriter) {
    writer.open("{")
    writer.member("devicetoken", deviceToken)
    writer.member("appType", appType.map { String($0.rawValue) })
    writer.member("sandboxToken", sandboxToken ? "true" : "false")
    writer.member("manufacturer", manufacturer)
    writer.member("model", model)
    writer.member("osVersion", osVersion)
    writer.member("country", country)
    writer.member("timezone", timeZone)
    writer.member("locale", locale)
    writer.member("dateOfInvalidation", dateOfInvalidation)
    writer.member("invalidationType", invalidationType.rawValue)
    writer.close("}")
  }
}
