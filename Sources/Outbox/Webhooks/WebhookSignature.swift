import Crypto
import FoundationEssentials
import Registry
import Wire

/// The headers of a post of events: a signature by Standard Webhooks 1.0 (https://www.standardwebhooks.com).
struct WebhookSignature {
  /// The secrets that sign, each 32 bytes.
  let secrets: [Secret]

  /// Bytes of a secret.
  static let secretLength = 32

  /// A new secret, of random bytes.
  static func newSecret() -> Secret {
    Secret(bytes: SymmetricKey(size: .init(bitCount: secretLength * 8)).withUnsafeBytes { Array($0) })
  }

  /// A secret as receivers' libraries take it.
  static func shown(_ secret: Secret) -> String { "whsec_" + Data(secret.bytes).base64EncodedString() }

  /// - Parameters:
  ///   - id: stays the same in every attempt, so that receivers can tell what they have taken already.
  ///   - moment: of the attempt. Receivers refuse old ones, so that nobody can post again what they have overheard.
  func headers(id: String, at moment: Date, _ body: [UInt8]) -> [(name: String, value: String)] {
    let timestamp = String(Int64(moment.timeIntervalSince1970.rounded(.down)))
    let signed = Array("\(id).\(timestamp).".utf8) + body
    let signatures = secrets.map { secret in
      let mac = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret.bytes))
      return "v1," + Data(mac).base64EncodedString()
    }
    return WebhookHeader.allCases.map { header in
      switch header {
      case .id: (header.rawValue, id)
      case .timestamp: (header.rawValue, timestamp)
      case .signature: (header.rawValue, signatures.joined(separator: " "))
      }
    }
  }
}
