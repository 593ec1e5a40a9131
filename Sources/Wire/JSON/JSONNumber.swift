/// A number of JSON as it was written, compared by its value.
///
/// No binary number of a fixed size holds what JSON may write: 19.90 is a price with its last zero, and 12345678901234567891 a name.
public struct JSONNumber: Sendable {
  /// Most characters of a number.
  public static let longest = 100

  /// As it was written, by the grammar of RFC 8259, section 6.
  public let text: String

  /// - Returns: nil if it is no number of JSON, or a longer one.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.longest, Self.isNumber(text.utf8) else { return nil }
    self.text = text
  }

  /// - Parameter text: of that grammar and length.
  init(checked text: String) { self.text = text }

  public init(_ integer: some BinaryInteger) { text = String(integer) }

  /// - Returns: nil for infinities and what is no number.
  public init?(_ number: Double) {
    guard number.isFinite else { return nil }
    text = String(number)
  }

  /// The number if it is written as a whole one, and fits.
  public var integer: Int64? { Int64(text) }

  /// The nearest number of that kind; infinite beyond it.
  public var double: Double { Double(text) ?? 0 }

  private static func isNumber(_ text: String.UTF8View) -> Bool {
    var rest = text[...]
    func take(_ bytes: StaticString) -> Bool {
      guard let byte = rest.first, bytes.withUTF8Buffer({ $0.contains(byte) }) else { return false }
      rest.removeFirst()
      return true
    }
    func digits() -> Bool {
      guard take("0123456789") else { return false }
      while take("0123456789") {}
      return true
    }
    _ = take("-")
    if !take("0") { guard digits() else { return false } }
    if take(".") { guard digits() else { return false } }
    if take("eE") {
      _ = take("+-")
      guard digits() else { return false }
    }
    return rest.isEmpty
  }
}

extension JSONNumber: Hashable, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, CustomStringConvertible {
  public init(integerLiteral value: Int64) { self.init(value) }
  public init(floatLiteral value: Double) { text = String(value) }
  public var description: String { text }

  /// What is the same for all ways to write a number: its digits without zeros at either end, and the power of ten of the last one.
  private struct Value: Hashable {
    var isNegative = false
    var digits: [UInt8] = []
    var exponent: Exponent = .fits(0)

    enum Exponent: Hashable {
      case fits(Int)
      /// As it is written: nobody's numbers are so large that it matters how.
      case isLong(String)
    }
  }

  private var value: Value {
    var value = Value()
    var rest = Array(text.utf8)[...]
    if rest.first == UInt8(ascii: "-") {
      value.isNegative = true
      rest = rest.dropFirst()
    }
    let mantissa = rest.prefix { $0 | 0x20 != UInt8(ascii: "e") }
    let written = rest.dropFirst(mantissa.count + 1)
    let point = mantissa.firstIndex(of: UInt8(ascii: "."))
    value.digits = mantissa.filter { $0 != UInt8(ascii: ".") }
    var shift = point.map { -(mantissa.endIndex - $0 - 1) } ?? 0
    while value.digits.last == UInt8(ascii: "0") {
      value.digits.removeLast()
      shift += 1
    }
    value.digits = Array(value.digits.drop { $0 == UInt8(ascii: "0") })
    guard !value.digits.isEmpty else { return Value() }
    let exponent = String(decoding: written, as: UTF8.self)
    if let number = written.isEmpty ? 0 : Int(exponent), number.magnitude < 1 << 60 {
      value.exponent = .fits(number + shift)
    } else {
      value.exponent = .isLong(exponent)
    }
    return value
  }

  public static func == (one: JSONNumber, other: JSONNumber) -> Bool {
    one.text.hasSameBytes(as: other.text) || one.value == other.value
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
