extension Schema {
  /// Reads the next value and checks it.
  /// - Throws: `JSONProblem`, naming the first field that does not match and what it must be.
  public func check(_ reader: inout JSONReader) throws(JSONProblem) {
    if allowsNull, try reader.null() { return }
    if isOnlyDescription {
      guard try !reader.null() else { throw mismatch }
      return try reader.skip()
    }
    switch shape {
    case .object(let fields, let others, let count): try check(&reader, fields, others, count)
    case .array(let item, let count): try check(&reader, item, count)
    case .string(let length, nil): try Self.check(try string(&reader), length)
    case .strings(let words):
      guard let word = Optional(try string(&reader)), words.contains(where: word.hasSameBytes) else { throw mismatch }
    case .timestamp:
      guard Timestamp(try string(&reader)) != nil else { throw mismatch }
    case .integer(let range):
      guard let integer = try integer(&reader), range.contains(integer) else { throw mismatch }
    case .integers(let integers):
      guard let integer = try integer(&reader), integers.contains(integer) else { throw mismatch }
    case .number: _ = try reader.number()
    case .boolean: _ = try reader.boolean()
    case .onlyTrue:
      guard try reader.kind() == .boolean, try reader.boolean() else { throw mismatch }
    case .either(let choices): try check(&reader, choices)
    case .anything: try reader.skip()
    case .string(_, .some): preconditionFailure("patterns describe Carma's bodies, which have a reader of their own")
    }
  }

  /// Checks JSON before it is decoded. Nesting is limited there too: decoding goes one call deeper with each level, so a deep body could
  /// exhaust the stack.
  /// - Throws: `JSONProblem`, naming the first field that does not match.
  public func decode<Body: Decodable>(_: Body.Type = Body.self, from json: [UInt8]) throws -> Body {
    let checked = json.withUnsafeBytes { bytes in
      Result { () throws(JSONProblem) in
        try JSONReader.read(bytes) { reader throws(JSONProblem) in try check(&reader) }
      }
    }
    try checked.get()
    return try JSONCoding.decode(Body.self, from: json)
  }

  private func check(
    _ reader: inout JSONReader, _ fields: [Field], _ others: Schema?, _ count: ClosedRange<Int>?
  ) throws(JSONProblem) {
    guard try reader.kind() == .object else { throw mismatch }
    var names: Set<UTF8String> = []
    try reader.object { reader, key throws(JSONProblem) in
      let name = key.name
      guard names.insert(name).inserted else { throw JSONProblem("is given twice") }
      guard let schema = fields.first(where: { key.equals($0.name) })?.schema ?? others else {
        throw JSONProblem("is not a known field; known are \(fields.map(\.name).joined(separator: ", "))")
      }
      try schema.check(&reader)
    }
    if let missing = fields.first(where: { $0.isRequired && !names.contains(UTF8String($0.name)) }) {
      throw JSONProblem("is missing", at: missing.name)
    }
    if let count, !count.contains(names.count) { throw mismatch }
  }

  private func check(_ reader: inout JSONReader, _ item: Schema, _ count: ClosedRange<Int>?) throws(JSONProblem) {
    guard try reader.kind() == .array else { throw mismatch }
    var found = 0
    try reader.array { reader, index throws(JSONProblem) in
      found += 1
      if let count, found > count.upperBound { throw JSONProblem("is one more than \(count.upperBound)") }
      try item.check(&reader)
    }
    if let count, found < count.lowerBound {
      throw JSONProblem(found == 0 ? "is empty" : "needs at least \(count.lowerBound) items")
    }
  }

  private func check(_ reader: inout JSONReader, _ choices: [Schema]) throws(JSONProblem) {
    // Where one choice alone can be meant, its own problem says more.
    let kind = try reader.kind()
    let meant = choices.filter { $0.holdsFields ? kind == .object : $0.holdsItems && kind == .array }
    if meant.count == 1 { return try meant[0].check(&reader) }
    for choice in choices {
      var attempt = reader
      do {
        try choice.check(&attempt)
        return reader = attempt
      } catch {}
    }
    throw mismatch
  }

  private var holdsFields: Bool { if case .object = shape { true } else { false } }
  private var holdsItems: Bool { if case .array = shape { true } else { false } }

  private func string(_ reader: inout JSONReader) throws(JSONProblem) -> String {
    guard try reader.kind() == .string else { throw mismatch }
    return try reader.string()
  }

  private func integer(_ reader: inout JSONReader) throws(JSONProblem) -> Int64? {
    guard try reader.kind() == .number else { throw mismatch }
    return Int64(try reader.number())
  }

  private static func check(_ text: String, _ length: ClosedRange<Int>?) throws(JSONProblem) {
    guard let length else { return }
    let count = text.unicodeScalars.count
    if count < length.lowerBound { throw JSONProblem("is empty") }
    if count > length.upperBound { throw JSONProblem("is longer than \(length.upperBound) characters") }
  }

  private var mismatch: JSONProblem { JSONProblem("must be \(expectation)") }

  /// What must stand there, in a few words.
  private var expectation: String {
    switch shape {
    case .object(let fields, _, .some): "an object with one of \(fields.map(\.name).joined(separator: ", "))"
    case .object: "an object"
    case .array: "an array"
    case .string(let length, _) where length == 0...0: "\"\""
    case .string: "a string"
    case .strings(let words): "one of \(words.joined(separator: ", "))"
    case .timestamp: Timestamp.expectation
    case .integer(let range): "a whole number" + Self.bounds(range)
    case .integers(let integers): "one of \(integers.map { String($0) }.joined(separator: ", "))"
    case .number: "a number"
    case .boolean: "true or false"
    case .onlyTrue: "true"
    case .either(let choices): choices.map(\.expectation).joined(separator: " or ")
    case .anything: "JSON"
    }
  }

  private static func bounds(_ range: ClosedRange<Int64>) -> String {
    if range == .min ... .max { return "" }
    return range.upperBound == .max ? " from \(range.lowerBound)" : " from \(range.lowerBound) to \(range.upperBound)"
  }
}
