import Crypto
import CryptoExtras
import FoundationEssentials
import Wire

/// A Google service account's key file, as the Firebase console makes it under Project settings, Service accounts: JSON with
/// `type`, `project_id`, `client_email`, `private_key_id` and `private_key`, a PKCS#8 key of RSA.
struct ServiceAccountFile {
  let account: GoogleServiceAccount
  /// First 16 hex digits of the SHA-256 of the public key (its SubjectPublicKeyInfo in DER, as openssl exports it).
  let fingerprint: String

  /// What is stored of the file.
  var stored: Secret {
    let fields = Fields(
      type: "service_account", project_id: account.projectID, client_email: account.clientEmail,
      private_key_id: account.privateKeyID, private_key: account.privateKey)
    guard let json = try? JSONCoding.encode(fields) else { preconditionFailure("strings are always JSON") }
    return Secret(bytes: Array(json))
  }

  private struct Fields: Codable {
    var type: String?
    var project_id: String?
    var client_email: String?
    var private_key_id: String?
    var private_key: String?
  }

  private static let field = "serviceAccount"

  /// - Throws: `RegistryError.credential`, with a sentence that says what the file is instead.
  init(_ file: Secret) throws(RegistryError) {
    func refuse(_ finding: String) -> RegistryError {
      .credential(
        field: Self.field,
        sentence:
          "\(finding): upload the JSON file of a service account's private key, from the Firebase console under "
          + "Project settings, Service accounts.")
    }
    guard !file.bytes.allSatisfy({ $0 <= 0x20 }) else { throw refuse("This is empty") }
    if let other = ForeignFile(file.bytes), other != .googleServiceAccount {
      throw refuse(other.finding(insteadOf: "a service account key"))
    }
    guard file.bytes.count <= SigningKeyFile.maximumLength else { throw refuse("This is too long to be a key file") }
    guard let fields = try? JSONCoding.decode(Fields.self, from: file.bytes) else {
      throw refuse(Self.finding(notJSON: file))
    }
    func require(_ value: String?, _ name: String) throws(RegistryError) -> String {
      guard let value, !value.isEmpty, value.utf8.count <= 4096, !value.utf8.contains(0) else {
        throw refuse("The key file has no \(name)")
      }
      return value
    }
    let project = try require(fields.project_id, "project_id")
    // It becomes part of a path.
    guard project.utf8.allSatisfy({ Self.isOfProject($0) }), project.utf8.count <= 100 else {
      throw refuse("The key file's project_id is not of letters, digits, hyphens, dots and colons")
    }
    let email = try require(fields.client_email, "client_email")
    let keyID = try require(fields.private_key_id, "private_key_id")
    let pem = try require(fields.private_key, "private_key").replacing("\\n", with: "\n")
    guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem) else {
      throw refuse("The key file's private_key is not an RSA key in PEM, or is damaged")
    }
    account = GoogleServiceAccount(
      projectID: project, clientEmail: email, privateKeyID: keyID, privateKey: key.pkcs8PEMRepresentation)
    fingerprint = Array(SHA256.hash(data: key.publicKey.derRepresentation).prefix(8)).hexDigits
  }

  private static func isOfProject(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func finding(notJSON file: Secret) -> String {
    guard let text = String(validating: file.bytes, as: UTF8.self) else {
      return "This is a binary file and not a service account key"
    }
    let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }.prefix(512).lowercasedASCII
    if start.hasPrefix("<?xml") || start.hasPrefix("<plist") {
      return "This is a GoogleService-Info.plist or another XML file, not a service account key"
    }
    if start.hasPrefix("<") { return "This is a web page, perhaps a sign-in page saved in place of the file" }
    if start.hasPrefix("-----begin ") { return "This is a key alone, without the account that it belongs to" }
    if start.hasPrefix("aaaa") || start.hasPrefix("aiza") {
      return "This is a server key of the old FCM interface, which Google has switched off"
    }
    if start.hasPrefix("{") { return "This is a key file with a part that is no text" }
    if start.count <= 255, start.contains(".json"), !start.contains("\n") {
      return "This is the name of a file and not what the file holds"
    }
    return "This is not JSON, and so not a service account key"
  }
}
