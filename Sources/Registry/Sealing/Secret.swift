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
