import Crypto
import FoundationEssentials
import Wire

/// What signs in to Windows' push service: the Package SID and secret of an app in the Microsoft Store, or an app registration at
/// Microsoft Entra with its tenant, client and secret.
///
/// Both are stored as one kind of credential, so that the one takes the place of the other.
struct WindowsAccountFields {
  let account: WindowsAccount

  private struct Stored: Codable {
    var package_sid: String?
    var tenant_id: String?
    var client_id: String?
    var client_secret: String
  }

  /// What is stored of it.
  var stored: Secret {
    let fields =
      switch account {
      case .package(let sid, let secret): Stored(package_sid: sid, client_secret: secret)
      case .entra(let tenantID, let clientID, let secret):
        Stored(tenant_id: tenantID, client_id: clientID, client_secret: secret)
      }
    guard let json = try? JSONCoding.encode(fields) else { preconditionFailure("strings are always JSON") }
    return Secret(bytes: Array(json))
  }

  /// First 16 hex digits of the SHA-256 of the ids and the secret.
  var fingerprint: String {
    let text =
      switch account {
      case .package(let sid, let secret): "\(sid)\n\(secret)"
      case .entra(let tenantID, let clientID, let secret): "\(tenantID)\n\(clientID)\n\(secret)"
      }
    return Array(SHA256.hash(data: Data(text.utf8)).prefix(8)).hexDigits
  }

  /// Reads what `stored` wrote.
  init(stored: Secret) throws {
    let fields = try JSONCoding.decode(Stored.self, from: stored.bytes)
    let secret = Secret(fields.client_secret)
    if let sid = fields.package_sid {
      try self.init(packageSID: sid, secret: secret)
    } else {
      try self.init(tenantID: fields.tenant_id ?? "", clientID: fields.client_id ?? "", secret: secret)
    }
  }

  /// - Throws: `RegistryError.invalid` for what is no Package SID, `.credential` for a file that is no secret.
  init(packageSID: String, secret: Secret) throws(RegistryError) {
    let rule = TextRule("packageSid", maximum: 200)
    let sid = try rule.require(String(packageSID.filter { !$0.isWhitespace }))
    guard sid.lowercasedASCII.hasPrefix("ms-app://s-1-15-2-"), sid.utf8.dropFirst(9).allSatisfy(Self.isPlain) else {
      throw rule.refuse("is no Package SID: Partner Center shows it as in ms-app://s-1-15-2-1234567890-1234567890")
    }
    account = .package(
      sid: sid,
      secret: try ClientSecret.text(
        secret, advice: "give the app's secret alone, as Partner Center shows it with the Package SID."))
  }

  /// - Throws: `RegistryError.invalid` for an id that is none, `.credential` for a file that is no secret.
  init(tenantID: String, clientID: String, secret: Secret) throws(RegistryError) {
    account = .entra(
      tenantID: try Self.id(tenantID, "tenantId", allowsDots: true), clientID: try Self.id(clientID, "clientId"),
      secret: try ClientSecret.text(
        secret, advice: "give the value of a client secret alone, from Microsoft Entra under Certificates & secrets."))
  }

  /// - Parameter allowsDots: a tenant can be named by its domain, too.
  private static func id(_ text: String, _ field: String, allowsDots: Bool = false) throws(RegistryError) -> String {
    let rule = TextRule(field, maximum: 100)
    let id = try rule.require(String(text.filter { !$0.isWhitespace }))
    // The tenant becomes part of a path.
    let isID =
      id.utf8.allSatisfy { isPlain($0) || allowsDots && $0 == UInt8(ascii: ".") } && !id.hasPrefix(".")
      && !id.hasSuffix(".")
    guard isID else {
      throw rule.refuse(
        "is not the \(allowsDots ? "Directory (tenant)" : "Application (client)") ID of Microsoft Entra")
    }
    return id
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
