import Foundation
public import Wire

/// Checks JSON against the part of JSON Schema (2020-12) that the API's description uses; a keyword it does not know is itself a
/// problem, so that no part of a schema goes unchecked.
public struct SchemaCheck: Sendable {
  /// The OpenAPI document that `$ref` points into.
  private let document: JSONValue

  public init(document: JSONValue) { self.document = document }

  /// What is wrong with `value`, each with the path to it.
  public func problems(of value: JSONValue, against schema: JSONValue, at path: String = "$") -> [String] {
    guard case .object(let keywords) = schema else { return ["\(path): the schema is no object"] }
    return keywords.sorted { $0.key < $1.key }.flatMap { keyword, argument in
      problems(of: value, keyword.text, argument, in: keywords, at: path)
    }
  }

  private func problems(
    of value: JSONValue, _ keyword: String, _ argument: JSONValue, in schema: [UTF8String: JSONValue], at path: String
  ) -> [String] {
    switch (keyword, argument) {
    case ("description", _), ("example", _): []
    case ("$ref", .string(let reference)): referred(value, reference, path)
    case ("type", .string(let type)): isOf([type], value) ? [] : ["\(path): is no \(type)"]
    case ("type", .array(let types)):
      isOf(types.compactMap(\.text), value) ? [] : ["\(path): is none of \(types.compactMap(\.text))"]
    case ("enum", .array(let words)): words.contains(value) ? [] : ["\(path): \(value) is none of the enum"]
    case ("anyOf", .array(let choices)):
      choices.contains { problems(of: value, against: $0, at: path).isEmpty }
        ? [] : ["\(path): fits no choice of anyOf"]
    case ("properties", .object(let properties)): fields(value, properties, path)
    case ("required", .array(let names)): missing(value, names.compactMap(\.text), path)
    case ("additionalProperties", _): further(value, argument, schema["properties"], path)
    case ("items", _): items(value, argument, path)
    case ("minItems", .number), ("maxItems", .number), ("minLength", .number), ("maxLength", .number),
      ("minimum", .number), ("maximum", .number), ("minProperties", .number), ("maxProperties", .number):
      limit(value, keyword, argument, path)
    case ("format", .string(let format)): form(value, format, path)
    case ("pattern", .string(let pattern)): matches(value, pattern) ? [] : ["\(path): does not match \(pattern)"]
    default: ["\(path): the keyword \(keyword) is not known to the check"]
    }
  }

  private func referred(_ value: JSONValue, _ reference: String, _ path: String) -> [String] {
    let name = reference.replacing("#/components/schemas/", with: "")
    guard let schema = document["components"]?["schemas"]?[name] else { return ["\(path): \(reference) leads nowhere"] }
    return problems(of: value, against: schema, at: path)
  }

  private func isOf(_ types: [String], _ value: JSONValue) -> Bool {
    switch value {
    case .null: types.contains("null")
    case .bool: types.contains("boolean")
    case .number(let number):
      types.contains("number") || number.integer != nil && types.contains("integer")
    case .string: types.contains("string")
    case .array: types.contains("array")
    case .object: types.contains("object")
    }
  }

  private func fields(_ value: JSONValue, _ properties: [UTF8String: JSONValue], _ path: String) -> [String] {
    guard case .object(let members) = value else { return [] }
    return members.flatMap { name, member in
      properties[name].map { problems(of: member, against: $0, at: "\(path).\(name)") } ?? []
    }
  }

  private func missing(_ value: JSONValue, _ names: [String], _ path: String) -> [String] {
    guard case .object(let members) = value else { return [] }
    return names.filter { members[$0] == nil }.map { "\(path).\($0): is missing" }
  }

  private func further(_ value: JSONValue, _ rule: JSONValue, _ properties: JSONValue?, _ path: String) -> [String] {
    guard case .object(let members) = value else { return [] }
    let others = members.filter { properties?[$0.key.text] == nil }
    if rule == .bool(false) { return others.keys.map { "\(path).\($0): is not described" } }
    return others.flatMap { problems(of: $0.value, against: rule, at: "\(path).\($0.key)") }
  }

  private func items(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
    guard case .array(let items) = value else { return [] }
    return items.enumerated().flatMap { problems(of: $1, against: schema, at: "\(path)[\($0)]") }
  }

  private func limit(_ value: JSONValue, _ keyword: String, _ argument: JSONValue, _ path: String) -> [String] {
    guard let limit = argument.integer else { return [] }
    let measure: Int64
    switch (keyword, value) {
    case ("minItems", .array(let items)), ("maxItems", .array(let items)): measure = Int64(items.count)
    case ("minProperties", .object(let members)), ("maxProperties", .object(let members)):
      measure = Int64(members.count)
    case ("minLength", .string(let text)), ("maxLength", .string(let text)): measure = Int64(text.unicodeScalars.count)
    case ("minimum", .number(let number)), ("maximum", .number(let number)):
      guard let whole = number.integer else { return [] }
      measure = whole
    default: return []
    }
    let fits = keyword.hasPrefix("min") ? measure >= limit : measure <= limit
    return fits ? [] : ["\(path): \(measure) breaks \(keyword) \(limit)"]
  }

  private func matches(_ value: JSONValue, _ pattern: String) -> Bool {
    guard case .string(let text) = value, let regex = try? Regex(pattern) else { return true }
    return text.firstMatch(of: regex) != nil
  }

  private func form(_ value: JSONValue, _ format: String, _ path: String) -> [String] {
    guard format == "date-time", case .string(let text) = value else { return [] }
    return Self.isMoment(text) ? [] : ["\(path): is no moment"]
  }

  /// By RFC 3339, without leap seconds. Foundation's readers take days that no month has for days of the next one.
  private static func isMoment(_ text: String) -> Bool {
    let form =
      #/([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])/#
    guard let match = text.wholeMatch(of: form), let year = Int(match.1), year > 0 else { return false }
    return DateComponents(year: year, month: Int(match.2), day: Int(match.3)).isValidDate(
      in: Calendar(identifier: .gregorian))
  }
}
