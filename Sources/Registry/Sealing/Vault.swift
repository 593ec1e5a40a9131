import Crypto
import FoundationEssentials

/// Seals what the database keeps but must not know, with AES-256-GCM under the hub's master keys.
public struct Vault: Sendable {
  private let current: SymmetricKey
  private let keys: MasterKeys

  public init(_ keys: MasterKeys) {
    self.keys = keys
    current = keys.current
  }

  /// The key that new values are sealed under.
  package var currentID: String { keys.currentID }

  /// Seals `secret` for one place.
  /// - Parameter context: names the place, as in `push_credential/1/7/apns_signing_key`. It is authenticated with the value, so
  ///   that a sealed value copied elsewhere does not open there.
  package func seal(_ secret: Secret, context: String) throws -> Sealed {
    let box = try AES.GCM.seal(secret.bytes, using: current, authenticating: Array(context.utf8))
    return Sealed(bytes: Array(box.nonce) + Array(box.ciphertext) + Array(box.tag), masterKeyID: currentID)
  }

  /// Opens what was sealed for this place.
  /// - Throws: `RegistryError.sealed` when the master key is not at hand, or the value is of another place or not whole.
  package func open(_ sealed: Sealed, context: String) throws(RegistryError) -> Secret {
    guard let key = keys.key(sealed.masterKeyID),
      let box = try? AES.GCM.SealedBox(combined: sealed.bytes),
      let bytes = try? AES.GCM.open(box, using: key, authenticating: Array(context.utf8))
    else { throw .sealed(what: context) }
    return Secret(bytes: Array(bytes))
  }
}

/// A sealed value as it is stored: 12 bytes of nonce, the ciphertext, 16 bytes of tag; and the id of the key it is sealed under.
package struct Sealed: Sendable, Equatable {
  package let bytes: [UInt8]
  package let masterKeyID: String

  package init(bytes: [UInt8], masterKeyID: String) {
    self.bytes = bytes
    self.masterKeyID = masterKeyID
  }
}

extension Sealed {
  /// Both in one column: the key's id, 8 characters, before the value.
  package var joined: [UInt8] { Array(masterKeyID.utf8) + bytes }

  package init(joined: [UInt8]) {
    self.init(bytes: Array(joined.dropFirst(8)), masterKeyID: String(decoding: joined.prefix(8), as: UTF8.self))
  }
}

/// Bytes that must not be seen: neither printing, dumping nor interpolating one shows them.
public struct Secret: Sendable, Equatable {
  package let bytes: [UInt8]

  public init(bytes: [UInt8]) { self.bytes = bytes }
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// The bytes as text; anything that is not UTF-8 is replaced.
  package var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "(secret)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
