import Crypto
import CryptoExtras
import FoundationEssentials
import Wire

/// An account at a push service as its owner gave it: ids and a secret, or the key file of a service account.
struct AccountFile {
  /// The values, by the names of fields or of the file's members.
  let members: [String: String]
  /// Who signs in, as the service's console names it.
  let account: String
  /// First 16 hex digits of a SHA-256: of the key file's public key (its SubjectPublicKeyInfo in DER, as openssl exports it), or of ids and
  /// secret.
  let fingerprint: String

  /// The account as it is stored.
  var stored: Secret {
    guard let json = try? JSONCoding.encode(members) else { preconditionFailure("strings are always JSON") }
    return Secret(bytes: Array(json))
  }

  /// - Parameter given: what was given of the fields.
  /// - Throws: `RegistryError.invalid` for an id that is none, `.credential` with a sentence that says what a file is instead.
  init(
    _ form: AccountForm, of service: PushService, _ fields: [CredentialField], _ given: [CredentialField: Secret]
  ) throws(RegistryError) {
    switch form.source {
    case .fields:
      var members: [String: String] = [:]
      for field in fields {
        let value = given[field] ?? Secret("")
        members[field.name] =
          field.isSecret ? try ClientSecret.text(value, advice: form.advice) : try field.checked(value.text)
      }
      let texts = fields.map { members[$0.name] ?? "" }
      self.init(members, form, SHA256.hash(data: Data(texts.joined(separator: "\n").utf8)))
    case .keyFile(let known):
      let file = given[fields[0]] ?? Secret("")
      try self.init(keyFile: file, in: fields[0], of: service, form, known)
    }
  }

  private init(
    keyFile file: Secret, in field: CredentialField, of service: PushService, _ form: AccountForm,
    _ known: [AccountForm.FileMember]
  ) throws(RegistryError) {
    func refuse(_ finding: String) -> RegistryError {
      .credential(field: field.name, sentence: "\(finding): \(form.advice)")
    }
    guard !file.bytes.allSatisfy({ $0 <= 0x20 }) else { throw refuse("This is empty") }
    if let other = MisplacedFile(file.bytes), !other.isKeyFile(of: service) {
      throw refuse(other.finding(insteadOf: "a service account key"))
    }
    guard file.bytes.count <= SigningKeyFile.maximumLength else { throw refuse("This is too long to be a key file") }
    guard let json = try? JSONValue(json: Array(file.bytes.drop { [0xEF, 0xBB, 0xBF].contains($0) })) else {
      throw refuse(Self.finding(notJSON: file))
    }
    var members: [String: String] = [:]
    for member in known + [.init(AccountForm.privateKey)] {
      let value: String
      switch json[member.name] {
      case .string(let text)?: value = text
      case nil, .null?: value = ""
      default: throw refuse("This is a key file with a part that is no text")
      }
      guard !value.isEmpty, value.utf8.count <= 4096, !value.utf8.contains(0) else {
        throw refuse("The key file has no \(member.name)")
      }
      if let (punctuation, words) = member.form {
        guard value.utf8.count <= 100, value.utf8.allSatisfy({ $0.isLetterOrDigit || punctuation.utf8.contains($0) })
        else {
          throw refuse("The key file's \(member.name) is not of \(words)")
        }
      }
      members[member.name] = value
    }
    let pem = (members[AccountForm.privateKey] ?? "").replacing("\\n", with: "\n")
    guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem) else {
      throw refuse("The key file's \(AccountForm.privateKey) is not an RSA key in PEM, or is damaged")
    }
    members[AccountForm.privateKey] = key.pkcs8PEMRepresentation
    self.init(members, form, SHA256.hash(data: key.publicKey.derRepresentation))
  }

  private init(_ members: [String: String], _ form: AccountForm, _ digest: SHA256.Digest) {
    self.members = members
    account = form.shown.map { members[$0] ?? "" }.joined(separator: "/")
    fingerprint = digest.fingerprint
  }

  private static func finding(notJSON file: Secret) -> String {
    guard let text = String(validating: file.bytes, as: UTF8.self) else {
      return "This is a binary file and not a service account key"
    }
    let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }.prefix(512).lowercasedASCII
    if start.hasPrefix("<?xml") || start.hasPrefix("<plist") {
      return "This is a GoogleService-Info.plist or another XML file, not a service account key"
    }
    if start.hasPrefix("<") { return KeyFileDiagnosis.webPage.finding }
    if start.hasPrefix("-----begin ") { return "This is a key alone, without the account that it belongs to" }
    if start.hasPrefix("aaaa") || start.hasPrefix("aiza") {
      return "This is a server key of the old FCM interface, which Google has switched off"
    }
    if start.count <= 255, start.contains(".json"), !start.contains("\n") {
      return KeyFileDiagnosis.fileName.finding
    }
    return "This is not JSON, and so not a service account key"
  }
}

extension SignIn {
  /// The credentials that were stored of it; nil if they are of another way to sign in.
  func open(_ form: AccountForm, _ stored: Secret) throws -> PushServiceCredentials? {
    let members = try JSONCoding.decode([String: String].self, from: stored.bytes)
    let names =
      switch form.source {
      case .fields: fields.map(\.name)
      case .keyFile(let known): known.map(\.name) + [AccountForm.privateKey]
      }
    return Set(names) == Set(members.keys) ? form.open(AccountForm.Members(members)) : nil
  }
}

extension CredentialField {
  /// The text as it is stored. Blanks in an id do not matter.
  /// - Throws: `RegistryError.invalid`.
  func checked(_ text: String) throws(RegistryError) -> String {
    switch form {
    case nil: return text
    case .id(let maximum, let punctuation, let prefix, let problem):
      let rule = TextRule(name, maximum: maximum)
      let id = try rule.require(String(text.filter { !$0.isWhitespace }))
      let rest = id.utf8.dropFirst(prefix.utf8.count)
      guard id.lowercasedASCII.hasPrefix(prefix), id.first != ".", id.last != ".",
        rest.allSatisfy({ $0.isLetterOrDigit || punctuation.utf8.contains($0) })
      else { throw rule.refuse(problem) }
      return id
    case .contact:
      // As RFC 8292 asks for.
      let rule = TextRule(name, maximum: 200)
      let contact = try rule.require(text)
      let isMail = contact.hasPrefix("mailto:") && contact.dropFirst(7).split(separator: "@").count == 2
      let isPage = contact.hasPrefix("https://") && contact.utf8.count > 8
      guard isMail || isPage, contact.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
        throw rule.refuse("must be an address of the form mailto:name@example.com or https://example.com")
      }
      return contact
    }
  }
}

extension UInt8 {
  /// Whether it is a letter or digit of ASCII.
  var isLetterOrDigit: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}

/// The secret of a client at a push service's sign-in, as people copy it out of a console.
enum ClientSecret {
  /// The secret without blanks and line ends around it.
  /// - Parameter advice: what to give instead, behind a colon.
  /// - Throws: `RegistryError.credential`, with a sentence that says what it is instead.
  static func text(_ secret: Secret, advice: String) throws(RegistryError) -> String {
    func refuse(_ finding: String) -> RegistryError {
      .credential(field: CredentialField.clientSecret.name, sentence: "\(finding): \(advice)")
    }
    if let other = MisplacedFile(secret.bytes) { throw refuse(other.finding(insteadOf: "a Client Secret")) }
    guard let whole = String(validating: secret.bytes, as: UTF8.self) else { throw refuse("This is a binary file") }
    let text = String(whole.trimmed)
    guard !text.isEmpty else { throw refuse("This is empty") }
    guard !text.hasPrefix("-----BEGIN ") else { throw refuse("This is a key in PEM form and not a Client Secret") }
    guard text.utf8.count <= 256 else { throw refuse("This is too long to be a Client Secret") }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw refuse("This is not one word") }
    return text
  }
}
