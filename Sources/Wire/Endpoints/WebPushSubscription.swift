/// A browser's subscription to Web Push, as `JSON.stringify(subscription)` gives it (W3C Push API): the device token of apps of the
/// type web.
public struct WebPushSubscription: Sendable, Hashable {
  /// Where pushes go: an https address that the browser's push service made.
  public let endpoint: PushEndpoint
  /// The browser's public key of P-256: 65 bytes, uncompressed. Whether they are a point of the curve is not checked here.
  public let publicKey: [UInt8]
  /// The secret that the browser shares with the sender: 16 bytes or more.
  public let authSecret: [UInt8]

  /// Most bytes of the JSON.
  public static let maximum = 4096

  /// Reads `{"endpoint":"https://…","keys":{"p256dh":"…","auth":"…"}}`. Other members are ignored. Keys may be in either alphabet
  /// of base64, with or without padding.
  /// - Throws: `JSONProblem` with the path of the member that is wrong.
  public init(json text: String) throws(JSONProblem) {
    var text = text
    guard text.utf8.count <= Self.maximum else { throw .ofBody("is longer than \(Self.maximum) bytes") }
    text.makeContiguousUTF8()
    let parts = try Self.parts(Array(text.utf8))
    guard let endpoint = parts.endpoint else { throw JSONProblem("is missing", at: "endpoint") }
    guard let publicKey = parts.publicKey else { throw JSONProblem("is missing", at: "keys.p256dh") }
    guard let authSecret = parts.authSecret else { throw JSONProblem("is missing", at: "keys.auth") }
    self.endpoint = endpoint
    self.publicKey = publicKey
    self.authSecret = authSecret
  }

  private struct Parts {
    var endpoint: PushEndpoint?
    var publicKey: [UInt8]?
    var authSecret: [UInt8]?
  }

  private static func parts(_ json: [UInt8]) throws(JSONProblem) -> Parts {
    var problem: JSONProblem?
    let parts = json.withUnsafeBytes { bytes -> Parts in
      do throws(JSONProblem) {
        return try JSONReader.read(bytes) { reader throws(JSONProblem) in
          var parts = Parts()
          try reader.object { reader, key throws(JSONProblem) in
            switch key {
            case "endpoint": parts.endpoint = try PushEndpoint(url: try reader.string())
            case "keys":
              try reader.object { reader, key throws(JSONProblem) in
                switch key {
                case "p256dh":
                  let key = try Self.decode(try reader.string())
                  guard key.count == 65, key[0] == 4 else {
                    throw JSONProblem("must be 65 bytes in base64url, an uncompressed point of P-256")
                  }
                  parts.publicKey = key
                case "auth":
                  let secret = try Self.decode(try reader.string())
                  guard secret.count >= 16 else { throw JSONProblem("must be at least 16 bytes in base64url") }
                  parts.authSecret = secret
                default: try reader.skip()
                }
              }
            default: try reader.skip()
            }
          }
          return parts
        }
      } catch {
        problem = error
        return Parts()
      }
    }
    if let problem { throw problem }
    return parts
  }

  private static func decode(_ text: String) throws(JSONProblem) -> [UInt8] {
    var digits = Array(text.utf8)
    while digits.last == UInt8(ascii: "=") { digits.removeLast() }
    for (index, digit) in digits.enumerated() {
      if digit == UInt8(ascii: "+") { digits[index] = UInt8(ascii: "-") }
      if digit == UInt8(ascii: "/") { digits[index] = UInt8(ascii: "_") }
    }
    guard digits.count % 4 != 1, let bytes = Base64URL.decode(digits) else { throw JSONProblem("must be base64url") }
    return bytes
  }

  /// The same subscription always has the same text: compact JSON of endpoint and keys, in base64url without padding.
  public var text: String {
    var writer = JSONWriter(capacity: 320)
    writer.open("{")
    writer.member("endpoint", endpoint.url)
    writer.name("keys")
    writer.open("{")
    writer.member("p256dh", Base64URL.text(publicKey))
    writer.member("auth", Base64URL.text(authSecret))
    writer.close("}")
    writer.close("}")
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
