/// A received request other than one for an access token.
struct FCMRequest: Sendable {
  /// The project in the address; empty for any other address.
  let project: String
  let message: FCMMessage
  private let incoming: IncomingRequest

  init(_ incoming: IncomingRequest) {
    self.incoming = incoming
    project = Self.project(incoming.path) ?? ""
    message = FCMMessage(incoming.body)
  }

  /// Whether this is `POST /v1/projects/{project}/messages:send`.
  var isSend: Bool { incoming.method == "POST" && !project.isEmpty }

  /// Whether it has any authorization.
  var isSigned: Bool { incoming.header("authorization") != nil }

  /// The access token; nil for any other authorization.
  var bearer: String? {
    guard let words = incoming.header("authorization")?.split(separator: " "), words.count == 2,
      words[0].lowercased() == "bearer"
    else { return nil }
    return String(words[1])
  }

  /// What is wrong with the body or its type.
  var formRefusal: SimulatedFCM.Refusal? {
    guard incoming.isOfType("application/json") else {
      let problem = "Invalid JSON payload received. The content type must be application/json."
      return .badRequest([FCMViolation(description: problem)], isFromFCM: false)
    }
    return message.refusal
  }

  private static func project(_ path: String) -> String? {
    let parts = path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].isEmpty, parts[1] == "v1", parts[2] == "projects", parts[4] == "messages:send"
    else { return nil }
    return String(parts[3])
  }
}
