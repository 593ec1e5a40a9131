import Crypto
import CryptoExtras
import FoundationEssentials
import Wire

/// What signs in to Huawei's Push Kit: an app's Client ID and Client Secret, or the key file of a service account. Huawei's API
/// Console makes that file, which is JSON with `project_id`, `key_id`, `sub_account` and `private_key`, a PKCS#8 key of RSA.
///
/// Both are stored as one kind of credential, so that the one takes the place of the other.
struct HuaweiAccountFile {
  let account: HuaweiAccount
  /// First 16 hex digits of a SHA-256: of the public key (its SubjectPublicKeyInfo in DER), or of client id and secret.
  let fingerprint: String

  private struct Fields: Codable {
    var client_id: String?
    var client_secret: String?
    var project_id: String?
    var sub_account: String?
    var key_id: String?
    var private_key: String?
  }

  /// What is stored of it.
  var stored: Secret {
    let fields =
      switch account {
      case .client(let id, let secret): Fields(client_id: id, client_secret: secret)
      case .serviceAccount(let account):
        Fields(
          project_id: account.projectID, sub_account: account.subAccount, key_id: account.keyID,
          private_key: account.privateKey)
      }
    guard let json = try? JSONCoding.encode(fields) else { preconditionFailure("strings are always JSON") }
    return Secret(bytes: Array(json))
  }

  /// Reads what `stored` wrote.
  init(stored: Secret) throws(RegistryError) {
    if let fields = try? JSONCoding.decode(Fields.self, from: stored.bytes), let id = fields.client_id,
      let secret = fields.client_secret
    {
      try self.init(clientID: id, secret: Secret(secret))
    } else {
      try self.init(serviceAccount: stored)
    }
  }

  /// - Parameter secret: blanks and line ends around it do not matter.
  /// - Throws: `RegistryError.invalid` for an id that is none, `.credential` for a file that is no secret.
  init(clientID: String, secret: Secret) throws(RegistryError) {
    let rule = TextRule("clientId", maximum: 64)
    let id = try rule.require(String(clientID.filter { !$0.isWhitespace }))
    // It becomes part of a path.
    guard id.utf8.allSatisfy(Self.isPlain) else {
      throw rule.refuse("holds a character other than letters, digits, hyphens and underscores")
    }
    let text = try ClientSecret.text(
      secret, advice: "give the Client Secret alone, from AppGallery Connect under Project settings, App information.")
    account = .client(id: id, secret: text)
    fingerprint = Self.digits(SHA256.hash(data: Data("\(id)\n\(text)".utf8)))
  }

  /// - Throws: `RegistryError.credential`, with a sentence that says what the file is instead.
  init(serviceAccount file: Secret) throws(RegistryError) {
    func refuse(_ finding: String) -> RegistryError {
      .credential(
        field: "serviceAccount",
        sentence:
          "\(finding): upload the JSON file of a service account's key, from Huawei's API Console under Credentials, or give "
          + "clientId and clientSecret.")
    }
    guard !file.bytes.allSatisfy({ $0 <= 0x20 }) else { throw refuse("This is empty") }
    if let other = ForeignFile(file.bytes), other != .huaweiServiceAccount {
      throw refuse(other.finding(insteadOf: "a service account key"))
    }
    guard file.bytes.count <= SigningKeyFile.maximumLength else { throw refuse("This is too long to be a key file") }
    guard let fields = try? JSONCoding.decode(Fields.self, from: file.bytes) else {
      throw refuse("This is not the JSON of a key file")
    }
    func require(_ value: String?, _ name: String) throws(RegistryError) -> String {
      guard let value, !value.isEmpty, value.utf8.count <= 4096, !value.utf8.contains(0) else {
        throw refuse("The key file has no \(name)")
      }
      return value
    }
    let project = try require(fields.project_id, "project_id")
    // It becomes part of a path.
    guard project.utf8.allSatisfy(Self.isPlain), project.utf8.count <= 100 else {
      throw refuse("The key file's project_id is not of letters, digits, hyphens and underscores")
    }
    let subAccount = try require(fields.sub_account, "sub_account")
    let keyID = try require(fields.key_id, "key_id")
    let pem = try require(fields.private_key, "private_key").replacing("\\n", with: "\n")
    guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem) else {
      throw refuse("The key file's private_key is not an RSA key in PEM, or is damaged")
    }
    account = .serviceAccount(
      HuaweiServiceAccount(
        projectID: project, subAccount: subAccount, keyID: keyID, privateKey: key.pkcs8PEMRepresentation))
    fingerprint = Self.digits(SHA256.hash(data: key.publicKey.derRepresentation))
  }

  private static func digits(_ digest: SHA256.Digest) -> String { Array(digest.prefix(8)).hexDigits }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
