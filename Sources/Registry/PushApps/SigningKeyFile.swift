import Crypto
import FoundationEssentials
import Wire

/// The signing key in Apple's AuthKey_….p8 file: a P-256 private key in PKCS#8, in PEM.
///
/// Line ends, blanks and a missing last line end do not matter, nor does a key in SEC 1 form, which openssl writes; what is
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
    func refuse(_ file: KeyFileDiagnosis) -> RegistryError { .credential(field: field, sentence: file.sentence) }
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
    let digest = SHA256.hash(data: key.publicKey.derRepresentation)
    fingerprint = Array(digest.prefix(8)).hexDigits
  }

  private static func signs(_ key: P256.Signing.PrivateKey) -> Bool {
    let text = Array("pushcart".utf8)
    guard let signature = try? key.signature(for: text) else { return false }
    return key.publicKey.isValidSignature(signature, for: text)
  }
}
