import Support
import Testing
import Wire

@Suite struct JSONReaderTests {
  @Test(arguments: [
    (#""""#, ""), (#""a""#, "a"), (#" "å" "#, "å"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
    (#""\u00e5\u20AC""#, "å€"), (#""\ud83d\ude00""#, "😀"), (#""😀""#, "😀"), (#""\u0001""#, "\u{1}"),
    ("\u{FEFF}\"a\"", "a"), (" \"\u{FEFF}\"", "\u{FEFF}"),
  ])
  func `Strings are read with their escapes`(_ json: String, _ expected: String) throws {
    #expect(try readString(json) == expected)
  }

  @Test(arguments: [
    #"""#, #""a"#, #""\"#, #""\x""#, #""\u12""#, #""\u12g4""#, "\"\u{1}\"", "\"\n\"", #""\ud800""#, #""\ud800x""#,
    #""\ud800\u0041""#, #""\udc00""#, #""\u0000""#, "\u{FEFF}\u{FEFF}\"a\"", " \u{FEFF}\"a\"", "'a'", #""a" "b""#,
    #""a","#, "",
  ])
  func `Invalid strings are refused`(_ json: String) {
    #expect(throws: JSONProblem.self) { try readString(json) }
  }

  @Test(arguments: ["0", "-0", "1", "-12", "1.5", "0.05", "1e5", "1E-5", "1.0e+12", "123456789012345678901234567890"])
  func `Numbers keep their digits`(_ json: String) throws {
    #expect(try readNumber(json) == json)
  }

  @Test(arguments: ["01", "+1", "-", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity", "--1", "1 2", "1a"])
  func `Invalid numbers are refused`(_ json: String) {
    #expect(throws: JSONProblem.self) { try readNumber(json) }
  }

  @Test(arguments: [
    "{}", "[]", "null", "true", "false", "1", #""x""#, "[1,[2,{}],null]", #"{"a":{"b":[true]},"c":""}"#, " [ ] ", "{ }",
    #"{"\u0000":"\u0000"}"#,
  ])
  func `Any well-formed value can be skipped`(_ json: String) throws {
    try skip(json)
  }

  @Test(arguments: [
    "", " ", "{", "[", "}", "]", "[1,]", "[,]", "[1 2]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#, "nul",
    "truex", "fals", "nullnull", #"{"a":1 "b":2}"#, #"{1:2}"#, "[1]]", "//", "[1]/**/", #"["\q"]"#, #"{"\u12":1}"#,
    "\0",
  ])
  func `Malformed JSON is refused, whether read or skipped`(_ json: String) {
    #expect(throws: JSONProblem.self) { try skip(json) }
  }

  @Test func `Arrays and objects nest up to 32 deep`() throws {
    func nested(_ depth: Int) -> [String] {
      [
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth),
        String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth),
      ]
    }
    for json in nested(32) { try skip(json) }
    for json in nested(33) + nested(60_000) + [String(repeating: "[", count: 60_000)] {
      let problem = #expect(throws: JSONProblem.self) {
        try skip(json)
      }
      #expect(problem?.sentence == "The body is nested more than 32 deep")
    }
  }

  @Test(
    arguments: [
      [0xFF], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
      [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22],
    ] as [[UInt8]])
  func `Invalid UTF-8 is refused`(_ bytes: [UInt8]) {
    let problem = #expect(throws: JSONProblem.self) {
      try skip(bytes)
    }
    #expect(problem?.sentence == "The body is not valid UTF-8")
  }

  @Test func `A problem has the path of its field`() {
    let bytes = Array(#"{"a":[{"b":1},{"b":[0,"x"]}]}"#.utf8)
    let problem = #expect(throws: JSONProblem.self) {
      try bytes.withUnsafeBytes { try JSONReader.read($0, numbersOnly) }
    }
    #expect(problem?.sentence == "a[1].b[1] must be a number")
  }

  /// Reads whatever stands there, down to its scalars, which must be numbers.
  private func numbersOnly(_ reader: inout JSONReader) throws(JSONProblem) {
    switch try reader.kind() {
    case .object: try reader.object { reader, _ throws(JSONProblem) in try numbersOnly(&reader) }
    case .array: try reader.array { reader, _ throws(JSONProblem) in try numbersOnly(&reader) }
    default: _ = try reader.number()
    }
  }

  @Test(arguments: [
    (#"["a\q"]"#, 4), (#"["a\u12g4"]"#, 5), (#"["\u+123"]"#, 4), (#"["\ud83d\u00"]"#, 10), (#"{"\é":1}"#, 3),
  ])
  func `An escape that JSON does not know makes the document unreadable`(_ json: String, _ place: Int) throws {
    let bytes = Array(json.utf8)
    let problems = [
      #expect(throws: JSONProblem.self) { try JSONValue(json: bytes) },
      #expect(throws: JSONProblem.self) { try skip(bytes) },
      #expect(throws: JSONProblem.self) {
        try bytes.withUnsafeBytes { try JSONReader.read($0) { reader throws(JSONProblem) in _ = try reader.item() } }
      },
    ]
    for problem in problems {
      #expect(problem?.sentence == "The body is not well-formed JSON at byte \(place)")
    }
  }

  @Test func `Names that are kept hold no U+0000, as texts do`() throws {
    let json = Array(#"[{"a\u0000":1}]"#.utf8)
    let problem = #expect(throws: JSONProblem.self) { try JSONValue(json: json) }
    #expect(problem?.sentence == "The body has a name that holds U+0000")
    #expect(try JSONValue(json: json, rules: .cutTexts) == [["a\0": 1]])
  }

  @Test func `Keys are compared decoded, escaped or not`() throws {
    let bytes = Array(#"{"name":1,"n\u0061me":2,"nam":3,"names":4}"#.utf8)
    let seen = try bytes.withUnsafeBytes { try JSONReader.read($0, names) }
    #expect(seen == ["1", "2"])
  }

  /// The values of `name`.
  private func names(_ reader: inout JSONReader) throws(JSONProblem) -> [String] {
    var seen: [String] = []
    try reader.object { reader, key throws(JSONProblem) in
      switch key {
      case "name": seen.append(try reader.number())
      default: try reader.skip()
      }
    }
    return seen
  }

  @Test func `No input crashes the reader`() {
    var random = SeededGenerator(seed: 20_261_120)
    let alphabet = Array(#"{}[]":,\/truefalsn0123456789.eE+-u "#.utf8) + [0, 0x1F, 0x80, 0xC3, 0xA5, 0xF0, 0xFF]
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
      try? skip(bytes)
      _ = try? bytes.withUnsafeBytes { try PushDevicesBody(json: $0) }
    }
  }

  private func readString(_ json: String) throws -> String {
    try Array(json.utf8).withUnsafeBytes {
      try JSONReader.read($0) { reader throws(JSONProblem) in try reader.string() }
    }
  }

  private func readNumber(_ json: String) throws -> String {
    try Array(json.utf8).withUnsafeBytes {
      try JSONReader.read($0) { reader throws(JSONProblem) in try reader.number() }
    }
  }

  private func skip(_ json: String) throws { try skip(Array(json.utf8)) }

  private func skip(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try JSONReader.read($0) { reader throws(JSONProblem) in try reader.skip() } }
  }
}
