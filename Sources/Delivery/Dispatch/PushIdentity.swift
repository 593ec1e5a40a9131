import Crypto
import FoundationEssentials
import Wire

/// Names a push towards a push service, from its place in the ledger alone.
enum PushIdentity {
  /// The header `apns-id`: the same for every attempt, so that Apple's logs and the ledger can be laid side by side. SHA-256
  /// of the place, in the form of a UUID of version 8 (RFC 9562, section 5.8: of the maker's own design).
  static func id(_ key: SendoutKey, _ device: DeviceID) -> UUID {
    var hash = SHA256()
    hash.update(data: Array("pushcart push".utf8))
    for number in [key.customer.rawValue, key.sendout.rawValue, device.rawValue] {
      withUnsafeBytes(of: number.bigEndian) { hash.update(bufferPointer: $0) }
    }
    return hash.finalize().withUnsafeBytes { digest in
      var uuid = digest.loadUnaligned(as: uuid_t.self)
      uuid.6 = uuid.6 & 0x0F | 0x80
      uuid.8 = uuid.8 & 0x3F | 0x80
      return UUID(uuid: uuid)
    }
  }

  /// The header `apns-collapse-id`: a push that is sent again replaces the one already on the screen.
  static func collapseID(_ key: SendoutKey) -> String { "s\(key.sendout)" }
}
