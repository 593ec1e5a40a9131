public import FoundationEssentials
public import Wire

/// Pairs of one originalId and 1 to 100 tokens that are no longer to be pushed to, checked.
public struct Invalidation: Sendable {
  struct Pair: Sendable {
    let app: PushAppID
    let token: DeviceToken
    /// Not `valid`.
    let type: InvalidationType
    /// In milliseconds since 1970; `nil`: since it first was invalidated, or since now.
    let moment: Int64?
    /// Leads to the token in the request.
    let field: String
  }

  public let originalID: String
  /// The access key of the request.
  let key: AccessKeyID?
  /// Whether that key ships inside an app, so that nothing may be learned by it of what is stored.
  let isOfDeviceKey: Bool
  let pairs: [Pair]

  /// Checks what an app sent. Of a token given twice the last one counts; a type that is left out is 1, by app or user.
  /// - Parameters:
  ///   - apps: what the path's appId stands for, one per platform, at least one.
  ///   - access: what the request was let in by; `nil` for the hub itself.
  /// - Throws: `RegistryError.invalid`, naming the field.
  public init(_ body: PushDevicesBody, apps: [PushApp], access: Access? = nil) throws(RegistryError) {
    key = access?.key
    isOfDeviceKey = access?.scope == .device
    originalID = try Registration.originalID(body.originalId)
    guard !body.deviceInfo.isEmpty else {
      throw .invalid(field: "deviceInfo", problem: "must hold 1 to \(PushDevicesBody.maximumDevices) devices")
    }
    var pairs: [Pair] = []
    for (index, info) in body.deviceInfo.enumerated() {
      let field = "deviceInfo[\(index)]"
      let app = try DeviceRegistration.app(info.appType, apps, field: field)
      let token = try DeviceRegistration.token(info, app.type, isOfHub: access == nil, field: field)
      let type = info.invalidationType ?? .byAppOrUser
      guard type != .valid else {
        throw .invalid(field: "\(field).invalidationType", problem: "must not be 0, which stands for valid devices")
      }
      pairs.removeAll { $0.app == app.id && $0.token == token }
      pairs.append(
        Pair(
          app: app.id, token: token, type: type, moment: info.dateOfInvalidation.milliseconds,
          field: "\(field).devicetoken"))
    }
    self.pairs = pairs
  }
}

/// A push service's word that a device is gone.
public struct Retirement: Sendable {
  public let device: DeviceID
  /// The moment the word is about: as the service gives it, otherwise when the push was sent.
  public let moment: Date
  /// The service's own word, such as `Unregistered`.
  public let reason: String
  /// `refused`, `wrongEnvironment` or `optedOut`.
  public let type: InvalidationType
  /// The environment that the push was sent to.
  public let isSandbox: Bool

  public init(device: DeviceID, moment: Date, reason: String, type: InvalidationType = .refused, isSandbox: Bool) {
    self.device = device
    self.moment = moment
    self.reason = reason
    self.type = type
    self.isSandbox = isSandbox
  }

  /// What became of it.
  public enum Outcome: Sendable {
    case retired
    /// Registered again after the moment, or for the other environment: the word is about the past.
    case kept
    /// It was invalid before.
    case alreadyInvalid
  }
}
