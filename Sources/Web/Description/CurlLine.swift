import HTTPTypes
import Wire

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
        operation.path.hasPrefix("/api/v1/")
          ? "-H \"Authorization: Bearer $PUSHCART_KEY\"" : "-H \"X-Carma-Authentication-Token: $PUSHCART_KEY\"")
    }
    for parameter in operation.parameters where parameter.location == .header {
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
