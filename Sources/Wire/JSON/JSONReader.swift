/// Reads JSON (RFC 8259) from front to back, field by field as the caller asks, without building a tree.
///
/// Made for bodies of a known shape that come by the thousand a second. What is asked for is decoded straight into its
/// place, and the rest is checked and skipped. An error names the path of its field. Nesting is limited, so no input
/// can exhaust the stack.
public struct JSONReader {
  /// What stands next.
  public enum Kind: Sendable { case object, array, string, number, boolean, null }

  /// Deepest nesting of arrays and objects.
  public static let maximumDepth = 32

  private let bytes: UnsafeBufferPointer<UInt8>
  private let deepest: Int
  private var position = 0
  private var depth = 0

  private init(_ bytes: UnsafeBufferPointer<UInt8>, deepest: Int = JSONReader.maximumDepth) {
    self.bytes = bytes
    self.deepest = deepest
  }

  /// Reads one document that fills `bytes`, whitespace around it aside. The reader must not leave `body`.
  public static func read<Value>(
    _ bytes: UnsafeRawBufferPointer, deepest: Int = JSONReader.maximumDepth,
    _ body: (inout JSONReader) throws(JSONProblem) -> Value
  ) throws(JSONProblem) -> Value {
    let bytes = bytes.assumingMemoryBound(to: UInt8.self)
    guard String(validating: bytes, as: UTF8.self) != nil else { throw .ofBody("is not valid UTF-8") }
    var reader = JSONReader(bytes, deepest: deepest)
    let value = try body(&reader)
    reader.skipWhitespace()
    guard reader.position == bytes.count else { throw JSONProblem.malformed(at: reader.position) }
    return value
  }

  /// Looks into a document that is known to be good, such as PostgreSQL's, without having to read it to its end. The reader
  /// must not leave `body`.
  public static func glance<Value>(
    _ bytes: UnsafeBufferPointer<UInt8>, _ body: (inout JSONReader) throws(JSONProblem) -> Value
  ) throws(JSONProblem) -> Value {
    var reader = JSONReader(bytes)
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

  /// Reads a string. PostgreSQL cannot hold U+0000, so no string may.
  public mutating func string() throws(JSONProblem) -> String {
    guard try kind() == .string else { throw JSONProblem("must be a string") }
    let (range, isEscaped) = try scanString()
    guard isEscaped else { return String(decoding: bytes[range], as: UTF8.self) }
    return try JSONEscapes.decode(bytes[range])
  }

  /// Reads a number as it is written.
  public mutating func number() throws(JSONProblem) -> String {
    guard try kind() == .number else { throw JSONProblem("must be a number") }
    return String(decoding: bytes[try scanNumber()], as: UTF8.self)
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
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  /// Checks the next value and passes over it.
  public mutating func skip() throws(JSONProblem) {
    switch try kind() {
    case .object: try object { reader, _ throws(JSONProblem) in try reader.skip() }
    case .array: try array { reader, _ throws(JSONProblem) in try reader.skip() }
    case .string:
      let (range, isEscaped) = try scanString()
      if isEscaped { _ = try JSONEscapes.decode(bytes[range], allowsNull: true) }
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
    guard depth <= deepest else { throw .ofBody("is nested more than \(deepest) deep") }
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
    let (range, isEscaped) = try scanString()
    skipWhitespace()
    guard take(UInt8(ascii: ":")) else { throw malformed }
    let raw = UnsafeBufferPointer(rebasing: bytes[range])
    return JSONKey(raw: raw, decoded: isEscaped ? try JSONEscapes.decode(bytes[range], allowsNull: true) : nil)
  }

  /// The range between the quotes, and whether a backslash stands in it.
  private mutating func scanString() throws(JSONProblem) -> (Range<Int>, isEscaped: Bool) {
    position += 1
    let start = position
    var isEscaped = false
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return (start..<position - 1, isEscaped)
      case UInt8(ascii: "\\"):
        isEscaped = true
        position += 2
      case 0..<0x20: throw malformed
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
