import Wire

extension Schema {
  /// The schema as another one refers to it: by its name if it has one.
  /// - Parameter description: of the field that holds it.
  func openAPI(_ description: String = "") -> JSONValue {
    var keywords = name.map { ["$ref": .string("#/components/schemas/\($0)")] } ?? keywords
    if allowsNull {
      if case .string(let type) = keywords["type"] {
        keywords["type"] = [.string(type), "null"]
        if case .array(let values) = keywords["enum"] { keywords["enum"] = .array(values + [.null]) }
      } else if case .array(let choices) = keywords["anyOf"] {
        keywords["anyOf"] = .array(choices + [["type": "null"]])
      } else {
        keywords = ["anyOf": [.object(keywords), ["type": "null"]]]
      }
    }
    if !description.isEmpty { keywords["description"] = .string(description) }
    return .object(keywords)
  }

  /// The schema as the document lists it under its name.
  var definition: JSONValue {
    var keywords = keywords
    if !description.isEmpty { keywords["description"] = .string(description) }
    return .object(keywords)
  }

  private var keywords: [UTF8String: JSONValue] {
    switch shape {
    case .object(let fields, let others, let count): return Self.object(fields, others, count)
    case .array(let item, let count):
      return Self.limits(count, "minItems", "maxItems").merging(["type": "array", "items": item.openAPI()]) { $1 }
    case .string(let length, let pattern):
      var keywords = Self.limits(length, "minLength", "maxLength")
      keywords["type"] = "string"
      keywords["pattern"] = pattern.map { .string($0) }
      return keywords
    case .strings(let strings): return ["type": "string", "enum": .array(strings.map { .string($0) })]
    case .timestamp: return ["type": "string", "format": "date-time"]
    case .integer(let range):
      var keywords: [UTF8String: JSONValue] = ["type": "integer", "format": "int64"]
      if range.lowerBound > .min { keywords["minimum"] = .integer(range.lowerBound) }
      if range.upperBound < .max { keywords["maximum"] = .integer(range.upperBound) }
      return keywords
    case .integers(let integers): return ["type": "integer", "enum": .array(integers.map { .integer($0) })]
    case .number: return ["type": "number"]
    case .boolean: return ["type": "boolean"]
    case .onlyTrue: return ["type": "boolean", "enum": [true]]
    case .either(let choices): return ["anyOf": .array(choices.map { $0.openAPI() })]
    case .anything: return [:]
    }
  }

  private static func object(
    _ fields: [Field], _ others: Schema?, _ count: ClosedRange<Int>?
  ) -> [UTF8String: JSONValue] {
    var keywords = limits(count, "minProperties", "maxProperties")
    keywords["type"] = "object"
    keywords["additionalProperties"] = others?.openAPI() ?? false
    if !fields.isEmpty {
      keywords["properties"] = .object(
        Dictionary(named: fields.map { ($0.name, $0.schema.openAPI($0.description)) }))
    }
    let required = fields.filter(\.isRequired)
    if !required.isEmpty { keywords["required"] = .array(required.map { .string($0.name) }) }
    return keywords
  }

  private static func limits(
    _ range: ClosedRange<Int>?, _ minimum: UTF8String, _ maximum: UTF8String
  ) -> [UTF8String: JSONValue] {
    guard let range else { return [:] }
    return [minimum: .integer(Int64(range.lowerBound)), maximum: .integer(Int64(range.upperBound))]
  }
}
