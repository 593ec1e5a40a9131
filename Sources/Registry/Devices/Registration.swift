import Postgres
public import Wire

/// A contact and 1 to 100 of its devices, checked: what `RegistrationBatcher` registers.
public struct Registration: Sendable {
  /// Longest originalId in characters (Unicode scalars).
  public static let maximumOriginalID = 255

  let appID: String
  /// What the appId stands for, one per platform.
  let apps: [PushAppID]
  public let originalID: String
  let listID: Change<Int64>
  /// `nil` leaves a field as it is, "" clears it.
  let texts: ContactTexts
  let dateOfBirth: Change<CarmaDate>
  /// A flat JSON object; `null` removes a key.
  var properties: String?
  /// The access key of the request; `nil` for a registration by the hub itself.
  let key: AccessKeyID?
  /// Whether that key ships inside an app, so that nothing may be learned by it of what is stored.
  let isOfDeviceKey: Bool
  /// In the order of the request; of a token given twice the last one counts.
  let devices: [DeviceRegistration]

  /// Checks what an app sent.
  /// - Parameters:
  ///   - apps: what the path's appId stands for, one per platform, at least one.
  ///   - access: what the request was let in by; `nil` for a registration by the hub itself.
  /// - Throws: `RegistryError.invalid`, naming the field.
  public init(_ body: PushDevicesBody, apps: [PushApp], access: Access? = nil) throws(RegistryError) {
    key = access?.key
    isOfDeviceKey = access?.scope == .device
    // Every copy of an app has the key, and messages to a number go to its contact's devices.
    if isOfDeviceKey, let id = body.originalId, PhoneNumber(id)?.international == id {
      throw .invalid(
        field: "originalId", problem: "is a telephone number in 00 form, for which a device key registers nothing")
    }
    appID = apps[0].appID
    self.apps = apps.map(\.id)
    originalID = try Self.originalID(body.originalId)
    listID = body.listId
    texts = try Self.texts(body.texts, isOfDeviceKey)
    dateOfBirth = body.dateOfBirth
    properties = body.properties
    guard !body.deviceInfo.isEmpty else {
      throw .invalid(field: "deviceInfo", problem: "must hold 1 to \(PushDevicesBody.maximumDevices) devices")
    }
    var devices: [DeviceRegistration] = []
    devices.reserveCapacity(body.deviceInfo.count)
    for index in body.deviceInfo.indices {
      let device = try DeviceRegistration(
        body.deviceInfo[index], apps, isOfHub: access == nil, isLenient: isOfDeviceKey, field: "deviceInfo[\(index)]")
      if index > 0 { devices.removeAll { $0.app == device.app && $0.token == device.token } }
      devices.append(device)
    }
    self.devices = devices
  }

  /// The id as a contact can have it.
  /// - Throws: `RegistryError.invalid`.
  package static func originalID(_ text: String?) throws(RegistryError) -> String {
    guard let text else { throw .invalid(field: "originalId", problem: "is missing") }
    return try TextRule("originalId", maximum: maximumOriginalID, allowsControls: true).require(text)
  }

  /// Apps that are installed already cannot be mended: of their texts, those that a field cannot hold are left out.
  private static func texts(_ sent: ContactTexts, _ isOfDeviceKey: Bool) throws(RegistryError) -> ContactTexts {
    var texts = sent
    for field in ContactField.allCases {
      guard let text = sent[field] else { continue }
      try check(text, field.name, ContactField.maximum)
      texts[field] = isOfDeviceKey ? field.kept(text) : try field.checked(text)
    }
    return texts
  }

  static func check(_ text: String?, _ field: @autoclosure () -> String, _ maximum: Int) throws(RegistryError) {
    guard let text, text.utf8.count > maximum, text.unicodeScalars.count > maximum else { return }
    throw .invalid(field: field(), problem: "is longer than \(maximum) characters")
  }
}

/// One device of a registration.
struct DeviceRegistration: Sendable {
  /// Leads to the token in the request.
  let field: String
  let app: PushAppID
  let type: AppType
  let token: DeviceToken
  let isSandbox: Bool
  /// Absent leaves as it is, "" clears, here and below.
  let manufacturer: String?
  let model: String?
  let osVersion: String?
  let country: String?
  let timeZone: String?
  let locale: String?
  /// `valid` registers a valid device, and revives one that was not.
  let invalidationType: InvalidationType
  /// In milliseconds since 1970; `nil`: since it first was invalidated, or since now.
  let invalidatedAt: Int64?

  /// Most characters (Unicode scalars) of each text.
  static let maximum = 255

  /// - Parameters:
  ///   - isOfHub: whether the hub itself asks.
  ///   - isLenient: whether a time zone or a locale that there is not is left out.
  init(
    _ info: PushDevicesBody.DeviceInfo, _ apps: [PushApp], isOfHub: Bool, isLenient: Bool, field: String
  ) throws(RegistryError) {
    let app = try Self.app(info.appType, apps, field: field)
    self.app = app.id
    type = app.type
    self.field = "\(field).devicetoken"
    token = try Self.token(info, app.type, isOfHub: isOfHub, field: field)
    isSandbox = info.sandboxToken ?? false
    manufacturer = info.manufacturer
    model = info.model
    osVersion = info.osVersion
    country = info.country
    try Registration.check(info.timeZone, "\(field).timezone", Self.maximum)
    try Registration.check(info.locale, "\(field).locale", Self.maximum)
    timeZone = try DevicePlace.timeZone(info.timeZone, "\(field).timezone", isLenient: isLenient)
    locale = try DevicePlace.locale(info.locale, "\(field).locale", isLenient: isLenient)
    try Registration.check(manufacturer, "\(field).manufacturer", Self.maximum)
    try Registration.check(model, "\(field).model", Self.maximum)
    try Registration.check(osVersion, "\(field).osVersion", Self.maximum)
    try Registration.check(country, "\(field).country", Self.maximum)
    invalidationType = info.invalidationType ?? .valid
    invalidatedAt = invalidationType == .valid ? nil : info.dateOfInvalidation.milliseconds
  }

  static func app(_ type: AppType?, _ apps: [PushApp], field: String) throws(RegistryError) -> PushApp {
    if let type {
      guard let app = apps.first(where: { $0.type == type }) else {
        throw .invalid(field: "\(field).appType", problem: "names a platform that this appId has no push app for")
      }
      return app
    }
    guard apps.count == 1 else {
      throw .invalid(
        field: "\(field).appType", problem: "is needed: this appId stands for apps on several platforms")
    }
    return apps[0]
  }

  /// - Parameter isOfHub: whether the hub itself asks, which alone registers telephone numbers.
  static func token(_ info: PushDevicesBody.DeviceInfo, _ type: AppType, isOfHub: Bool, field: String)
    throws(RegistryError) -> DeviceToken
  {
    let field = "\(field).devicetoken"
    guard type != .sms || isOfHub else {
      throw .invalid(
        field: field, problem: "is a telephone number, which no request of an app can register or invalidate")
    }
    guard let text = info.deviceToken else { throw .invalid(field: field, problem: "is missing") }
    return try DeviceToken(text, type: type, field: field)
  }
}

extension Change<CarmaDate> {
  /// Since 1970; `nil` unless a date is set.
  var milliseconds: Int64? { if case .set(let date) = self { date.milliseconds } else { nil } }
}

/// Whole milliseconds since 1970, as Carma's bodies have moments: a date that came in as a number leaves as the same one.
extension PostgresTimestamp {
  /// Milliseconds from 1970 to 2000.
  private static let epoch: Int64 = 946_684_800_000

  /// - Parameter milliseconds: within `CarmaDate.range`.
  init(milliseconds: Int64) { self.init(microseconds: (milliseconds - Self.epoch) * 1000) }

  /// Rounded down. What lies beyond `CarmaDate.range`, infinities too, is its nearer end: the database may hold what no request
  /// can say.
  var milliseconds: Int64 {
    let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1000)
    let range = CarmaDate.range
    return min(max((rest < 0 ? whole - 1 : whole) + Self.epoch, range.lowerBound), range.upperBound)
  }
}
