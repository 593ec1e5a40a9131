import HTTPTypes
import Wire

extension ReferencePage {
  /// One operation: what it does, what it takes, how to call it, what it answers.
  func operationSection(_ operation: Operation) -> String {
    """
    <article id="\(operation.id)">
    <h3>\(badge(operation.method)) <code>\(operation.path.htmlEscaped)</code>
    <a class="anchor" href="#\(operation.id)" aria-label="Link to \(operation.id)">#</a></h3>
    <p class="summary">\(operation.summary.htmlEscaped) \(door(operation))</p>
    \(HTML.prose(operation.about))
    \(parameters(operation.parameters))
    \(body(operation))
    <h4>Try it</h4>
    <pre>\(CurlLine.make(operation, publicURL: publicURL).htmlEscaped)</pre>
    <h4>Replies</h4>
    \(operation.allReplies.map(reply).joined(separator: "\n"))
    </article>
    """
  }

  private func door(_ operation: Operation) -> String {
    switch operation.door {
    case .open: "<span class=\"door\">no key</span>"
    case .key(let scope): "<span class=\"door\">key of scope \(scope.rawValue)</span>"
    }
  }

  private func parameters(_ parameters: [Parameter]) -> String {
    guard !parameters.isEmpty else { return "" }
    let rows = parameters.map { parameter in
      """
      <tr><td><code>\(parameter.name.htmlEscaped)</code></td>\
      <td>\(parameter.place.rawValue)\(parameter.isRequired ? "" : ", optional")</td>\
      <td>\(type(parameter.schema))</td><td>\(HTML.line(parameter.schema.about))</td></tr>
      """
    }
    return """
      <h4>Parameters</h4>
      <div class="scroll"><table><tbody>
      \(rows.joined(separator: "\n"))
      </tbody></table></div>
      """
  }

  private func body(_ operation: Operation) -> String {
    guard let body = operation.body else { return "" }
    return """
      <h4>Body: \(type(body.schema))</h4>
      <pre>\(body.example.htmlEscaped)</pre>
      """
  }

  private func reply(_ reply: Reply) -> String {
    let kind = reply.status.code < 400 ? "good" : "bad"
    let title = "<summary><b class=\"\(kind)\">\(reply.status.code)</b> \(HTML.line(reply.about))</summary>"
    switch reply.content {
    case .nothing: return "<details>\(title)<p>Without a body.</p></details>"
    case .json(let schema, let examples):
      return """
        <details\(kind == "good" ? " open" : "")>\(title)
        <p>\(type(schema))</p>\(examples.map { "<pre>\($0.htmlEscaped)</pre>" }.joined())</details>
        """
    case .other(let types, let example):
      return """
        <details>\(title)
        <p>\(types.map { "<code>\($0.htmlEscaped)</code>" }.joined(separator: " or "))</p><pre>\(example.htmlEscaped)</pre></details>
        """
    }
  }
}
