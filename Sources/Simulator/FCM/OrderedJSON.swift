import Wire

/// JSON whose members keep their order and their repetitions, since Google's errors count them.
indirect enum OrderedJSON {
  case null
  case bool(Bool)
  /// As it is written.
  case number(String)
  case string(String)
  case array([OrderedJSON])
  case object([(name: String, value: OrderedJSON)])

  /// - Throws: if this is no JSON.
  init(_ bytes: [UInt8]) throws(JSONProblem) {
    var parsed: Result<OrderedJSON, JSONProblem> = .success(.null)
    bytes.withUnsafeBytes { bytes in
      parsed = Result { () throws(JSONProblem) in
        try JSONReader.read(bytes) { reader throws(JSONProblem) in try OrderedJSON(&reader) }
      }
    }
    self = try parsed.get()
  }

  private init(_ reader: inout JSONReader) throws(JSONProblem) {
    switch try reader.kind() {
    case .null:
      _ = try reader.null()
      self = .null
    case .boolean: self = .bool(try reader.boolean())
    case .number: self = .number(try reader.number())
    case .string: self = .string(try reader.string())
    case .array:
      var elements: [OrderedJSON] = []
      try reader.array { reader, _ throws(JSONProblem) in elements.append(try OrderedJSON(&reader)) }
      self = .array(elements)
    case .object:
      var members: [(name: String, value: OrderedJSON)] = []
      try reader.object { reader, key throws(JSONProblem) in
        members.append((key.description, try OrderedJSON(&reader)))
      }
      self = .object(members)
    }
  }

  /// The value without the order of its members; the last one of a name counts.
  var value: JSONValue {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .number(let text): JSONNumber(text).map(JSONValue.number) ?? .null
    case .string(let text): .string(text)
    case .array(let elements): .array(elements.map(\.value))
    case .object(let members): .object(Dictionary(named: members.map { ($0.name, $0.value.value) }))
    }
  }

  /// As Google's errors show a value.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): String(value)
    case .number(let text): text
    case .string(let text): "\"\(text)\""
    case .array: "[…]"
    case .object: "{…}"
    }
  }
}
