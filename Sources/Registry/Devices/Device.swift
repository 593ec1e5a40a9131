import Crypto
public import FoundationEssentials
public import Wire

/// An app on one phone.
public struct Device: Sendable, Equatable {
  public let id: DeviceID
  public let app: PushAppID
  /// The token exactly as it was last registered.
  public let token: String
  /// Whether the token is of APNs' development environment.
  public let isSandbox: Bool
  public let manufacturer: String?
  public let model: String?
  public let osVersion: String?
  public let country: String?
  /// A name of the IANA database.
  public let timeZone: String?
  /// A language tag.
  public let locale: String?
  /// When the token was last registered. A provider's word about an earlier moment does not retire it.
  public let registeredAt: Date
  /// Since when nothing is sent to it, in milliseconds since 1970; `nil` while it is valid.
  public let invalidatedAt: Int64?
  public let invalidationType: InvalidationType

  /// The reason of an invalidation by a contact's newer devices.
  package static let gaveWay = "too_many_devices"

  /// Most devices that are given of one contact; one with more is no person.
  public static let maximumOfContact = 1000
}

/// A push token, and what makes it the same as another.
public struct DeviceToken: Sendable, Hashable {
  /// Exactly as it was sent, since its form is the push service's affair. Of a subscription to Web Push, its text in one form.
  public let text: String
  /// Where pushes go, if the token says that: a channel URI of Windows, or a subscription to Web Push.
  let endpoint: PushEndpoint?
  /// APNs tokens are bytes that some apps write in upper and others in lower-case hexadecimal: these bytes. The SHA-256 of
  /// any other token, which is compared exactly.
  package let key: [UInt8]

  /// Longest token in bytes of UTF-8.
  public static let maximum = 4096

  /// - Parameter field: leads to the token in the request.
  /// - Throws: `RegistryError.invalid`.
  public init(_ text: String, type: AppType, field: String) throws(RegistryError) {
    guard !text.isEmpty else { throw .invalid(field: field, problem: "is empty") }
    guard text.utf8.count <= Self.maximum else {
      throw .invalid(field: field, problem: "is longer than \(Self.maximum) bytes")
    }
    if let problem = Self.problem(ofPrinted: text) { throw .invalid(field: field, problem: problem) }
    guard type != .web else {
      let subscription = try Self.subscription(text, field: field)
      self.text = subscription.text
      endpoint = subscription.endpoint
      key = Array(SHA256.hash(data: Array(subscription.text.utf8)))
      return
    }
    // No other push service's tokens look so.
    guard text.utf8.first != UInt8(ascii: "{") else {
      throw .invalid(field: field, problem: "is an object, which is a token of apps of the type web only (appType 8)")
    }
    if type == .sms {
      guard let number = PhoneNumber(text) else {
        throw .invalid(field: field, problem: "is no telephone number \(PhoneNumber.form)")
      }
      self.text = number.e164
      endpoint = nil
      key = Array(SHA256.hash(data: Array(number.e164.utf8)))
      return
    }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw .invalid(field: field, problem: "holds a blank or a control character")
    }
    self.text = text
    endpoint = type == .windows ? try Self.channel(text, field: field) : nil
    key = (type == .ios ? Self.bytes(hex: text) : nil) ?? Array(SHA256.hash(data: Array(text.utf8)))
  }

  /// What is wrong with the text that Apple's systems print for a token, in place of the token: `{length = 32, bytes = 0x740f… }` since
  /// iOS 13, which leaves out most of it, and `<740f4707 …>` before.
  private static func problem(ofPrinted text: String) -> String? {
    let text = text.utf8.drop { $0 <= 0x20 }
    guard text.starts(with: "{length".utf8) || text.first == UInt8(ascii: "<") else { return nil }
    return "is what iOS prints for a token, not the token. Send its bytes in hexadecimal, which is "
      + "deviceToken.map { String(format: \"%02x\", $0) }.joined() in Swift"
  }

  private static func channel(_ text: String, field: String) throws(RegistryError) -> PushEndpoint {
    do throws(JSONProblem) {
      return try PushEndpoint(url: text)
    } catch {
      throw .invalid(
        field: field,
        problem: "must be a channel URI of Windows, as in https://db5p.notify.windows.com/?token=…: it \(error.problem)"
      )
    }
  }

  private static func subscription(_ text: String, field: String) throws(RegistryError) -> WebPushSubscription {
    do throws(JSONProblem) {
      let subscription = try WebPushSubscription(json: text)
      guard (try? P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey)) != nil else {
        throw JSONProblem("must be a point of P-256", at: "keys.p256dh")
      }
      return subscription
    } catch {
      let problem =
        error.path.isEmpty ? "must be a browser's subscription as JSON, with endpoint and keys" : error.problem
      throw .invalid(field: error.path.isEmpty ? field : "\(field).\(error.path)", problem: problem)
    }
  }

  public static func == (left: DeviceToken, right: DeviceToken) -> Bool { left.key == right.key }
  public func hash(into hasher: inout Hasher) { hasher.combine(key) }

  /// The bytes that pairs of hexadecimal digits stand for; `nil` for any other text.
  static func bytes(hex text: String) -> [UInt8]? {
    guard text.utf8.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 2)
    var digits = text.utf8.makeIterator()
    while let high = digits.next() {
      guard let low = digits.next(), let high = high.hexDigitValue, let low = low.hexDigitValue else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}

/// What statements of other rooms may ask of a device of the customer `$1`. All arguments are SQL.
package enum DeviceCondition {
  /// Whether it is that contact's now.
  package static func isHeld(_ device: String, by contact: String) -> String {
    """
    EXISTS (SELECT FROM device
             WHERE device.customer_id = $1::bigint AND device.device_id = \(device) AND device.contact_id = \(contact))
    """
  }
}
