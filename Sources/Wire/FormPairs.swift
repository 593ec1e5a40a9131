/// Reads `application/x-www-form-urlencoded` as far as it can be read: what is no escape, or not UTF-8, is no fault. Pairs with a name of
/// more than `UTF8String.longestName` bytes, or too many combining marks, are passed over.
public enum FormPairs {
  /// Names and values in their order; the value is empty where there is no equals sign.
  public static func read(_ bytes: [UInt8]) -> [(name: String, value: String)] {
    bytes.split(separator: UInt8(ascii: "&")).compactMap { pair in
      let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let (name, value) = (decoded(sides[0]), sides.count == 2 ? decoded(sides[1]) : "")
      return name.utf8.count <= UTF8String.longestName && CombiningMarks.areFew(in: value) ? (name, value) : nil
    }
  }

  /// Percent signs and plus signs are read as forms have them.
  public static func decoded(_ part: ArraySlice<UInt8>) -> String {
    var bytes: [UInt8] = []
    var rest = part
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(code)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
