import Wire

extension ReferencePage {
  /// A named body with its fields.
  func schemaSection(_ named: APIDescription.NamedSchema) -> String {
    """
    <article id="schema-\(named.name)">
    <h3>\(named.name.htmlEscaped) <a class="anchor" href="#schema-\(named.name)" \
    aria-label="Link to \(named.name)">#</a></h3>
    \(HTML.prose(named.schema.about))
    \(fields(of: named.schema))
    </article>
    """
  }

  /// The schema's type in a few words, named ones as links.
  func type(_ schema: Schema) -> String {
    let type =
      switch schema.shape {
      case .named(let name): "<a href=\"#schema-\(name)\">\(name.htmlEscaped)</a>"
      case .object(let fields, _): fields.isEmpty ? "object" : "object: " + names(fields)
      case .array(let item, _): "array of \(self.type(item))"
      case .string(let format, let words, let length): string(format, words, length)
      case .integer(let range): "integer" + (range.map(bounds) ?? "")
      case .choice(let numbers): "integer: " + numbers.map { "\($0)" }.joined(separator: ", ")
      case .number: "number"
      case .boolean: "boolean"
      case .either(let choices): choices.map { self.type($0) }.joined(separator: " or ")
      case .anything: "anything"
      }
    return schema.allowsNull ? "\(type) or null" : type
  }

  private func names(_ fields: [Schema.Field]) -> String {
    fields.map { field in
      let code = "<code>\(field.name.htmlEscaped)</code>"
      if case .array(let item, _) = field.schema.shape, case .named = item.shape {
        return "\(code) (\(type(field.schema)))"
      }
      return code
    }.joined(separator: ", ")
  }

  private func string(_ format: String?, _ words: [String], _ length: ClosedRange<Int>?) -> String {
    if !words.isEmpty { return words.map { "<code>\($0.htmlEscaped)</code>" }.joined(separator: " | ") }
    if format == "date-time" { return "moment" }
    return "string" + (length.map { ", \($0.lowerBound)–\($0.upperBound) characters" } ?? "")
  }

  private func bounds(_ range: ClosedRange<Int64>) -> String {
    switch (range.lowerBound, range.upperBound) {
    case (.min, .max): ""
    case (let low, .max): ", from \(low)"
    case (.min, let high): ", to \(high)"
    case (let low, let high): ", \(low)–\(high)"
    }
  }

  private func fields(of schema: Schema) -> String {
    switch schema.shape {
    case .object(let fields, _):
      guard !fields.isEmpty else { return "" }
      return "<div class=\"scroll\"><table><tbody>\(fields.map(row).joined(separator: "\n"))</tbody></table></div>"
    case .either(let choices): return choices.map(fields).joined(separator: "<p>or</p>")
    default: return "<p>\(type(schema))</p>"
    }
  }

  private func row(_ field: Schema.Field) -> String {
    let about = field.schema.about.isEmpty ? nested(field.schema) : field.schema.about
    return """
      <tr><td><code>\(field.name.htmlEscaped)</code></td><td>\(field.isRequired ? "always" : "optional")</td>\
      <td>\(type(field.schema))</td><td>\(HTML.line(about))</td></tr>
      """
  }

  private func nested(_ schema: Schema) -> String {
    guard case .named(let name) = schema.shape else { return "" }
    return description.schemas.first { $0.name == name }?.schema.about ?? ""
  }
}
