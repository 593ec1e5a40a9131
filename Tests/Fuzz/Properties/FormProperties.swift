import Wire

/// `FormPairs` read what is decoded in the plainest way, and read it again when it is encoded.
enum FormProperties {
  static let samples: [[UInt8]] = [
    "verb=NotifyTextMessage&AppId=com.acme.phone&Selector=a&Message=Hi+there%21&DeviceToken=%2B%2b/==",
    "selector=+4930123456&pushToken=q%2Fw&pushappid_other=com.acme&password=%C3%A9&&=&x",
    "MessageSid=SM1&MessageStatus=undelivered&ErrorCode=21610&To=%2B31612345678&Body=%F0%9F%98%80",
    "ProductToken=t&body=Hello+W%C3%B6rld%2B&to=0031612345678&from=\u{E4}&\u{301}=\u{301}&+\u{301}",
    "\(String(repeating: "n", count: 128))=\(String(repeating: "%CC%81", count: 30))",
    "\(String(repeating: "%6E", count: 129))=1&a=\(String(repeating: "\u{301}", count: 31))",
  ].map { Array($0.utf8) }

  private typealias Pair = (name: String, value: String)

  static func check(_ bytes: [UInt8]) throws(BrokenProperty) -> String {
    let lenient = FormPairs.readLeniently(bytes)
    try require(lenient.allSatisfy(isModest), "A pair that is too large is not passed over")
    try require(areSame(lenient, FormPairs.readLeniently(encoded(lenient))), "A form is not read as it was encoded")
    let whole = decoded(bytes)
    if let known = whole ?? decoded(withStraysEscaped(bytes)) {
      try require(areSame(lenient, known.filter(isModest)), "A form is not read as it is decoded plainly")
    }
    let known = whole.flatMap { $0.contains { $0.name.utf8.contains(0) || $0.value.utf8.contains(0) } ? nil : $0 }
    let read = Result { () throws(FormPairs.Problem) in try FormPairs.read(bytes) }
    switch read {
    case .success(let pairs):
      guard let known else { throw BrokenProperty(description: "What is no form is read") }
      try require(areSame(pairs, known) && pairs.allSatisfy(isModest), "A form is not read as it is decoded plainly")
      try require(areSame(pairs, lenient), "A form that can be read strictly is read in two ways")
      let again = try? FormPairs.read(encoded(pairs))
      try require(again.map { areSame(pairs, $0) } == true, "A form is refused as it was encoded")
      return "read"
    case .failure(.malformed):
      try require(known == nil, "A form is refused as malformed")
      return "read leniently"
    case .failure(.excessive):
      try require(known?.allSatisfy(isModest) != true, "A form is refused as excessive")
      return "excessive"
    }
  }

  private static func isModest(_ pair: Pair) -> Bool {
    pair.name.utf8.count <= UTF8String.longestName && pair.value.longestRowOfMarks <= CombiningMarks.most
  }

  private static func areSame(_ some: [Pair], _ others: [Pair]) -> Bool {
    some.elementsEqual(others) { $0.name.hasSameBytes(as: $1.name) && $0.value.hasSameBytes(as: $1.value) }
  }

  private static func encoded(_ pairs: [Pair]) -> [UInt8] {
    var form: [UInt8] = []
    func append(_ text: String, _ end: UInt8) {
      for byte in text.utf8 {
        switch byte {
        case 0x20: form.append(0x2B)
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: form.append(byte)
        default: form += [0x25, UInt8(hexDigit: byte >> 4), UInt8(hexDigit: byte & 15)]
        }
      }
      form.append(end)
    }
    for (name, value) in pairs {
      append(name, 0x3D)
      append(value, 0x26)
    }
    return form
  }

  /// The pairs, decoded in the plainest way; nil for what is not percent-encoded UTF-8.
  private static func decoded(_ bytes: [UInt8]) -> [Pair]? {
    guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
    var pairs: [Pair] = []
    for pair in bytes.split(separator: 0x26) {
      let sides = pair.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false).map(decodedSide)
      guard let name = sides[0], let value = sides.count == 2 ? sides[1] : "" else { return nil }
      pairs.append((name, value))
    }
    return pairs
  }

  private static func decodedSide(_ side: ArraySlice<UInt8>) -> String? {
    let parts = side.map { $0 == 0x2B ? 0x20 : $0 }.split(separator: 0x25, omittingEmptySubsequences: false)
    var bytes = Array(parts[0])
    for part in parts.dropFirst() {
      guard beginsWithDigits(part), let code = UInt8(String(decoding: part.prefix(2), as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes += [code] + part.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func beginsWithDigits(_ bytes: ArraySlice<UInt8>) -> Bool {
    let digits = bytes.prefix(2)
    return digits.count == 2 && digits.allSatisfy("0123456789abcdefABCDEF".utf8.contains)
  }

  /// With an escape in the place of each percent sign that begins none.
  private static func withStraysEscaped(_ bytes: [UInt8]) -> [UInt8] {
    var form: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      form.append(byte)
      if byte == 0x25, !beginsWithDigits(bytes[(index + 1)...]) { form += [0x32, 0x35] }
    }
    return form
  }
}
