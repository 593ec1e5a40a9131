public import FoundationEssentials
import NIOHPACK
public import Wire

/// A received request other than one for an access token, its headers read once.
struct FCMRequest: Sendable {
  let headers: HPACKHeaders
  let body: [UInt8]
  /// The project in the address; empty for any other address.
  let project: String
  let message: FCMMessage
  private let method: String

  init(_ headers: HPACKHeaders, method: String, path: String, body: [UInt8]) {
    self.headers = headers
    self.body = body
    self.method = method
    project = Self.project(path) ?? ""
    message = FCMMessage(body)
  }

  /// Whether this is `POST /v1/projects/{project}/messages:send`.
  var isSend: Bool { method == "POST" && !project.isEmpty }

  /// Whether it has any authorization.
  var isSigned: Bool { headers.contains(name: "authorization") }

  /// The access token; nil for any other authorization.
  var bearer: String? {
    guard let words = headers.first(name: "authorization")?.split(separator: " "), words.count == 2,
      words[0].lowercased() == "bearer"
    else { return nil }
    return String(words[1])
  }

  /// What is wrong with the body or its type.
  var formRefusal: SimulatedFCM.Refusal? {
    guard headers.first(name: "content-type")?.isMediaType("application/json") == true else {
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

extension SimulatedFCM {
  /// A request that was received completely, and the reply to it; token requests are apart.
  public struct ReceivedRequest: Sendable {
    /// 1, 2, 3, … since the start.
    public let number: Int
    /// The number of its connection: 1, 2, 3, …
    public let connection: Int
    /// Its stream on that connection: 1, 3, 5, …
    public let stream: Int
    public let at: Date
    /// The project in the address.
    public let project: String
    /// The `client_email` of the account that its access token was issued to; nil without such a token.
    public let account: String?
    /// The registration token, or the installation's id; empty for a topic or a condition.
    public let token: String
    /// The whole body.
    public let payload: [UInt8]
    /// The object `message`, with its names in snake_case and without what did not fit.
    public let message: JSONValue
    /// Whether nothing was to be delivered.
    public let validateOnly: Bool
    public let reply: Reply
    let headers: HPACKHeaders

    /// The first value of a header; names are in lower case.
    public func header(_ name: String) -> String? { headers.first(name: name) }

    /// Whether a phone would get it: the reply is 200, at once or after a delay, and it was no test.
    public var isAccepted: Bool { reply.isAccepted && !validateOnly }
  }
}
