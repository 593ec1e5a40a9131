import Crypto
import FoundationEssentials
import Wire

/// The signing key in Apple's AuthKey_….p8 file: a P-256 private key in PKCS#8, in PEM.
///
/// Line ends, blanks and a missing last line end do not matter. The key may also be in SEC 1 form, which openssl writes. What is
/// kept is PKCS#8.
struct SigningKeyFile {
  /// The key as PKCS#8 PEM.
  let key: Secret
  /// First 16 hex digits of the SHA-256 of the public key (its SubjectPublicKeyInfo in DER, as openssl exports it).
  let fingerprint: String

  /// The object identifier of P-256, 1.2.840.10045.3.1.7. It is looked for here because a key of another curve of
  /// the same length would be read as well.
  private static let curve: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

  /// No such file is nearly as long.
  static let maximumLength = 16_384

  /// - Throws: `RegistryError.credential`, with a sentence that says what the file is instead.
  init(_ file: Secret, field: String = "signingKey") throws(RegistryError) {
    func refuse(_ finding: String) -> RegistryError {
      .credential(
        field: field,
        sentence:
          "\(finding): upload the AuthKey_….p8 file as it was downloaded from Apple's developer account, under Keys.")
    }
    func refuse(_ file: KeyFileDiagnosis) -> RegistryError { refuse(file.finding) }
    if let other = MisplacedFile(file.bytes) { throw refuse(other.finding(insteadOf: "a signing key")) }
    guard file.bytes.count <= Self.maximumLength else { throw refuse(.tooLong) }
    let der: [UInt8]
    switch PEMFile(file.bytes) {
    case .wrong(let wrong): throw refuse(wrong)
    case .privateKey(let bytes): der = bytes
    }
    guard der.contains(Self.curve), let key = try? P256.Signing.PrivateKey(derRepresentation: der) else {
      throw refuse(KeyFileDiagnosis(privateKey: der))
    }
    guard Self.signs(key) else { throw refuse(.damaged) }
    self.key = Secret(key.pemRepresentation)
    fingerprint = SHA256.hash(data: key.publicKey.derRepresentation).fingerprint
  }

  private static func signs(_ key: P256.Signing.PrivateKey) -> Bool {
    let text = Array("pushcart".utf8)
    guard let signature = try? key.signature(for: text) else { return false }
    return key.publicKey.isValidSignature(signature, for: text)
  }
}

/// What an uploaded file turns out to be: a private key in PEM, whose kind is yet to be seen, or something else.
enum PEMFile: Equatable {
  /// The DER inside.
  case privateKey([UInt8])
  case wrong(KeyFileDiagnosis)

  init(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
      self = .wrong(Self.binary(bytes))
      return
    }
    // A key that travelled through an environment variable or a form may have `\n` written out.
    let file = text.replacing("\\n", with: "\n").drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    let blocks = Self.blocks(file).filter { $0.label != "EC PARAMETERS" }
    switch blocks.count {
    case 0: self = .wrong(Self.unarmoured(file))
    case 1: self = Self.read(blocks[0])
    default: self = .wrong(.severalThings)
    }
  }

  private struct Block {
    let label: String
    /// `nil` when its last line is missing.
    let content: Substring?
  }

  private static func blocks(_ file: Substring) -> [Block] {
    var blocks: [Block] = []
    var rest = file
    while let begin = rest.firstRange(of: "-----BEGIN ") {
      let head = rest[begin.upperBound...]
      guard let labelEnd = head.firstRange(of: "-----") else { break }
      let label = String(head[..<labelEnd.lowerBound])
      let body = head[labelEnd.upperBound...]
      guard let end = body.firstRange(of: "-----END \(label)-----") else {
        return blocks + [Block(label: label, content: nil)]
      }
      blocks.append(Block(label: label, content: body[..<end.lowerBound]))
      rest = body[end.upperBound...]
    }
    return blocks
  }

  private static func read(_ block: Block) -> PEMFile {
    switch block.label {
    case "PRIVATE KEY", "EC PRIVATE KEY":
      guard let content = block.content else { return .wrong(.armourMissing) }
      guard !content.contains("ENCRYPTED") else { return .wrong(.lockedKey) }
      let der = Data(base64Encoded: String(content.filter { !$0.isWhitespace }))
      return der.map { .privateKey(Array($0)) } ?? .wrong(.damaged)
    case "ENCRYPTED PRIVATE KEY": return .wrong(.lockedKey)
    case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE": return .wrong(.certificate)
    case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": return .wrong(.certificateRequest)
    case "PKCS7", "CMS": return .wrong(.certificates)
    case "PUBLIC KEY", "RSA PUBLIC KEY", "EC PUBLIC KEY": return .wrong(.publicKey)
    case "RSA PRIVATE KEY": return .wrong(.rsaKey)
    case "OPENSSH PRIVATE KEY", "SSH2 PUBLIC KEY": return .wrong(.sshKey)
    default: return .wrong(.notPEM)
    }
  }

  private static func unarmoured(_ file: Substring) -> KeyFileDiagnosis {
    let start = file.prefix(512).lowercasedASCII
    if file.allSatisfy(\.isWhitespace) { return .empty }
    if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") { return .webPage }
    if start.hasPrefix("<") { return start.contains("<html") ? .webPage : .xml }
    if start.hasPrefix("ssh-") || start.hasPrefix("ecdsa-") { return .sshKey }
    if file.contains("-----END ") { return .armourMissing }
    if file.count <= 255, file.contains(".p8"), !file.contains("\n") { return .fileName }
    let packed = file.filter { !$0.isWhitespace }
    if packed.count >= 100, Data(base64Encoded: String(packed)) != nil { return .armourMissing }
    return .notPEM
  }

  /// What comes first in the DER shows what it is.
  private static func binary(_ bytes: [UInt8]) -> KeyFileDiagnosis {
    guard let inside = bytes.contentsOfSequence else { return .notPEM }
    if inside.starts(with: [0x02, 0x01, 0x00]) || inside.starts(with: [0x02, 0x01, 0x01]) { return .binaryKey }
    return inside.first == 0x30 ? .certificate : .notPEM
  }
}

extension [UInt8] {
  /// What is in the SEQUENCE that DER begins with; nil if these bytes are no DER.
  var contentsOfSequence: ArraySlice<UInt8>? {
    guard count > 8, self[0] == 0x30 else { return nil }
    let lengthBytes = self[1] & 0x80 == 0 ? 0 : Int(self[1] & 0x7F)
    return dropFirst(2 + lengthBytes)
  }
}

/// What somebody may take for the signing key.
enum KeyFileDiagnosis: Equatable {
  case empty
  case tooLong
  case fileName
  case certificate
  case certificateRequest
  case certificates
  case publicKey
  case rsaKey
  case otherCurve(String)
  case lockedKey
  case sshKey
  case binaryKey
  case webPage
  case xml
  case severalThings
  case armourMissing
  case notPEM
  case damaged

  /// What it is, as the beginning of a sentence.
  var finding: String {
    switch self {
    case .empty: "This is empty"
    case .tooLong: "This is too long to be a signing key"
    case .fileName: "This is the name of a file and not what the file holds"
    case .certificate: "This is a certificate and not a signing key"
    case .certificateRequest: "This is a certificate signing request and not a signing key"
    case .certificates: "This is a bundle of certificates and not a signing key"
    case .publicKey: "This is a public key, and only the private key can sign"
    case .rsaKey: "This is an RSA private key, and APNs takes signatures of a P-256 key only"
    case .otherCurve(let curve):
      "This is a private key of the curve \(curve), and APNs takes signatures of a P-256 key only"
    case .lockedKey: "This is a private key locked with a password"
    case .sshKey: "This is an SSH key and not a signing key"
    case .binaryKey: "This is a private key in binary (DER) form"
    case .webPage: "This is a web page, perhaps a sign-in page saved in place of the file"
    case .xml: "This is an XML file and not a signing key"
    case .severalThings: "This holds more than one thing"
    case .armourMissing: "The line -----BEGIN PRIVATE KEY----- or its counterpart at the end is missing"
    case .notPEM: "This is not a signing key in PEM form"
    case .damaged: "This looks like a signing key but is damaged or cut off"
    }
  }
}

extension KeyFileDiagnosis {
  /// What kind of private key this is, given that it is none of P-256: by the object identifiers near its beginning.
  init(privateKey der: [UInt8]) {
    let head = der.prefix(64)
    let kinds: [(identifier: [UInt8], file: KeyFileDiagnosis)] = [
      ([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01], .rsaKey),  // 1.2.840.113549.1.1
      ([0x2B, 0x81, 0x04, 0x00, 0x22], .otherCurve("P-384")),  // 1.3.132.0.34
      ([0x2B, 0x81, 0x04, 0x00, 0x23], .otherCurve("P-521")),  // 1.3.132.0.35
      ([0x2B, 0x81, 0x04, 0x00, 0x0A], .otherCurve("secp256k1")),  // 1.3.132.0.10
      ([0x06, 0x03, 0x2B, 0x65, 0x70], .otherCurve("Ed25519")),  // 1.3.101.112
    ]
    // In SEC 1 form the curve's identifier follows the key, hence the search in all of it for curves.
    self =
      kinds.first { head.contains($0.identifier) }?.file
      ?? kinds.dropFirst().first { der.contains($0.identifier) }?.file ?? .damaged
  }
}
