/// Reads JSON (RFC 8259) from front to back, field by field as the caller asks, without building a tree.
///
/// Made for bodies of a known shape that come by the thousand a second. What is asked for is decoded straight into its
/// place, and the rest is checked and skipped. An error names the path of its field. Nesting is limited, so no input
/// can exhaust the stack.
public struct JSONReader {
  /// What stands next.
  public enum Kind: Sendable { case object, array, string, number, boolean, null }

  /// What a document may hold beyond its grammar.
  public struct Rules: Sendable {
    /// Deepest nesting of arrays and objects.
    public var deepest = 32
    /// Most bytes of a member's name. Longer ones are refused before anything looks at them.
    public var longestName = UTF8String.longestName
    /// Whether half a surrogate pair becomes U+FFFD, as clients send them that cut texts by UTF-16; refused otherwise.
    public var replacesHalfPairs = false
    /// Whether texts, and names that are kept, may hold U+0000. PostgreSQL cannot hold it, so whoever reads has to refuse it then.
    public var allowsNUL = false

    /// Whether texts may have no more than `CombiningMarks.most` marks in a row.
    public var limitsMarks = true

    public static let usual = Rules()
    /// For softphones and gateways: their clients cut previews by units of UTF-16, and U+0000 spoils one push or message of many.
    public static let cutTexts: Rules = {
      var rules = Rules()
      (rules.replacesHalfPairs, rules.allowsNUL) = (true, true)
      return rules
    }()
    /// For documents that the hub wrote itself: what they hold was read before. Their names have become a little longer at times, and
    /// texts were put together of several.
    public static let own: Rules = {
      var rules = Rules()
      (rules.longestName, rules.limitsMarks) = (.max, false)
      return rules
    }()

    public init() {}
  }

  private let bytes: UnsafeBufferPointer<UInt8>
  let rules: Rules
  private var position = 0
  private var depth = 0

  private init(_ bytes: UnsafeBufferPointer<UInt8>, _ rules: Rules) {
    self.bytes = bytes
    self.rules = rules
  }

  /// Reads one document that fills `bytes`, whitespace around it and a byte order mark aside. The reader must not leave `body`.
  public static func read<Value>(
    _ bytes: UnsafeRawBufferPointer, rules: Rules = .usual,
    _ body: (inout JSONReader) throws(JSONProblem) -> Value
  ) throws(JSONProblem) -> Value {
    let bytes = bytes.assumingMemoryBound(to: UInt8.self)
    guard String(validating: bytes, as: UTF8.self) != nil else { throw .ofBody("is not valid UTF-8") }
    var reader = JSONReader(bytes, rules)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
    let value = try body(&reader)
    reader.skipWhitespace()
    guard reader.position == bytes.count else { throw JSONProblem.malformed(at: reader.position) }
    return value
  }

  /// Looks into a document that is known to be good, such as PostgreSQL's, without having to read it to its end. The reader
  /// must not leave `body`. Names have any length.
  public static func glance<Value>(
    _ bytes: UnsafeBufferPointer<UInt8>, _ body: (inout JSONReader) throws(JSONProblem) -> Value
  ) throws(JSONProblem) -> Value {
    var reader = JSONReader(bytes, .own)
    return try body(&reader)
  }

  /// What stands next, without reading it.
  public mutating func kind() throws(JSONProblem) -> Kind {
    skipWhitespace()
    switch current {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
    case UInt8(ascii: "n"): return .null
    default: throw malformed
    }
  }

  /// Reads an object; `field` must read, or skip, the value of each key it is given. Repeated keys come repeatedly.
  public mutating func object(
    _ field: (inout JSONReader, JSONKey) throws(JSONProblem) -> Void
  ) throws(JSONProblem) {
    guard try kind() == .object else { throw JSONProblem("must be an object") }
    try enter()
    skipWhitespace()
    if take(UInt8(ascii: "}")) { return depth -= 1 }
    repeat {
      let key = try key()
      do { try field(&self, key) } catch { throw error.within(key) }
      skipWhitespace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw malformed }
    depth -= 1
  }

  /// Enters an object up to the value of its first member of that name, which is read next. The rest of the object
  /// cannot be read after that.
  /// - Returns: `false` if there is no such member, or if it is no object that stands next.
  public mutating func find(_ name: String) throws(JSONProblem) -> Bool {
    guard try kind() == .object else { return false }
    try enter()
    skipWhitespace()
    if take(UInt8(ascii: "}")) { return false }
    repeat {
      if try key().equals(name) { return true }
      try skip()
      skipWhitespace()
    } while take(UInt8(ascii: ","))
    return false
  }

  /// Reads an array; `element` must read, or skip, one value at each call.
  public mutating func array(
    _ element: (inout JSONReader, Int) throws(JSONProblem) -> Void
  ) throws(JSONProblem) {
    guard try kind() == .array else { throw JSONProblem("must be an array") }
    try enter()
    skipWhitespace()
    if take(UInt8(ascii: "]")) { return depth -= 1 }
    var index = 0
    repeat {
      do { try element(&self, index) } catch { throw error.within(index) }
      index += 1
      skipWhitespace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw malformed }
    depth -= 1
  }

  /// Reads a string. PostgreSQL cannot hold U+0000, so no string may, unless the rules say so.
  public mutating func string() throws(JSONProblem) -> String {
    guard try kind() == .string else { throw JSONProblem("must be a string") }
    let string = try scanString()
    let text = try decode(string, allowsNull: rules.allowsNUL)
    guard !rules.limitsMarks || string.isASCII || CombiningMarks.areFew(in: text) else {
      throw JSONProblem(CombiningMarks.problem)
    }
    return text
  }

  private func decode(_ string: ScannedString, allowsNull: Bool) throws(JSONProblem) -> String {
    guard string.isEscaped else { return String(decoding: bytes[string.range], as: UTF8.self) }
    return try JSONEscapes.decode(
      bytes[string.range], allowsNull: allowsNull, replacesHalfPairs: rules.replacesHalfPairs)
  }

  /// Reads a number as it is written.
  public mutating func number() throws(JSONProblem) -> String {
    guard try kind() == .number else { throw JSONProblem("must be a number") }
    let range = try scanNumber()
    guard range.count <= JSONNumber.longest else {
      throw JSONProblem("must be a number of at most \(JSONNumber.longest) characters")
    }
    return String(decoding: bytes[range], as: UTF8.self)
  }

  public mutating func boolean() throws(JSONProblem) -> Bool {
    guard try kind() == .boolean else { throw JSONProblem("must be true or false") }
    let value = current == UInt8(ascii: "t")
    try word(value ? "true" : "false")
    return value
  }

  /// Reads `null` if it stands next.
  public mutating func null() throws(JSONProblem) -> Bool {
    guard try kind() == .null else { return false }
    try word("null")
    return true
  }

  /// Checks the next value and returns its JSON as it is written.
  public mutating func raw() throws(JSONProblem) -> String {
    skipWhitespace()
    let start = position
    try skip()
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard !rules.limitsMarks || CombiningMarks.areFew(in: text) else { throw JSONProblem(CombiningMarks.problem) }
    return text
  }

  /// Checks the next value and passes over it.
  public mutating func skip() throws(JSONProblem) {
    switch try kind() {
    case .object: try object { reader, _ throws(JSONProblem) in try reader.skip() }
    case .array: try array { reader, _ throws(JSONProblem) in try reader.skip() }
    case .string: _ = try decode(try scanString(), allowsNull: true)
    case .number: _ = try scanNumber()
    case .boolean: _ = try boolean()
    case .null: _ = try null()
    }
  }
}

extension JSONReader {
  private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }
  private var malformed: JSONProblem { .malformed(at: position) }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard current == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipWhitespace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  private mutating func enter() throws(JSONProblem) {
    depth += 1
    position += 1
    guard depth <= rules.deepest else { throw .ofBody("is nested more than \(rules.deepest) deep") }
  }

  private mutating func word(_ expected: StaticString) throws(JSONProblem) {
    for offset in 0..<expected.utf8CodeUnitCount {
      guard take(expected.utf8Start[offset]) else { throw malformed }
    }
  }

  /// A member's name and the colon behind it.
  private mutating func key() throws(JSONProblem) -> JSONKey {
    skipWhitespace()
    guard current == UInt8(ascii: "\"") else { throw malformed }
    let string = try scanString()
    skipWhitespace()
    guard take(UInt8(ascii: ":")) else { throw malformed }
    let key = JSONKey(
      raw: UnsafeBufferPointer(rebasing: bytes[string.range]),
      decoded: string.isEscaped ? try decode(string, allowsNull: true) : nil)
    guard key.length <= rules.longestName else {
      throw .ofBody("has a name of more than \(rules.longestName) bytes, before byte \(position)")
    }
    return key
  }

  /// What stands between quotation marks.
  private struct ScannedString {
    var range: Range<Int>
    /// Whether a backslash stands in it.
    var isEscaped = false
    /// Whether its text can have no other characters.
    var isASCII = true
  }

  private mutating func scanString() throws(JSONProblem) -> ScannedString {
    position += 1
    let start = position
    var string = ScannedString(range: start..<start)
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        string.range = start..<position
        position += 1
        return string
      case UInt8(ascii: "\\"):
        string.isEscaped = true
        string.isASCII = false
        position += 2
      case 0..<0x20: throw malformed
      case 0x80...:
        string.isASCII = false
        position += 1
      default: position += 1
      }
    }
    position = bytes.count
    throw malformed
  }

  private mutating func scanNumber() throws(JSONProblem) -> Range<Int> {
    let start = position
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try digits() }
    if take(UInt8(ascii: ".")) { try digits() }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    return start..<position
  }

  private mutating func digits() throws(JSONProblem) {
    let start = position
    while case UInt8(ascii: "0")...UInt8(ascii: "9") = current { position += 1 }
    guard position > start else { throw malformed }
  }
}

extension JSONProblem {
  static func malformed(at position: Int) -> JSONProblem { .ofBody("is not well-formed JSON at byte \(position)") }
}
