import Wire

/// JSON (RFC 8259) read a second time, in the plainest way, with what `JSONReader.Rules` have bounds for.
struct PlainJSON {
  /// Half a surrogate pair is U+FFFD in it, and a number that is too long null.
  private(set) var value = JSONValue.null
  private var depth = 0
  private var longestName = 0
  private var longestNumber = 0
  private var mostMarks = 0
  private var holdsHalfPair = false
  private var holdsNUL = false

  private let scalars: [Unicode.Scalar]
  private var place = 0

  private struct NotJSON: Error {}

  /// - Returns: nil for what is no JSON, or nested more than a hundred deep.
  init?(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    scalars = Array(text.unicodeScalars)
    if scalars.first == "\u{FEFF}" { place = 1 }
    guard let value = try? read(1) else { return nil }
    skipBlanks()
    guard place == scalars.count else { return nil }
    self.value = value
  }

  /// Whether it can be passed over.
  func isSkipped(by rules: JSONReader.Rules) -> Bool {
    depth <= rules.deepest && longestName <= rules.longestName && (rules.replacesHalfPairs || !holdsHalfPair)
  }

  func isRead(by rules: JSONReader.Rules) -> Bool {
    isSkipped(by: rules) && longestNumber <= JSONNumber.longest && (rules.allowsNUL || !holdsNUL)
      && (!rules.limitsMarks || mostMarks <= CombiningMarks.most)
  }

  private mutating func read(_ level: Int) throws(NotJSON) -> JSONValue {
    skipBlanks()
    switch next {
    case "{":
      var members: [UTF8String: JSONValue] = [:]
      try list(level, "}") { json throws(NotJSON) in
        json.skipBlanks()
        let name = try json.text()
        json.longestName = max(json.longestName, name.utf8.count)
        json.skipBlanks()
        try json.take(":")
        members[UTF8String(name)] = try json.read(level + 1)
      }
      return .object(members)
    case "[":
      var values: [JSONValue] = []
      try list(level, "]") { json throws(NotJSON) in values.append(try json.read(level + 1)) }
      return .array(values)
    case "\"":
      let text = try text()
      mostMarks = max(mostMarks, text.longestRowOfMarks)
      return .string(text)
    case "t": return try word("true", .bool(true))
    case "f": return try word("false", .bool(false))
    case "n": return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func list(
    _ level: Int, _ end: Unicode.Scalar, _ item: (inout PlainJSON) throws(NotJSON) -> Void
  ) throws(NotJSON) {
    guard level <= 100 else { throw NotJSON() }
    depth = max(depth, level)
    place += 1
    skipBlanks()
    if next == end { return place += 1 }
    while true {
      try item(&self)
      skipBlanks()
      if next == end { return place += 1 }
      try take(",")
    }
  }

  private mutating func text() throws(NotJSON) -> String {
    var units: [UInt16] = []
    try take("\"")
    while let scalar = next, scalar != "\"" {
      guard scalar >= " " else { throw NotJSON() }
      place += 1
      if scalar == "\\" { units.append(try escape()) } else { units += scalar.utf16 }
    }
    try take("\"")
    if units.contains(0) { holdsNUL = true }
    if String(validating: units, as: UTF16.self) == nil { holdsHalfPair = true }
    return String(decoding: units, as: UTF16.self)
  }

  private mutating func escape() throws(NotJSON) -> UInt16 {
    let plain: [Unicode.Scalar: UInt16] = [
      "\"": 0x22, "\\": 0x5C, "/": 0x2F, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9,
    ]
    guard let escape = next else { throw NotJSON() }
    place += 1
    if let unit = plain[escape] { return unit }
    let digits = scalars[place...].prefix(4).map { String($0) }
    guard escape == "u", digits.count == 4, digits.allSatisfy({ "0123456789abcdefABCDEF".contains($0) }),
      let unit = UInt16(digits.joined(), radix: 16)
    else { throw NotJSON() }
    place += 4
    return unit
  }

  private mutating func number() throws(NotJSON) -> JSONValue {
    let start = place
    if next == "-" { place += 1 }
    if next == "0" { place += 1 } else { try skipDigits() }
    if next == "." {
      place += 1
      try skipDigits()
    }
    if next == "e" || next == "E" {
      place += 1
      if next == "+" || next == "-" { place += 1 }
      try skipDigits()
    }
    longestNumber = max(longestNumber, place - start)
    return JSONNumber(scalars[start..<place].map { String($0) }.joined()).map(JSONValue.number) ?? .null
  }

  private mutating func skipDigits() throws(NotJSON) {
    let start = place
    while let digit = next, ("0"..."9").contains(digit) { place += 1 }
    guard place > start else { throw NotJSON() }
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(NotJSON) -> JSONValue {
    for letter in word.unicodeScalars { try take(letter) }
    return value
  }

  private var next: Unicode.Scalar? { place < scalars.count ? scalars[place] : nil }

  private mutating func take(_ expected: Unicode.Scalar) throws(NotJSON) {
    guard next == expected else { throw NotJSON() }
    place += 1
  }

  private mutating func skipBlanks() {
    while let blank = next, blank == " " || blank == "\t" || blank == "\n" || blank == "\r" { place += 1 }
  }
}
