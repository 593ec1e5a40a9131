import HTTPTypes
import Operations
import Wire

/// An example as indented JSON for people, its fields in the order of the schema.
enum ExampleText {
  private static let width = 100

  static func json(_ value: JSONValue, _ schema: Schema, indent: String = "") -> String {
    let line = compact(value, schema)
    guard indent.count + line.count > width else { return line }
    let deeper = indent + "  "
    switch value {
    case .object(let members):
      let lines = ordered(members, schema).map { name, value, schema in
        "\(deeper)\(quoted(name)): \(json(value, schema, indent: deeper))"
      }
      return "{\n\(lines.joined(separator: ",\n"))\n\(indent)}"
    case .array(let items):
      let lines = items.map { deeper + json($0, schema.item, indent: deeper) }
      return "[\n\(lines.joined(separator: ",\n"))\n\(indent)]"
    default: return line
    }
  }

  private static func compact(_ value: JSONValue, _ schema: Schema) -> String {
    switch value {
    case .null: return "null"
    case .bool(let value): return "\(value)"
    case .number(let value): return value.text
    case .string(let text): return quoted(text)
    case .array(let items): return "[\(items.map { compact($0, schema.item) }.joined(separator: ", "))]"
    case .object(let members):
      let fields = ordered(members, schema).map { "\(quoted($0)): \(compact($1, $2))" }
      return fields.isEmpty ? "{}" : "{ \(fields.joined(separator: ", ")) }"
    }
  }

  private static func ordered(
    _ members: [UTF8String: JSONValue], _ schema: Schema
  ) -> [(name: String, value: JSONValue, schema: Schema)] {
    let fields = schema.fields.map { ($0.name, $0.schema) }
    let others = members.keys.sorted().map(\.text).filter { name in !fields.contains { $0.0 == name } }
    return (fields + others.map { ($0, Schema(.anything)) }).compactMap { name, schema in
      members[name].map { (name, $0, schema) }
    }
  }

  private static func quoted(_ text: String) -> String { String(decoding: JSONText.quoted(text), as: UTF8.self) }
}

extension Schema {
  fileprivate var fields: [Field] {
    if case .object(let fields, _, _) = shape { fields } else { [] }
  }

  fileprivate var item: Schema {
    if case .array(let item, _) = shape { item } else { Schema(.anything) }
  }
}

/// A command that calls an operation with its examples, to paste into a shell.
enum CurlLine {
  static func make(_ operation: APIOperation, publicURL: String) -> String {
    var parts = ["curl"]
    switch operation.method {
    case .get: break
    case .head: parts[0] += " -I"
    default: parts[0] += " -X \(operation.method.rawValue)"
    }
    parts[0] += " '\(publicURL)\(path(operation))'"
    if case .key = operation.security {
      parts.append(
        operation.path.hasPrefix("/rest/")
          ? "-H \"X-Carma-Authentication-Token: $PUSHCART_KEY\"" : "-H \"Authorization: Bearer $PUSHCART_KEY\"")
    }
    // Conditions belong to a second request.
    for parameter in operation.parameters where parameter.location == .header && !parameter.name.hasPrefix("If-") {
      parts.append("-H '\(parameter.name): \(text(parameter.example))'")
    }
    if let body = operation.requestBody, let example = body.examples.first {
      parts.append("-H 'Content-Type: application/json'")
      parts.append("-d '\(ExampleText.json(example, body.schema).replacing("'", with: "'\\''"))'")
    }
    return parts.joined(separator: " \\\n  ")
  }

  private static func path(_ operation: APIOperation) -> String {
    operation.parameters.filter { $0.location == .path }.reduce(operation.path) { path, parameter in
      path.replacing("{\(parameter.name)}", with: text(parameter.example))
    }
  }

  private static func text(_ example: JSONValue) -> String {
    if case .string(let text) = example { text } else { ExampleText.json(example, Schema(.anything)) }
  }
}
