import HTTPTypes

/// A command that calls an operation with its examples, to be pasted into a shell.
enum CurlLine {
  static func make(_ operation: Operation, publicURL: String) -> String {
    var parts = ["curl"]
    switch operation.method {
    case .get: break
    case .head: parts[0] += " -I"
    default: parts[0] += " -X \(operation.method.rawValue)"
    }
    parts[0] += " '\(publicURL)\(path(operation))'"
    if case .key = operation.door {
      parts.append(
        operation.path.hasPrefix("/api/v1/")
          ? "-H \"Authorization: Bearer $PUSHCART_KEY\"" : "-H \"X-Carma-Authentication-Token: $PUSHCART_KEY\"")
    }
    for parameter in operation.parameters where parameter.place == .header {
      parts.append("-H '\(parameter.name): \(parameter.example)'")
    }
    if let body = operation.body {
      parts.append("-H 'Content-Type: application/json'")
      parts.append("-d '\(body.example.replacing("'", with: "'\\''"))'")
    }
    return parts.joined(separator: " \\\n  ")
  }

  private static func path(_ operation: Operation) -> String {
    operation.parameters.filter { $0.place == .path }.reduce(operation.path) { path, parameter in
      path.replacing("{\(parameter.name)}", with: parameter.example)
    }
  }
}
