/// Writes JSON from front to back into one buffer: the counterpart of `JSONReader`, for replies that leave by the thousand a
/// second.
public struct JSONWriter: Sendable {
  public private(set) var bytes: [UInt8] = []
  private var needsComma = false

  public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

  public mutating func open(_ bracket: Unicode.Scalar) {
    separate()
    bytes.append(UInt8(ascii: bracket))
    needsComma = false
  }

  public mutating func close(_ bracket: Unicode.Scalar) {
    bytes.append(UInt8(ascii: bracket))
    needsComma = true
  }

  /// A member's name that needs no escapes.
  public mutating func name(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func name(_ name: String) {
    value(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func value(_ text: String) {
    separate()
    JSONText.appendQuoted(text, to: &bytes)
    needsComma = true
  }

  public mutating func value(_ value: JSONValue) {
    separate()
    value.append(to: &bytes)
    needsComma = true
  }

  /// JSON as it is: a number, a word, or a document made elsewhere.
  public mutating func raw(_ json: String) {
    separate()
    bytes.append(contentsOf: json.utf8)
    needsComma = true
  }

  public mutating func member(_ name: StaticString, _ text: String?) {
    self.name(name)
    if let text { value(text) } else { raw("null") }
  }

  public mutating func member(_ name: StaticString, _ number: (some FixedWidthInteger)?) {
    self.name(name)
    raw(number.map { String($0) } ?? "null")
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }
}
