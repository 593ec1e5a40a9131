/// A received request other than one for an access token.
struct HMSRequest: Sendable {
  /// The client's id or the project's in the address; empty for any other address.
  let account: String
  /// Whether the address is a project's, to which service accounts send.
  let isOfProject: Bool
  let message: HMSMessage
  private let incoming: IncomingRequest

  init(_ incoming: IncomingRequest) {
    self.incoming = incoming
    let parts = incoming.path.split(separator: "/", omittingEmptySubsequences: false)
    let isAddress =
      parts.count == 4 && parts[0].isEmpty && ["v1", "v2"].contains(parts[1]) && parts[3] == "messages:send"
    account = isAddress ? String(parts[2]) : ""
    isOfProject = isAddress && parts[1] == "v2"
    message = HMSMessage(incoming.body)
  }

  /// Whether this is `POST /v1/{clientId}/messages:send` or `POST /v2/{projectId}/messages:send`.
  var isSend: Bool { incoming.method == "POST" && !account.isEmpty }

  /// The access token, or the JWT of a service account.
  var bearer: String? { incoming.bearer }

  /// What is wrong with the body or its type.
  var formRefusal: SimulatedHMS.Refusal? {
    guard incoming.isOfType("application/json") else {
      return .code("80100003", message: "The content type is not application/json.")
    }
    return message.refusal
  }
}
