import HTTPTypes
import Operations
import Wire

extension ReferencePage {
  /// One operation: description, parameters, body, a command to try it, responses.
  func operationSection(_ operation: APIOperation) -> String {
    """
    <article id="\(operation.id)">
    <h3>\(badge(operation.method)) <code>\(operation.path.htmlEscaped)</code>
    <a class="anchor" href="#\(operation.id)" aria-label="Link to \(operation.id)">#</a></h3>
    <p class="summary">\(operation.summary.htmlEscaped) \(security(operation))</p>
    \(HTML.prose(operation.description))
    \(parameters(operation.parameters))
    \(body(operation))
    <h4>Try it</h4>
    <pre>\(CurlLine.make(operation, publicURL: publicURL).htmlEscaped)</pre>
    <h4>Responses</h4>
    \(operation.allResponses.map(response).joined(separator: "\n"))
    </article>
    """
  }

  private func security(_ operation: APIOperation) -> String {
    switch operation.security {
    case .none: "<span class=\"security\">no key</span>"
    case .key(let scope): "<span class=\"security\">key of scope \(scope.rawValue)</span>"
    case .mac: "<span class=\"security\">signature of an app</span>"
    }
  }

  private func parameters(_ parameters: [APIParameter]) -> String {
    guard !parameters.isEmpty else { return "" }
    let rows = parameters.map { parameter in
      """
      <tr><td><code>\(parameter.name.htmlEscaped)</code></td>\
      <td>\(parameter.location.rawValue)\(parameter.isRequired ? "" : ", optional")</td>\
      <td>\(type(parameter.schema))</td><td>\(HTML.line(parameter.description))</td></tr>
      """
    }
    return """
      <h4>Parameters</h4>
      <div class="scroll"><table><tbody>
      \(rows.joined(separator: "\n"))
      </tbody></table></div>
      """
  }

  private func body(_ operation: APIOperation) -> String {
    if let csv = operation.csvBody {
      return "<h4>Body: <code>text/csv</code></h4><pre>\(csv.htmlEscaped)</pre>"
    }
    guard let body = operation.requestBody else { return "" }
    return """
      <h4>Body\(body.isRequired ? "" : ", if any"): \(type(body.schema))</h4>
      \(examples(body))
      \(operation.xmlBody.map { "<p>Or as <code>application/xml</code>:</p><pre>\($0.htmlEscaped)</pre>" } ?? "")
      """
  }

  private func response(_ response: APIResponse) -> String {
    let kind = response.status.code < 400 ? "good" : "bad"
    let title = """
      <summary><b class="\(kind)">\(response.status.code)</b> \(HTML.line(response.description))</summary>
      """
    switch response.content {
    case .none: return "<details>\(title)<p>No body.</p></details>"
    case .json(let content):
      return """
        <details\(kind == "good" ? " open" : "")>\(title)
        <p>\(type(content.schema))</p>\(examples(content))</details>
        """
    case .jsonOrText(let content, let types, let example):
      let text = types.map { "<code>\($0.htmlEscaped)</code>" }.joined(separator: " or ")
      return """
        <details\(kind == "good" ? " open" : "")>\(title)
        <p>\(type(content.schema))</p>\(examples(content))
        <p>Or \(text)</p><pre>\(example.htmlEscaped)</pre></details>
        """
    case .text(let types, let example):
      return """
        <details>\(title)
        <p>\(types.map { "<code>\($0.htmlEscaped)</code>" }.joined(separator: " or "))</p><pre>\(example.htmlEscaped)</pre></details>
        """
    }
  }

  private func examples(_ content: APIContent) -> String {
    content.examples.map { "<pre>\(ExampleText.json($0, content.schema).htmlEscaped)</pre>" }.joined()
  }
}
