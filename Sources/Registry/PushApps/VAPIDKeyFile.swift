import Crypto
import FoundationEssentials
import Wire

/// An app's key pair at the push services of browsers: a private key of P-256. It comes in PEM (PKCS#8 or SEC 1), or as its 32 bytes in
/// base64url, which the libraries for Web Push print.
struct VAPIDKeyFile {
  private let key: P256.Signing.PrivateKey

  /// Makes a new key pair.
  init() { key = P256.Signing.PrivateKey(compactRepresentable: false) }

  /// Reads a file of one's own, or what `stored` wrote. Blanks and line ends do not matter.
  /// - Throws: `RegistryError.credential`, with a sentence that says what the file is instead.
  init(_ file: Secret) throws(RegistryError) {
    func refuse(_ finding: String) -> RegistryError {
      .credential(
        field: "vapidPrivateKey",
        sentence: "\(finding): give a private key of P-256 in PEM, or its 32 bytes in base64url.")
    }
    if let other = MisplacedFile(file.bytes) { throw refuse(other.finding(insteadOf: "a private key of P-256")) }
    guard file.bytes.count <= SigningKeyFile.maximumLength else { throw refuse("This is too long to be a private key") }
    let digits = Base64URL.digits(ofBase64: file.bytes.filter { $0 > 0x20 && $0 != UInt8(ascii: "=") })
    guard !digits.isEmpty else { throw refuse("This is empty") }
    // A hyphen is a digit, too.
    if !digits.starts(with: "-----".utf8), let bytes = Base64URL.decode(digits) {
      guard bytes.count != 65 else { throw refuse("This is a public key") }
      guard bytes.count == 32, let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) else {
        throw refuse("This is not 32 bytes of a private key")
      }
      self.key = key
      return
    }
    guard let pem = String(validating: file.bytes, as: UTF8.self)?.replacing("\\n", with: "\n") else {
      throw refuse("This is a binary file")
    }
    guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
      throw refuse(
        pem.contains("PUBLIC KEY") ? "This is a public key" : "This is not a private key of P-256, or is damaged")
    }
    self.key = key
  }

  /// The private key as it is stored.
  var stored: Secret { Secret(Base64URL.text(Array(key.rawRepresentation))) }

  /// 65 bytes in base64url.
  var publicKey: String { Base64URL.text(Array(key.publicKey.x963Representation)) }

  /// First 16 hex digits of the SHA-256 of the public key (its SubjectPublicKeyInfo in DER).
  var fingerprint: String { SHA256.hash(data: key.publicKey.derRepresentation).fingerprint }

  /// - Parameter contact: of the app.
  func credentials(contact: String?) -> VAPIDKey {
    VAPIDKey(privateKey: key.rawRepresentation, publicKey: publicKey, contact: contact)
  }
}
