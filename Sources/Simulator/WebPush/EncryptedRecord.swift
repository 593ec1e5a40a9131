import Crypto
import FoundationEssentials

/// The body of a push: one record of `aes128gcm` (RFC 8188, section 2), whose key id is the sender's public key (RFC 8291).
struct EncryptedRecord {
  private let salt: ArraySlice<UInt8>
  private let senderKey: P256.KeyAgreement.PublicKey
  private let sealed: ArraySlice<UInt8>

  /// Most bytes of a body.
  static let limit = 4096
  private static let headLength = 16 + 4 + 1 + 65
  private static let tagLength = 16

  /// - Returns: nil unless the body is one record with a valid public key.
  init?(_ body: [UInt8]) {
    guard body.count > Self.headLength + Self.tagLength, body[20] == 65,
      let senderKey = try? P256.KeyAgreement.PublicKey(x963Representation: body[21..<Self.headLength])
    else { return nil }
    let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
    sealed = body[Self.headLength...]
    guard recordSize >= 18, sealed.count <= recordSize else { return nil }
    salt = body[..<16]
    self.senderKey = senderKey
  }

  /// The text, as a browser decrypts it (RFC 8291, section 3.4).
  /// - Parameters:
  ///   - key: the browser's.
  ///   - auth: the browser's secret, 16 bytes.
  /// - Returns: nil if it is sealed for another browser, or its padding is malformed.
  func opened(with key: P256.KeyAgreement.PrivateKey, auth: [UInt8]) -> [UInt8]? {
    guard let shared = try? key.sharedSecretFromKeyAgreement(with: senderKey) else { return nil }
    let info = Data("WebPush: info\0".utf8) + key.publicKey.x963Representation + senderKey.x963Representation
    let input = shared.hkdfDerivedSymmetricKey(using: SHA256.self, salt: auth, sharedInfo: info, outputByteCount: 32)
    func derived(_ purpose: String, _ count: Int) -> SymmetricKey {
      HKDF<SHA256>.deriveKey(
        inputKeyMaterial: input, salt: salt, info: Data("Content-Encoding: \(purpose)\0".utf8), outputByteCount: count)
    }
    guard let nonce = try? AES.GCM.Nonce(data: derived("nonce", 12).withUnsafeBytes { Data($0) }),
      let box = try? AES.GCM.SealedBox(
        nonce: nonce, ciphertext: sealed.dropLast(Self.tagLength), tag: sealed.suffix(Self.tagLength)),
      let padded = try? AES.GCM.open(box, using: derived("aes128gcm", 16)),
      let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2
    else { return nil }
    return Array(padded[..<end])
  }
}
