/// Body of `PUT …/pushdevices`: a contact and 1 to 100 of its devices (Carma iOS Integration Guide, "Carma device token
/// registration").
///
/// A text that is `nil` was absent or `null` and leaves the field as it is; "" clears it. Unknown fields are ignored. Of a
/// field given twice the last one counts, except that a `null` in one spelling of its name leaves the other alone. Only types
/// are checked here; `CarmaSchemas` describes the body, and a test compares the two.
public struct PushDevicesBody: Sendable, Equatable {
  public var originalId: String?
  public var listId: Change<Int64> = .keep
  public var texts = ContactTexts()
  public var dateOfBirth: Change<CarmaDate> = .keep
  /// A flat JSON object, merged key by key; `null` removes a key.
  public var properties: String?
  public var deviceInfo: [DeviceInfo] = []

  /// Most devices of one body.
  public static let maximumDevices = 100

  public init(originalId: String? = nil, deviceInfo: [DeviceInfo] = []) {
    self.originalId = originalId
    self.deviceInfo = deviceInfo
  }

  /// A device as an app describes it.
  public struct DeviceInfo: Sendable, Equatable {
    /// As it was sent; of an object its JSON.
    public var deviceToken: String?
    public var appType: AppType?
    public var sandboxToken: Bool?
    public var manufacturer: String?
    public var model: String?
    public var osVersion: String?
    public var country: String?
    public var timeZone: String?
    public var locale: String?
    public var dateOfInvalidation: Change<CarmaDate> = .keep
    public var invalidationType: InvalidationType?

    public init(deviceToken: String? = nil, appType: AppType? = nil) {
      self.deviceToken = deviceToken
      self.appType = appType
    }
  }
}

extension PushDevicesBody {
  /// - Throws: `JSONProblem` with the path of the field that is wrong.
  public init(json bytes: UnsafeRawBufferPointer) throws(JSONProblem) {
    self = try JSONReader.read(bytes) { reader throws(JSONProblem) in
      var body = PushDevicesBody()
      try reader.object { reader, key throws(JSONProblem) in try body.read(key, &reader) }
      return body
    }
  }

  private mutating func read(_ key: JSONKey, _ reader: inout JSONReader) throws(JSONProblem) {
    switch key {
    case "originalId", "originalid": originalId = try reader.text() ?? originalId
    case "listId": listId = try reader.listID()
    case "dateOfBirth": dateOfBirth = try reader.date()
    case "properties": properties = try reader.properties()
    case "deviceInfo": deviceInfo = try reader.deviceInfo()
    default:
      if let field = ContactField(key) { texts[field] = try reader.text() } else { try reader.skip() }
    }
  }
}

extension JSONReader {
  fileprivate mutating func deviceInfo() throws(JSONProblem) -> [PushDevicesBody.DeviceInfo] {
    if try null() { return [] }
    var devices: [PushDevicesBody.DeviceInfo] = []
    try array { reader, index throws(JSONProblem) in
      guard index < PushDevicesBody.maximumDevices else {
        throw JSONProblem("is one more than \(PushDevicesBody.maximumDevices)")
      }
      var device = PushDevicesBody.DeviceInfo()
      try reader.object { reader, key throws(JSONProblem) in try device.read(key, &reader) }
      devices.append(device)
    }
    return devices
  }
}

extension PushDevicesBody.DeviceInfo {
  fileprivate mutating func read(_ key: JSONKey, _ reader: inout JSONReader) throws(JSONProblem) {
    switch key {
    case "devicetoken", "deviceToken": deviceToken = try reader.deviceToken() ?? deviceToken
    case "appType": appType = try reader.appType()
    case "sandboxToken": sandboxToken = try reader.flag()
    case "manufacturer": manufacturer = try reader.text()
    case "model": model = try reader.text()
    case "osVersion": osVersion = try reader.text()
    case "country": country = try reader.text()
    case "timezone", "timeZone": timeZone = try reader.text() ?? timeZone
    case "locale": locale = try reader.text()
    case "dateOfInvalidation": dateOfInvalidation = try reader.date()
    case "invalidationType": invalidationType = try reader.invalidationType()
    default: try reader.skip()
    }
  }
}

/// What a request says about a field that is not a text. Texts need no such type: absent keeps them and "" clears them.
public enum Change<Value: Sendable & Hashable>: Sendable, Hashable {
  /// Absent, or `null`.
  case keep
  /// `""`.
  case clear
  case set(Value)
}
