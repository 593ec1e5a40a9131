extension [UInt8] {
  /// Lower-case hexadecimal digits, two a byte.
  public var hexDigits: String {
    String(decoding: flatMap { [UInt8(hexDigit: $0 >> 4), UInt8(hexDigit: $0 & 15)] }, as: UTF8.self)
  }
}

extension UInt8 {
  /// The ASCII digit of a value from 0 to 15.
  init(hexDigit value: UInt8) {
    self = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
