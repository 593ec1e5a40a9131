import HTTPTypes
import Wire

extension ReferencePage {
  /// One operation: what it does, what it takes, how to call it, what it answers.
  func operationSection(_ operation: Operation) -> String {
    """
    <article id="\(operation.id)">
    <h3>\(badge(operation.method)) <code>\(HTML.escape(operation.path))</code>
    <a class="anchor" href="#\(operation.id)" aria-label="Link to \(operation.id)">#</a></h3>
    <p class="summary">\(HTML.escape(operation.summary)) \(door(operation))</p>
    \(HTML.prose(operation.about))
    \(parameters(operation.parameters))
    \(body(operation))
    <h4>Try it</h4>
    <pre>\(HTML.escape(CurlLine.make(operation, publicURL: publicURL)))</pre>
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
      <tr><td><code>\(HTML.escape(parameter.name))</code></td>\
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
      <pre>\(HTML.escape(body.example))</pre>
      """
  }

  private func reply(_ reply: Reply) -> String {
    let kind = reply.status.code < 400 ? "good" : "bad"
    let title = "<summary><b class=\"\(kind)\">\(reply.status.code)</b> \(HTML.line(reply.about))</summary>"
    switch reply.content {
    case .nothing: return "<details>\(title)<p>Without a body.</p></details>"
    case .json(let schema, let example):
      return """
        <details\(kind == "good" ? " open" : "")>\(title)
        <p>\(type(schema))</p><pre>\(HTML.escape(example))</pre></details>
        """
    case .other(let types, let example):
      return """
        <details>\(title)
        <p>\(types.map { "<code>\(HTML.escape($0))</code>" }.joined(separator: " or "))</p><pre>\(HTML.escape(example))</pre></details>
        """
    }
  }
}
