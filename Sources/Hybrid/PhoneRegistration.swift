import Crypto
import FoundationEssentials
import Postgres
public import Wire

/// How far a phone's number is verified.
public enum VerificationStatus: String, Sendable {
  case unverified = "Unverified"
  case waitingForPin = "WaitingForPin"
  case lastPinVerificationFailed = "LastPinVerificationFailed"
  case pinVerified = "PinVerified"
}

/// An install of an app of CM Hybrid Messaging.
public struct PhoneRegistration: Sendable {
  /// The hub's number of it.
  public let id: RegistrationID
  public let platform: PhonePlatform
  public let userAgent: String
  public let number: PhoneNumber?
  public let status: VerificationStatus
  let pushToken: String?
  let isSandbox: Bool
  let wantsNotifications: Bool
  let pinNonce: [UInt8]?
  let pinTries: Int16
  /// What it is registered with as a device of its number's contact; nil if it is none.
  let device: PhoneDevice?
  let createdAt: Date

  struct PhoneDevice: Sendable, Equatable {
    let number: PhoneNumber
    let token: String
  }

  /// What it should be registered with.
  var wantedDevice: PhoneDevice? {
    guard status == .pinVerified, wantsNotifications, let number, let pushToken else { return nil }
    return PhoneDevice(number: number, token: pushToken)
  }

  /// - Parameters:
  ///   - app: the app that it is of.
  ///   - phone: what opens it.
  public func reply(of app: HybridApp, to phone: PhoneID) -> DeviceRegistrationReply {
    DeviceRegistrationReply(
      deviceID: phone.text, msisdn: number?.international, platform: platform.rawValue,
      registrationStatus: status.rawValue,
      created: Timestamp(createdAt), registeredForPushNotification: device != nil, appKey: app.key.text,
      appName: app.name, userAgent: userAgent)
  }
}

/// A phone's request to make or change its registration.
public struct PhoneRequest: Sendable {
  let app: HybridApp
  /// The DeviceID header.
  let device: PhoneID?
  let platform: PhonePlatform
  let userAgent: String
  let signature: [UInt8]
  let bodyHash: [UInt8]
  let address: String

  /// Longest User-Agent that is kept, in characters.
  static let longestUserAgent = 500

  /// - Parameters:
  ///   - signature: of its MAC.
  ///   - body: its bytes, as they were sent.
  ///   - address: the client's.
  public init(
    of app: HybridApp, device: PhoneID?, platform: PhonePlatform, userAgent: String, signature: [UInt8],
    body: UnsafeRawBufferPointer, address: String
  ) {
    self.app = app
    self.device = device
    self.platform = platform
    self.userAgent = String(String.UnicodeScalarView(userAgent.unicodeScalars.prefix(Self.longestUserAgent)))
    self.signature = signature
    bodyHash = Array(SHA256.hash(data: Data(body)))
    self.address = address
  }
}

extension HybridPhoneReply {
  /// Reads what `PhoneRegistrationQueries.list` found.
  init(_ row: Row) throws {
    let (
      id, platform, userAgent, number, status, verifiedAt, hasToken, isDevice, tokenChangedAt, tokenChangedFrom,
      createdAt, changedAt
    ) = try row.decode(
      Int64.self, String.self, String.self, String?.self, String.self, Date?.self, Bool.self, Bool.self, Date?.self,
      String?.self, Date.self, Date.self)
    self.init(
      registrationId: RegistrationID(id), number: number.map { "00\($0)" }, status: status,
      verifiedAt: verifiedAt.map { Timestamp($0) }, platform: platform, userAgent: userAgent, hasPushToken: hasToken,
      getsPushes: isDevice, tokenChangedAt: tokenChangedAt.map { Timestamp($0) }, tokenChangedFrom: tokenChangedFrom,
      createdAt: Timestamp(createdAt), changedAt: Timestamp(changedAt))
  }
}

extension PhoneRegistration {
  init(_ row: Row) throws {
    let (
      id, platform, userAgent, number, status, token, isSandbox, notifications, nonce, tries, deviceNumber, deviceToken,
      createdAt
    ) = try row.decode(
      Int64.self, String.self, String.self, String?.self, String.self, String?.self, Bool.self, Bool.self, Bytes?.self,
      Int16.self, String?.self, String?.self, Date.self)
    self.init(
      id: RegistrationID(id), platform: PhonePlatform(rawValue: platform) ?? .android, userAgent: userAgent,
      number: number.flatMap { PhoneNumber($0) }, status: VerificationStatus(rawValue: status) ?? .unverified,
      pushToken: token, isSandbox: isSandbox, wantsNotifications: notifications, pinNonce: nonce?.bytes,
      pinTries: tries,
      device: deviceNumber.flatMap { PhoneNumber($0) }.flatMap { number in
        deviceToken.map { PhoneDevice(number: number, token: $0) }
      }, createdAt: createdAt)
  }
}
