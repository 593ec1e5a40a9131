import Wire
import Crypto
public import FoundationEssentials
import Registry

/// The signature of a phone's request: `Authorization: MAC kid="…" ts="…" mac="…"` (protocol notes, section 10.1).
public struct MACAuthorization: Sendable {
  /// The app's key.
  public let key: UUID
  /// HMAC-SHA1 of the request.
  public let signature: [UInt8]
  /// As it was sent: it is signed so.
  private let timestamp: String
  private let seconds: Int64

  /// Most seconds between the phone's clock and the hub's.
  package static let window: Int64 = 300
  /// Hosts that published clients sign, whatever host they talk to.
  package static let clientHosts = ["api.cmtelecom.com", "api.notifire.com"]

  /// Reads the header. Its pairs may stand in any order, with blanks or commas between them.
  /// - Returns: nil if it is no such header, or a pair is missing, repeated or wrong.
  public init?(_ header: String) {
    let scheme = header.prefix { $0 != " " && $0 != "\t" }
    guard scheme.lowercasedASCII == "mac", header.utf8.count <= 512 else { return nil }
    var pairs: [String: String] = [:]
    var rest = header.dropFirst(scheme.count)
    while true {
      rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
      guard !rest.isEmpty else { break }
      let name = rest.prefix { $0 != "=" }
      rest = rest.dropFirst(name.count)
      guard rest.hasPrefix("=\"") else { return nil }
      rest = rest.dropFirst(2)
      let value = rest.prefix { $0 != "\"" }
      rest = rest.dropFirst(value.count)
      guard rest.first == "\"", pairs.updateValue(String(value), forKey: name.lowercasedASCII) == nil else {
        return nil
      }
      rest = rest.dropFirst()
    }
    guard let key = pairs["kid"].flatMap({ UUID(uuidString: $0) }), let timestamp = pairs["ts"],
      timestamp.utf8.count <= 12, timestamp.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let seconds = Int64(timestamp), let signature = pairs["mac"].flatMap({ Data(base64Encoded: $0) }),
      signature.count == Insecure.SHA1.byteCount
    else { return nil }
    self.key = key
    self.signature = Array(signature)
    self.timestamp = timestamp
    self.seconds = seconds
  }

  /// What is signed of a request.
  public struct Signed: Sendable {
    let method: String
    /// Path and query as they were sent.
    let target: String
    /// The Host header.
    let host: String?

    public init(method: String, target: String, host: String?) {
      self.method = method
      self.target = target
      self.host = host
    }
  }

  /// Whether one of the secrets has signed the request, and its clock is right.
  ///
  /// Clients differ in line ends, in the host, and in how they decode the path; each way is tried. No way costs more or less time
  /// because of the signature.
  /// - Parameter publicHost: the host of the hub's public address.
  func verifies(_ request: Signed, by secrets: [Secret], publicHost: String?, now: Date) -> Bool {
    guard isTimely(now), request.target.utf8.count <= Self.longestTarget else { return false }
    let keys = secrets.map { SymmetricKey(data: $0.bytes) }
    return anyText(of: request, publicHost: publicHost) { text in
      keys.contains { Self.isCode(signature, of: text, by: $0) }
    }
  }

  /// Whether its clock is right.
  func isTimely(_ now: Date) -> Bool {
    (-Self.window...Self.window).contains(Int64(now.timeIntervalSince1970) - seconds)
  }

  /// Most bytes of a path and query: some seventy texts are made of a wrong signature's.
  private static let longestTarget = 4096

  /// Whether `code` is the whole HMAC-SHA1 of `text`, in a time that does not depend on where they differ.
  static func isCode(_ code: [UInt8], of text: [UInt8], by key: SymmetricKey) -> Bool {
    HMAC<Insecure.SHA1>.isValidAuthenticationCode(code, authenticating: text, using: key)
  }

  /// Whether one of the texts that a client may have signed is accepted. The usual ones come first.
  private func anyText(of request: Signed, publicHost: String?, isAccepted: ([UInt8]) -> Bool) -> Bool {
    var hosts: [String] = []
    func add(_ host: String) { if !hosts.contains(host) { hosts.append(host) } }
    if let host = request.host?.lowercasedASCII {
      add(String(host.prefix { $0 != ":" }))
      add(host)
    }
    for host in Self.clientHosts { add(host) }
    if let host = publicHost?.lowercasedASCII { add(host) }

    let decoded = Self.decoded(request.target)
    var targets: [[UInt8]] = []
    for target in [decoded, Self.utf8(ofLatin1: decoded), Array(request.target.utf8)] where !targets.contains(target) {
      targets.append(target)
    }
    let method = request.method.uppercased()
    var text: [UInt8] = []
    for (end, last) in [("\n", "\n"), ("\n", ""), ("\r\n", "\r\n"), ("\r\n", "")] {
      for host in hosts {
        for target in targets {
          text.removeAll(keepingCapacity: true)
          text += method.utf8
          text.append(UInt8(ascii: " "))
          text += target
          for part in [" HTTP/1.1", end, host, end, timestamp, last] { text += part.utf8 }
          if isAccepted(text) { return true }
        }
      }
    }
    return false
  }

  /// The bytes that percent-encoding stands for; a plus sign stays one.
  private static func decoded(_ text: String) -> [UInt8] {
    let raw = Array(text.utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(raw.count)
    var index = 0
    while index < raw.count {
      if raw[index] == UInt8(ascii: "%"), index + 2 < raw.count, let high = digit(raw[index + 1]),
        let low = digit(raw[index + 2])
      {
        bytes.append(high << 4 | low)
        index += 3
      } else {
        bytes.append(raw[index])
        index += 1
      }
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? { Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) } }

  /// What a client signs that takes each byte for a character.
  private static func utf8(ofLatin1 bytes: [UInt8]) -> [UInt8] {
    bytes.allSatisfy { $0 < 0x80 } ? bytes : bytes.flatMap { Array(String(UnicodeScalar($0)).utf8) }
  }
}

/// Verifies the signatures of phones' requests.
public struct MACVerifier: Sendable {
  private let apps: HybridAppCache
  private let publicHost: String?
  private let now: @Sendable () -> Date

  /// - Parameter publicURL: where phones reach the hub.
  public init(_ apps: HybridAppCache, publicURL: String, now: @escaping @Sendable () -> Date = { Date() }) {
    self.apps = apps
    publicHost = publicURL.split(separator: "/").dropFirst().first.map { String($0.prefix { $0 != ":" }) }
    self.now = now
  }

  /// The app that signed the request; nil if none did, whatever the reason.
  public func app(
    _ authorization: MACAuthorization, _ request: MACAuthorization.Signed
  ) async throws -> HybridApp? {
    guard authorization.isTimely(now()) else { return nil }
    return try await apps.entry(authorization.key).flatMap { try app($0, authorization, request) }
  }

  /// Checks the signature without the database, where the cache has the app. It is not verified again afterwards.
  /// - Returns: nil if it does not.
  public func cachedApp(_ authorization: MACAuthorization, _ request: MACAuthorization.Signed) throws -> HybridApp?? {
    try apps.cachedEntry(authorization.key).map { try app($0, authorization, request) }
  }

  private func app(
    _ entry: HybridAppCache.Entry, _ authorization: MACAuthorization, _ request: MACAuthorization.Signed
  ) throws -> HybridApp? {
    let secrets = try entry.secrets.get()
    return authorization.verifies(request, by: secrets, publicHost: publicHost, now: now()) ? entry.app : nil
  }
}
