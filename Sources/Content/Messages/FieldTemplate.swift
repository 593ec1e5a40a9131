import Wire

/// A further field of a message: any JSON, in which every text is a template.
indirect enum FieldTemplate: Sendable {
  /// A value that is the same for everybody, and its JSON.
  case constant(JSONValue, [UInt8])
  case text(TextTemplate)
  case list([FieldTemplate])
  /// The members by name; each name also as JSON.
  case object([(name: UTF8String, json: [UInt8], value: FieldTemplate)])

  /// - Parameters:
  ///   - depthLimit: most values within each other.
  ///   - depth: of this value within the field, from 1.
  /// - Throws: `ContentError.unparsable`, `.invalid`.
  init(
    _ value: JSONValue, field: String, isVerbatim: Bool, depthLimit: Int = 8, depth: Int = 1
  ) throws(ContentError) {
    if isVerbatim {
      try Self.checkVerbatim(value, depthLimit, depth) { field }
      self = .constant(value, value.json)
      return
    }
    guard depth <= depthLimit else { throw Self.tooDeep(field, depthLimit) }
    switch value {
    case .null: self = .constant(value, Array("null".utf8))
    case .bool(let flag): self = .constant(value, Array((flag ? "true" : "false").utf8))
    case .number: self = .constant(value, value.json)
    case .string(let text):
      let template = try TextTemplate(text, field: field, isVerbatim: false)
      self = template.template.isConstant ? .constant(value, JSONText.quoted(text)) : .text(template)
    case .array(let values):
      var list: [FieldTemplate] = []
      for (index, value) in values.enumerated() {
        list.append(
          try FieldTemplate(
            value, field: "\(field)[\(index)]", isVerbatim: false, depthLimit: depthLimit, depth: depth + 1))
      }
      self = .list(list)
    case .object(let members):
      var object: [(name: UTF8String, json: [UInt8], value: FieldTemplate)] = []
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        guard !name.text.utf8.contains(0) else { throw CompiledTemplate.holdsNUL(field) }
        let template = try FieldTemplate(
          value, field: "\(field).\(name)", isVerbatim: false, depthLimit: depthLimit, depth: depth + 1)
        object.append((name, JSONText.quoted(name.text), template))
      }
      self = .object(object)
    }
  }

  /// What `init` refuses, for a value in which nothing is a template.
  /// - Parameter field: the value's name, which only an error needs.
  private static func checkVerbatim(
    _ value: JSONValue, _ depthLimit: Int, _ depth: Int, field: () -> String
  ) throws(ContentError) {
    guard depth <= depthLimit else { throw tooDeep(field(), depthLimit) }
    switch value {
    case .null, .bool, .number: break
    case .string(let text): try TextTemplate.checkVerbatim(text, field: field)
    case .array(let values):
      for (index, value) in values.enumerated() {
        try checkVerbatim(value, depthLimit, depth + 1) { "\(field())[\(index)]" }
      }
    case .object(let members):
      for (name, value) in members {
        guard !name.text.utf8.contains(0) else { throw CompiledTemplate.holdsNUL(field()) }
        try checkVerbatim(value, depthLimit, depth + 1) { "\(field()).\(name)" }
      }
    }
  }

  private static func tooDeep(_ field: String, _ depthLimit: Int) -> ContentError {
    .invalid(field: field, problem: "is nested more than \(depthLimit) deep")
  }

  /// The field as this recipient gets it.
  func value(_ context: PageContext, within budget: inout RenderBudget) -> JSONValue {
    switch self {
    case .constant(let value, _): value
    case .text(let text): .string(text.render(context, within: &budget))
    case .list(let values): .array(values.map { $0.value(context, within: &budget) })
    case .object(let members):
      .object(
        Dictionary(members.map { ($0.name, $0.value.value(context, within: &budget)) }) { first, _ in first })
    }
  }

  /// The texts in it that have tags.
  var texts: [TextTemplate] {
    switch self {
    case .constant: []
    case .text(let text): [text]
    case .list(let values): values.flatMap(\.texts)
    case .object(let members): members.flatMap(\.value.texts)
    }
  }

  /// Appends the field's JSON as this recipient gets it.
  func append(_ context: PageContext, within budget: inout RenderBudget, to bytes: inout [UInt8]) {
    switch self {
    case .constant(_, let json): bytes.append(contentsOf: json)
    case .text(let text): text.appendJSON(context, within: &budget, to: &bytes)
    case .list(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.append(context, within: &budget, to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: member.json)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(context, within: &budget, to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}
