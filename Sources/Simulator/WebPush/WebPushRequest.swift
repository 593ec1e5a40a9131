import FoundationEssentials

/// A received push.
struct WebPushRequest: Sendable {
  let body: [UInt8]
  /// The last part of the endpoint; empty for any other address.
  let token: String
  /// What the response calls it.
  let messageID = UUID().uuidString.lowercased()
  private let incoming: IncomingRequest

  static let path = "/wpush/v2/"
  /// Of a push, in seconds; Mozilla shortens longer ones.
  private static let longestTTL = 30 * 86_400

  init(_ incoming: IncomingRequest) {
    self.incoming = incoming
    body = incoming.body
    let path = incoming.path
    token = path.hasPrefix(Self.path) ? String(path.dropFirst(Self.path.count)) : ""
  }

  /// The first value of a header; names are in lower case.
  func header(_ name: String) -> String? { incoming.header(name) }

  /// How long the service keeps it, in seconds.
  var ttl: Int? { header("ttl").flatMap { Int($0) }.map { min($0, Self.longestTTL) } }

  /// Why it is refused before anybody looks at its sender.
  var addressRefusal: SimulatedWebPush.Refusal? {
    if token.isEmpty { return .noSuchEndpoint }
    return incoming.method == "POST" ? nil : .errno(0, status: 405, "An endpoint takes POST")
  }

  /// What is wrong with its body and headers, in the order of Mozilla's checks. Only the last is the browser's: it would drop the push.
  var formRefusal: SimulatedWebPush.Refusal? {
    if body.count > EncryptedRecord.limit { return .tooLarge }
    guard let ttl else { return .errno(111, status: 400, "Missing TTL value") }
    if !body.isEmpty {
      guard let encoding = header("content-encoding") else {
        return .badEncryption("Missing Content-Encoding header")
      }
      guard encoding == "aes128gcm" else { return .badEncryption("Unknown Content-Encoding header") }
      if header("crypto-key") != nil || header("encryption") != nil {
        return .badEncryption("Do not include Crypto-Key or Encryption: aes128gcm has both in the body")
      }
    }
    if ttl < 0 { return .errno(114, status: 400, "TTL must be greater than 0") }
    if let topic = header("topic"), !Self.isTopic(topic) {
      return .errno(113, status: 400, "Topic must be up to 32 characters of the URL and filename safe Base64 alphabet")
    }
    if let urgency = header("urgency"), !["very-low", "low", "normal", "high"].contains(urgency) {
      return .errno(110, status: 400, "Unknown Urgency")
    }
    return body.isEmpty || EncryptedRecord(body) != nil ? nil : .badEncryption("The body is no record of aes128gcm")
  }

  private static func isTopic(_ text: String) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
  }
}
