import Wire

extension ReferencePage {
  /// A named schema with its fields.
  func schemaSection(_ schema: Schema) -> String {
    let name = schema.name ?? ""
    return """
      <article id="schema-\(name)">
      <h3>\(name.htmlEscaped) <a class="anchor" href="#schema-\(name)" aria-label="Link to \(name)">#</a></h3>
      \(HTML.prose(schema.description))
      \(fields(of: schema))
      </article>
      """
  }

  /// The schema's type in a few words; a name is a link.
  func type(_ schema: Schema) -> String {
    let type = schema.name.map { "<a href=\"#schema-\($0)\">\($0.htmlEscaped)</a>" } ?? type(schema.shape)
    return schema.allowsNull ? "\(type) or null" : type
  }

  private func type(_ shape: Schema.Shape) -> String {
    switch shape {
    case .object(let fields, _, let count):
      (fields.isEmpty ? "object" : "object: " + fields.map(summary).joined(separator: ", "))
        + (count.map { " (up to \($0.upperBound) fields)" } ?? "")
    case .array(let item, let count):
      "array of \(count.map { "\($0.lowerBound)–\($0.upperBound) " } ?? "")\(type(item))"
    case .string(let length, _): "string" + (length.map(characters) ?? "")
    case .strings(let strings): strings.map { "<code>\"\($0.htmlEscaped)\"</code>" }.joined(separator: " | ")
    case .timestamp: "timestamp"
    case .integer(let range): "integer" + bounds(range)
    case .integers(let integers): integers.map { "<code>\($0)</code>" }.joined(separator: " | ")
    case .number: "number"
    case .boolean: "boolean"
    case .onlyTrue: "<code>true</code>"
    case .either(let choices): choices.map { type($0) }.joined(separator: " or ")
    case .anything: "anything"
    }
  }

  private func summary(_ field: Schema.Field) -> String {
    let code = "<code>\(field.name.htmlEscaped)</code>"
    if case .array(let item, _) = field.schema.shape, item.name != nil { return "\(code) (\(type(field.schema)))" }
    return code
  }

  private func characters(_ length: ClosedRange<Int>) -> String {
    length.lowerBound == 0
      ? " (up to \(length.upperBound) characters)" : " (\(length.lowerBound)–\(length.upperBound) characters)"
  }

  private func bounds(_ range: ClosedRange<Int64>) -> String {
    switch (range.lowerBound, range.upperBound) {
    case (.min, .max): ""
    case (let low, .max): " (from \(low))"
    case (.min, let high): " (to \(high))"
    case (let low, let high): " (\(low) to \(high))"
    }
  }

  private func fields(of schema: Schema) -> String {
    guard case .object(let fields, _, _) = schema.shape, !fields.isEmpty else { return "<p>\(type(schema.shape))</p>" }
    return "<div class=\"scroll\"><table><tbody>\(fields.map(row).joined(separator: "\n"))</tbody></table></div>"
  }

  private func row(_ field: Schema.Field) -> String {
    """
    <tr><td><code>\(field.name.htmlEscaped)</code></td><td>\(field.isRequired ? "always" : "optional")</td>\
    <td>\(type(field.schema))</td><td>\(HTML.line(field.description))</td></tr>
    """
  }
}
