@testable import Content

import Mustache
import Wire

/// A recipient whose pages swift-mustache renders, from the same data as in `context`.
struct MustacheOracle {
  let context: PageContext
  private let page: OracleObject

  init(_ context: PageContext, properties: [UTF8String: JSONValue]) {
    var context = context
    context.properties = Properties(json: JSONValue.object(properties).text)
    self.context = context
    var members = properties
    for field in Variable.ContactVariable.allCases { members[UTF8String(field.name)] = context.contact[field].json }
    members["properties"] = .object(properties)
    members["device"] = .object(
      Dictionary(
        named: Variable.DeviceField.allCases.map { ($0.rawValue, context.device[$0].json) }))
    members["app"] = ["appId": context.app.appId.json, "name": context.app.name.json]
    let sendout = Variable.SendoutField.allCases.map { ($0.rawValue, context.sendout[$0].json) }
    members["sendout"] = .object(
      Dictionary(named: sendout + [("fields", .object(context.sendout.fields))]))
    members["url"] = context.url.json
    members["pushreadurl"] = context.pushreadurl.json
    page = OracleObject(members: members)
  }

  func render(_ body: String, _ escaping: Escaping) throws -> String {
    _ = Self.areEscapingsRegistered
    // The pragma stands on a line of its own, which leaves nothing in the page.
    return try MustacheTemplate(string: "{{% CONTENT_TYPE:\(escaping.name)}}\n\(body)").render(page)
  }

  /// swift-mustache knows ways of escaping by name, process-wide.
  private static let areEscapingsRegistered: Bool = {
    for escaping in Escaping.all {
      MustacheContentTypes.register(OracleEscaping(escaping: escaping), named: escaping.name)
    }
    return true
  }()
}

private struct OracleEscaping: MustacheContentType {
  let escaping: Escaping

  func escapeText(_ text: String) -> String {
    var bytes: [UInt8] = []
    escaping.append(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

private struct OracleObject: MustacheParent, MustacheCustomRenderable {
  let members: [UTF8String: JSONValue]

  func child(named name: String) -> Any? { members[name].flatMap(\.oracle) }

  /// An object prints nothing.
  var renderText: String { "" }
  var isNull: Bool { false }
}

private struct OracleList: MustacheSequence, MustacheTransformable, MustacheParent, MustacheCustomRenderable {
  let values: [JSONValue]

  func makeIterator() -> IndexingIterator<[Any]> { values.map { $0.oracle ?? "" }.makeIterator() }

  func child(named name: String) -> Any? { nil }

  func transform(_ name: String) -> Any? {
    switch name {
    case "count": values.count
    case "empty": values.isEmpty
    case "first": values.first.flatMap(\.oracle)
    case "last": values.last.flatMap(\.oracle)
    case "reversed": OracleList(values: values.reversed())
    default: nil
    }
  }

  /// A list prints its values with commas.
  var renderText: String { JSONValue.array(values).printed }
  var isNull: Bool { false }
}

extension String? {
  fileprivate var json: JSONValue { map(JSONValue.string) ?? .null }
}

extension JSONValue {
  /// The value as swift-mustache takes it; an empty one is nothing.
  fileprivate var oracle: Any? {
    switch self {
    case .null, .string(""): nil
    case .bool(let flag): flag
    case .array(let values): OracleList(values: values)
    case .object(let members): OracleObject(members: members)
    case .number, .string: printed
    }
  }

  fileprivate var printed: String {
    switch self {
    case .null, .object: ""
    case .bool(let flag): "\(flag)"
    case .number(let number): "\(number)"
    case .string(let text): text
    case .array(let values): values.map(\.printed).joined(separator: ", ")
    }
  }

  /// The value as JSON.
  fileprivate var text: String {
    switch self {
    case .null: "null"
    case .bool, .number: printed
    case .string(let text): String(decoding: JSONText.quoted(text), as: UTF8.self)
    case .array(let values): "[\(values.map(\.text).joined(separator: ","))]"
    case .object(let members):
      "{\(members.map { "\(JSONValue.string($0.key.text).text):\($0.value.text)" }.joined(separator: ","))}"
    }
  }
}

extension Escaping {
  fileprivate var name: String {
    switch self {
    case .markup: "ORACLE_MARKUP"
    case .json: "ORACLE_JSON"
    case .text: "ORACLE_TEXT"
    }
  }
}
