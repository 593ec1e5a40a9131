import Crypto
import FoundationEssentials
import Wire

/// A browser's subscription at the simulated push service, as `PushSubscription.toJSON()` gives it to a page.
public struct BrowserSubscription: Sendable, Hashable {
  /// `https://localhost:8448/wpush/v2/…`, say.
  public let endpoint: String
  /// The browser's public key, 65 bytes in base64url.
  public let p256dh: String
  /// The browser's secret, 16 bytes in base64url.
  public let auth: String

  public init(endpoint: String, p256dh: String, auth: String) {
    self.endpoint = endpoint
    self.p256dh = p256dh
    self.auth = auth
  }

  /// `{"endpoint":"…","expirationTime":null,"keys":{"p256dh":"…","auth":"…"}}`.
  public var json: String {
    #"{"endpoint":"\#(endpoint)","expirationTime":null,"keys":{"p256dh":"\#(p256dh)","auth":"\#(auth)"}}"#
  }
}

/// What an endpoint's last part says: which browser it is of, and who may send to it.
///
/// As at Mozilla, it ends with a hash of the sender's public key. So the simulated service knows the endpoints of an earlier start.
struct EndpointID: Sendable, Hashable {
  /// The whole part: `{browser}.{hash}`.
  let text: String
  let browser: String
  /// SHA-256 of the sender's public key, in base64url.
  let keyHash: String

  init(browser: String, senderKey: [UInt8]) {
    self.browser = browser
    keyHash = Self.hash(senderKey)
    text = "\(browser).\(keyHash)"
  }

  /// - Returns: nil for what is no such part.
  init?(_ text: String) {
    guard let dot = text.lastIndex(of: ".") else { return nil }
    self.text = text
    browser = String(text[..<dot])
    keyHash = String(text[dot...].dropFirst())
    let isNamed = !browser.isEmpty && Base64URL.decode(Array(browser.utf8)) != nil
    guard isNamed, keyHash.utf8.count == 43, Base64URL.decode(Array(keyHash.utf8)) != nil else { return nil }
  }

  func admits(_ senderKey: [UInt8]) -> Bool { keyHash == Self.hash(senderKey) }

  private static func hash(_ key: [UInt8]) -> String { Base64URL.text(Array(SHA256.hash(data: key))) }
}

/// The secrets of a sample browser. They follow from its name, so that a new start of the Simulator has them too.
struct SampleBrowser: Sendable {
  let key: P256.KeyAgreement.PrivateKey
  /// 16 bytes.
  let auth: [UInt8]

  init(_ name: String) {
    func bytes(_ purpose: String, _ count: Int) -> [UInt8] {
      HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: Data(name.utf8)), info: Data("sample browser, \(purpose)".utf8),
        outputByteCount: count
      ).withUnsafeBytes { Array($0) }
    }
    // About one of 2^32 byte strings is no private key.
    var attempt = 0
    var key: P256.KeyAgreement.PrivateKey?
    while key == nil {
      key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes("key \(attempt)", 32))
      attempt += 1
    }
    self.key = key ?? P256.KeyAgreement.PrivateKey()
    auth = bytes("auth", 16)
  }
}
