/// The name of a member, compared where it stands; good only while its reader's bytes are.
public struct JSONKey: CustomStringConvertible {
  let raw: UnsafeBufferPointer<UInt8>
  let decoded: String?

  public var description: String { decoded ?? String(decoding: raw, as: UTF8.self) }

  /// Lets `switch key { case "originalId": … }` compare bytes.
  public static func ~= (name: StaticString, key: JSONKey) -> Bool {
    if let decoded = key.decoded { return decoded == name.description }
    guard name.utf8CodeUnitCount == key.raw.count else { return false }
    for offset in 0..<key.raw.count where name.utf8Start[offset] != key.raw[offset] { return false }
    return true
  }

  /// Whether this is the name, whatever escapes it is written with.
  func equals(_ name: String) -> Bool { decoded.map { $0 == name } ?? raw.elementsEqual(name.utf8) }
}
