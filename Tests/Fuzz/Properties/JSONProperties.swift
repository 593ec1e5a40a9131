import Wire

/// `JSONReader` reads what `PlainJSON` reads, within its rules, and nothing is lost when it is written.
enum JSONProperties {
  private static let rules: [(name: String, rules: JSONReader.Rules)] = [
    ("usual", .usual), ("cutTexts", .cutTexts), ("own", .own), ("of data trees", DataTreePath.rules),
  ]

  static let samples: [[UInt8]] =
    ([
      #"{"originalId":"me@example.com","firstName":"Robin","sex":null,"dateOfBirth":"1980-01-01","properties":{"food":"m\u00e9at"},"deviceInfo":[{"devicetoken":"c0ffee42","appType":"1","sandboxToken":true,"invalidationType":0}]}"#,
      #"{"name":"Lunch","appIds":["com.example.shop"],"audience":{"all":true},"start":true,"message":{"alert":"Hello {{firstName}} 😀","badge":1,"fields":{"table":"7","price":19.90,"big":12345678901234567890,"exp":-1.5E-7}}}"#,
      #"{"messages":{"authentication":{"producttoken":"t"},"msg":[{"from":"Ä€","to":[{"number":"0031612345678"}],"body":{"type":"AUTO","content":"x\n\ud83d\ude00"},"dcs":8,"validity":"2h"}]}}"#,
      #" [ "\"\\\/\b\f\n\r\t" , [ ] , { } , -0 , 1e400, true , false , null, "\ud83d", "\u0000", {"\u0000":{"\udc00":1}} ] "#,
      "\u{FEFF}{\"a\":1,\"a\":\"e\\u0301\\u0323\"}", #"{"a":1,"a":"\u0000"}"#, #"[{"a\u0000":1}]"#, #"["\u0000"]"#,
      #"{"\ud83d":1}"#,
      #"["\udc00"]"#,
    ] + [0, 1].flatMap(largest)).map { Array($0.utf8) }

  /// What is as large as the rules allow, and so much larger.
  private static func largest(_ more: Int) -> [String] {
    func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count + more) }
    return [
      repeated("[", 31) + #"{"a":1}"# + repeated("]", 31), "[\"\(repeated("\u{301}", 30))\"]",
      "[\"\(repeated("\\u0301", 30))\"]", "{\"\(repeated("n", 128))\":1}", "{\"å\(repeated("n", 766))\":1}",
      "[\(repeated("1", 100))]",
    ]
  }

  static func check(_ bytes: [UInt8]) throws(BrokenProperty) -> String {
    let plain = PlainJSON(bytes)
    let json = plain?.value.json
    var count = 0
    for (name, rules) in rules {
      let skipped = Result { () throws(JSONProblem) in
        try read(bytes, rules) { reader throws(JSONProblem) in try reader.skip() }
      }
      try require(
        skipped.isSuccess == (plain?.isSkipped(by: rules) ?? false),
        "The rules \(name) are wrong about what may be passed over: \(skipped)")
      let value = Result { () throws(JSONProblem) in try JSONValue(json: bytes, rules: rules) }
      try require(
        value.isSuccess == (plain?.isRead(by: rules) ?? false),
        "The rules \(name) are wrong about what may be read: \(value)")
      switch value {
      case .success(let value):
        // It is the same value by all rules.
        if count == 0 { try checkWriting(value, rules) }
        count += 1
        try require(value.json == json, "What is read by the rules \(name) is not what is written")
        let again = json.flatMap { try? JSONValue(json: $0, rules: rules) }
        try require(again == value && again?.json == json, "JSON that was written is not read as what it was")
        try checkRaw(bytes, value, rules)
      case .failure(let problem): try checkPlace(problem, bytes.count)
      }
    }
    let isBody = bytes.withUnsafeBytes { bytes in
      (try? PushDevicesBody(json: bytes)) != nil || (try? GatewayRequest(json: bytes)) != nil
    }
    try require(plain != nil || !isBody, "A body is read that is no JSON")
    return count == 0 ? "refused" : count == rules.count ? "read" : "read by some rules"
  }

  private static func read<Value>(
    _ bytes: [UInt8], _ rules: JSONReader.Rules, _ body: (inout JSONReader) throws(JSONProblem) -> Value
  ) throws(JSONProblem) -> Value {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(JSONProblem) in try JSONReader.read(bytes, rules: rules, body) }
    }
    return try result.get()
  }

  private static func checkPlace(_ problem: JSONProblem, _ count: Int) throws(BrokenProperty) {
    guard let words = problem.sentence.split(separator: " byte ").dropFirst().last, let place = Int(words) else {
      return
    }
    try require((0...count).contains(place), "A fault is said to be outside the body: \(problem.sentence)")
  }

  /// Whatever writes a value writes that value.
  private static func checkWriting(_ value: JSONValue, _ rules: JSONReader.Rules) throws(BrokenProperty) {
    let json = value.json
    let indented = try? JSONValue(json: Array(value.indented.utf8), rules: rules)
    try require(indented?.json == json, "Indented JSON is not read as what it was")
    try require((try? JSONCoding.encode(value)) == json, "JSONCoding writes something else")
    let decoded = try? JSONCoding.decode(JSONValue.self, from: json, rules: rules)
    try require(decoded?.json == json, "JSONCoding reads something else")
    try require(decoded?.hashValue == value.hashValue, "Equal values have different hashes")
    try checkParts(value)
    // What is looked into comes from PostgreSQL, which holds no U+0000.
    guard !rules.allowsNUL, case .object(let members) = value else { return }
    for (name, member) in members {
      let found = json.withUnsafeBufferPointer { bytes in
        try? JSONReader.glance(bytes) { reader throws(JSONProblem) in
          try reader.find(name.text) ? try reader.value().json : nil
        }
      }
      try require(found == member.json, "A member is not found")
    }
  }

  private static func checkParts(_ value: JSONValue) throws(BrokenProperty) {
    switch value {
    case .null, .bool: break
    case .string(let text):
      try require(JSONText.length(value.json) == text.utf8.count, "The length of a text is counted wrongly")
    case .number(let number):
      let text = number.text
      try require(JSONNumber(text)?.text == text, "A number is not read as one")
      guard !text.utf8.contains(where: { [0x2E, 0x45, 0x65].contains($0) }), text.utf8.count < 97 else { return }
      for other in [text + ".0", text + "e0", text + "0E-1"].compactMap({ JSONNumber($0) }) {
        try require(other == number && other.hashValue == number.hashValue, "\(text) is not equal to \(other.text)")
      }
    case .array(let values): for value in values { try checkParts(value) }
    case .object(let members): for value in members.values { try checkParts(value) }
    }
  }

  /// A value that is taken as it is written is that value.
  private static func checkRaw(
    _ bytes: [UInt8], _ value: JSONValue, _ rules: JSONReader.Rules
  ) throws(BrokenProperty) {
    // Marks of names count here, too.
    guard let raw = try? read(bytes, rules, { reader throws(JSONProblem) in try reader.raw() }) else { return }
    let again = try? JSONValue(json: Array(raw.utf8), rules: rules)
    try require(again?.json == value.json, "Raw JSON is not read as what it is")
    guard case .array(let values) = value else { return }
    var items: [JSONValue] = []
    _ = try? read(bytes, rules) { reader throws(JSONProblem) in
      try reader.array { reader, _ throws(JSONProblem) in
        if case .success(let item) = try reader.item() { items.append(item) }
      }
    }
    try require(items == values, "Items of a list are not read as they are")
  }
}

extension Result {
  fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
