import Wire

extension Schema {
  /// The schema as OpenAPI's document holds it.
  var json: JSONValue {
    var members = shapeMembers
    if !about.isEmpty { members["description"] = .string(about) }
    guard allowsNull else { return .object(members) }
    if case .string(let type) = members["type"] {
      members["type"] = [.string(type), "null"]
      if case .array(let values) = members["enum"] { members["enum"] = .array(values + [.null]) }
      return .object(members)
    }
    let description = members.removeValue(forKey: "description")
    var choice: [String: JSONValue] = ["anyOf": [.object(members), ["type": "null"]]]
    choice["description"] = description
    return .object(choice)
  }

  private var shapeMembers: [String: JSONValue] {
    switch shape {
    case .named(let name): return ["$ref": .string("#/components/schemas/\(name)")]
    case .object(let fields, let further): return objectMembers(fields, further)
    case .array(let item, let count):
      var members: [String: JSONValue] = ["type": "array", "items": item.json]
      if let count {
        members["minItems"] = .integer(Int64(count.lowerBound))
        members["maxItems"] = .integer(Int64(count.upperBound))
      }
      return members
    case .string(let format, let words, let length):
      var members: [String: JSONValue] = ["type": "string"]
      if let format { members["format"] = .string(format) }
      if !words.isEmpty { members["enum"] = .array(words.map { .string($0) }) }
      if let length {
        members["minLength"] = .integer(Int64(length.lowerBound))
        members["maxLength"] = .integer(Int64(length.upperBound))
      }
      return members
    case .integer(let range): return integerMembers(range)
    case .choice(let numbers): return ["type": "integer", "enum": .array(numbers.map { .integer($0) })]
    case .number: return ["type": "number"]
    case .boolean: return ["type": "boolean"]
    case .either(let choices): return ["anyOf": .array(choices.map(\.json))]
    case .anything: return [:]
    }
  }

  private func objectMembers(_ fields: [Field], _ further: Schema?) -> [String: JSONValue] {
    var members: [String: JSONValue] = ["type": "object", "additionalProperties": further?.json ?? false]
    if !fields.isEmpty {
      members["properties"] = .object(Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.schema.json) }))
    }
    let required = fields.filter(\.isRequired)
    if !required.isEmpty { members["required"] = .array(required.map { .string($0.name) }) }
    return members
  }

  private func integerMembers(_ range: ClosedRange<Int64>?) -> [String: JSONValue] {
    var members: [String: JSONValue] = ["type": "integer", "format": "int64"]
    guard let range else { return members }
    if range.lowerBound > .min { members["minimum"] = .integer(range.lowerBound) }
    if range.upperBound < .max { members["maximum"] = .integer(range.upperBound) }
    return members
  }
}
