/// Integers in 7-bit groups, the least significant first, the top bit set on all but the last (LEB128).
struct VariableLength {
  private var rest: ArraySlice<UInt8>

  init(bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  /// The next number; `nil` when there is none, or it is not positive or has more than 63 bits.
  mutating func next() -> Int64? {
    var number: Int64 = 0
    for shift in stride(from: Int64(0), through: 56, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      number |= Int64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return number > 0 ? number : nil }
    }
    return nil
  }

  static func append(_ number: Int64, to bytes: inout [UInt8]) {
    var rest = UInt64(bitPattern: number)
    while rest > 0x7F {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
