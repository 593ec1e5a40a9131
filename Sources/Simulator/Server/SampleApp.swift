import Crypto
public import Wire

/// An app of a private hub, whose simulated service knows its account.
public struct SampleApp: Sendable {
  /// What the platform adds to the app id.
  var suffix = ""
  public let type: AppType
  public let credentials: [CredentialField: String]
  /// Every so many of the sample people have a device, from that one on.
  public internal(set) var every = 1
  public internal(set) var from = 0
  /// The device of a person, given the app's VAPID key if it has one; nil for people whose devices are made otherwise.
  public internal(set) var device: @Sendable (_ person: Int, _ vapidKey: String) -> PushDevicesBody.DeviceInfo? = {
    _, _ in nil
  }

  public static let name = "Sample shop"
  public static let appID = "com.example.shop"
  public var appID: String { Self.appID + suffix }

  /// A device of that platform.
  static func device(
    _ type: AppType, token: String, manufacturer: String, models: [String], person: Int, osVersion: String? = nil
  ) -> PushDevicesBody.DeviceInfo {
    var device = PushDevicesBody.DeviceInfo(deviceToken: token, appType: type)
    device.manufacturer = manufacturer
    device.model = models[person % models.count]
    device.osVersion = osVersion
    return device
  }

  /// 64 hex digits, as in an APNs token, the same at every start. One phone has lost the app: the Simulator answers its prefix with 410.
  public static func token(_ kind: String, _ number: Int) -> String {
    let digits = Array(SHA256.hash(data: Array("sample \(kind) \(number)".utf8))).hexDigits
    return (number == 17 ? "fade0410" : "ab0c0de5") + digits.dropFirst(8)
  }
}

/// The text of a file, which is made at the first start.
public typealias KeptFile = (_ file: String, _ make: () throws -> String) throws -> String
