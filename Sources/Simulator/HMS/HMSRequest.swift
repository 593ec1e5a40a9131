public import FoundationEssentials
import NIOHPACK
public import Wire

/// A received request other than one for an access token.
struct HMSRequest: Sendable {
  let headers: HPACKHeaders
  let body: [UInt8]
  /// The client's id or the project's in the address; empty for any other address.
  let account: String
  /// Whether the address is a project's, to which service accounts send.
  let isOfProject: Bool
  let message: HMSMessage
  private let method: String

  init(_ headers: HPACKHeaders, method: String, path: String, body: [UInt8]) {
    self.headers = headers
    self.body = body
    self.method = method
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let isAddress =
      parts.count == 4 && parts[0].isEmpty && ["v1", "v2"].contains(parts[1]) && parts[3] == "messages:send"
    account = isAddress ? String(parts[2]) : ""
    isOfProject = isAddress && parts[1] == "v2"
    message = HMSMessage(body)
  }

  /// Whether this is `POST /v1/{clientId}/messages:send` or `POST /v2/{projectId}/messages:send`.
  var isSend: Bool { method == "POST" && !account.isEmpty }

  /// The access token; nil for any other authorization.
  var bearer: String? {
    guard let value = headers.first(name: "authorization"), value.hasPrefix("Bearer ") else { return nil }
    return String(value.dropFirst(7))
  }

  /// What is wrong with the body or its type.
  var formRefusal: SimulatedHMS.Refusal? {
    guard headers.first(name: "content-type")?.isMediaType("application/json") == true else {
      return .code("80100003", message: "The content type is not application/json.")
    }
    return message.refusal
  }
}

extension SimulatedHMS {
  /// A request that was received completely, and the reply to it; token requests are apart.
  public struct ReceivedRequest: Sendable {
    /// 1, 2, 3, … since the start.
    public let number: Int
    /// The number of its connection: 1, 2, 3, …
    public let connection: Int
    /// Its stream on that connection: 1, 3, 5, …
    public let stream: Int
    public let at: Date
    /// The client's id, or the project's, in the address.
    public let account: String
    /// The app's name, as it was registered.
    public let app: String
    public let tokens: [String]
    /// Those of them that the reply names as invalid while others are not.
    public let illegalTokens: [String]
    /// The whole body.
    public let payload: [UInt8]
    /// The object `message`, without what did not fit.
    public let message: JSONValue
    /// Whether nothing was to be delivered.
    public let validateOnly: Bool
    public let reply: Reply
    let headers: HPACKHeaders

    /// The first value of a header; names are in lower case.
    public func header(_ name: String) -> String? { headers.first(name: name) }

    /// Whether phones would get it: the reply is no refusal, at once or after a delay, and it was no test.
    public var isAccepted: Bool { reply.isAccepted && !validateOnly }
  }
}
