package import Crypto
import FoundationEssentials
package import Wire

/// Encrypts a push for one browser (RFC 8291), as one record of `aes128gcm` (RFC 8188).
package enum WebPushEncryption {
  /// The size that a record claims, and the most bytes that push services take in a body.
  private static let recordSize = 4096
  /// What a record has beside the text: salt, size, key, delimiter and tag.
  static let overhead = 16 + 4 + 1 + 65 + 1 + 16
  /// Most bytes of a text.
  static let limit = recordSize - overhead

  /// The body of a push, with a key and a salt of its own.
  /// - Parameter text: at most 3,993 bytes.
  /// - Throws: if the subscription's key is no point of P-256.
  package static func body(_ text: [UInt8], for subscription: WebPushSubscription) throws -> [UInt8] {
    try body(text, for: subscription, P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey))
  }

  /// The body of a push to a subscription whose key was read before.
  static func body(
    _ text: [UInt8], for subscription: WebPushSubscription, _ receiver: P256.KeyAgreement.PublicKey
  ) throws -> [UInt8] {
    try body(text, for: subscription, receiver, key: newKey(), salt: randomSalt())
  }

  /// The body of a push with a key and a salt that no other push may have.
  package static func body(
    _ text: [UInt8], for subscription: WebPushSubscription, _ receiver: P256.KeyAgreement.PublicKey,
    key: P256.KeyAgreement.PrivateKey, salt: [UInt8]
  ) throws -> [UInt8] {
    precondition(text.count <= limit, "the text does not fit into a record")
    let publicKey = key.publicKey.x963Representation
    let secret = try key.sharedSecretFromKeyAgreement(with: receiver)
    let info = Array("WebPush: info\0".utf8) + subscription.publicKey + publicKey
    let input = secret.hkdfDerivedSymmetricKey(
      using: SHA256.self, salt: subscription.authSecret, sharedInfo: info, outputByteCount: 32)
    let extracted = HKDF<SHA256>.extract(inputKeyMaterial: input, salt: salt)
    let nonce = HKDF<SHA256>.expand(pseudoRandomKey: extracted, info: nonceInfo, outputByteCount: 12)
    let sealed = try AES.GCM.seal(
      // The delimiter of the last record.
      text + [2],
      using: HKDF<SHA256>.expand(pseudoRandomKey: extracted, info: keyInfo, outputByteCount: 16),
      nonce: nonce.withUnsafeBytes { try AES.GCM.Nonce(data: $0) })
    var body: [UInt8] = []
    body.reserveCapacity(text.count + overhead)
    body += salt
    body += [0, 0, UInt8(recordSize >> 8), UInt8(recordSize & 0xFF), UInt8(publicKey.count)]
    body += publicKey
    body += sealed.ciphertext
    body += sealed.tag
    return body
  }

  private static let keyInfo = Array("Content-Encoding: aes128gcm\0".utf8)
  private static let nonceInfo = Array("Content-Encoding: nonce\0".utf8)

  /// A key for one push, of random bytes.
  ///
  /// swift-crypto tests each key that it makes itself by a signature, which FIPS asks for. That doubles the time of an encryption, and
  /// this key signs nothing. It refuses numbers that are no key, one of 2³², so others are drawn.
  private static func newKey() -> P256.KeyAgreement.PrivateKey {
    while true {
      if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: SymmetricKey(size: .bits256)) { return key }
    }
  }

  package static func randomSalt() -> [UInt8] { SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) } }
}
