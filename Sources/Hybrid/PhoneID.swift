import Crypto
import FoundationEssentials

/// What phones call their DeviceID: 122 random bits, and all that opens a phone's registration.
///
/// Its phone alone has it. Tables have its hash, and everything else refers to the registration by its number.
public struct PhoneID: Sendable, Hashable {
  private let uuid: UUID

  /// Reads a GUID, in either case of its letters.
  public init?(_ text: String) {
    guard let uuid = UUID(uuidString: text) else { return nil }
    self.uuid = uuid
  }

  private init(_ uuid: UUID) { self.uuid = uuid }

  /// A new one.
  static func make() -> PhoneID {
    var bytes = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return PhoneID(UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }))
  }

  /// As replies to its phone have it.
  var text: String { uuid.text }

  /// SHA-256 of its 16 bytes. As they are random, a plain hash is enough.
  package var hash: [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array(SHA256.hash(data: $0)) } }
}

extension PhoneID: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Says nothing of it, since it is a secret.
  public var description: String { "PhoneID" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
