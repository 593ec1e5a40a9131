import FoundationEssentials
import Wire

extension SimulatedWNS {
  /// A response of WNS, or of a token endpoint, that accepts nothing. Its status can be 200.
  public struct Refusal: Sendable, Hashable {
    public var status: Int
    public var body: String?
    /// The headers, whose names are in lower case.
    public var headers: [String: String] = [:]

    public init(status: Int, body: String? = nil, headers: [String: String] = [:]) {
      self.status = status
      self.body = body
      self.headers = headers
    }

    /// A refusal of a channel's request.
    /// - Parameters:
    ///   - description: nil for the status alone.
    ///   - continueAfter: the header `X-WNS-CONTINUE-AFTER`, in seconds.
    public static func status(_ status: Int, _ description: String? = nil, continueAfter: String? = nil) -> Self {
      var headers: [String: String] = [:]
      headers["x-wns-error-description"] = description
      headers["x-wns-continue-after"] = continueAfter
      return Self(status: status, headers: headers)
    }

    /// 200, and a word about what became of the notification other than `received`.
    /// - Parameter header: servers say `x-wns-notificationstatus`, and the documentation `x-wns-status`.
    public static func taken(
      _ word: String, header: String = "x-wns-notificationstatus", continueAfter: String? = nil
    ) -> Self {
      var headers = [header: word]
      headers["x-wns-continue-after"] = continueAfter
      return Self(status: 200, headers: headers)
    }

    /// An error of a token endpoint: `{"error":"invalid_client","error_description":"…"}`.
    public static func oauth(_ error: String, _ description: String, status: Int = 400) -> Self {
      Self(
        status: status, body: #"{"error":"\#(error)","error_description":"\#(description)"}"#,
        headers: ["content-type": "application/json; charset=utf-8"])
    }

    static let notFound = status(404, "The channel URI is not valid")
    static let expired = status(410, "The channel expired")
    static let otherApp = status(403, "The cloud service is not authorized to send a notification to this URI")
  }
}

extension SimulatedWNS.Refusal: ListedRefusal {
  static let listed =
    [taken("dropped"), taken("channelthrottled")] + [400, 401].map { status($0) } + [otherApp, notFound]
    + [405, 406].map { status($0) } + [expired] + [413, 500, 503].map { status($0) }

  static let listedForTokens = [
    oauth("invalid_client", "Invalid client secret"),
    oauth("invalid_client", "AADSTS7000215: Invalid client secret provided.", status: 401),
    oauth("unauthorized_client", "AADSTS700016: Application was not found in the directory."),
    oauth("invalid_request", "A required parameter is missing."),
    oauth("temporarily_unavailable", "The server is temporarily too busy.", status: 503),
  ]

  /// What became of the notification, the description of the error, or the token endpoint's error.
  var reason: String {
    headers["x-wns-notificationstatus"] ?? headers["x-wns-status"] ?? headers["x-wns-error-description"] ?? oauthError
      ?? ""
  }

  private var oauthError: String? {
    body.flatMap { try? JSONValue(json: Array($0.utf8)) }?["error"]?.text
  }

  /// WNS has a header of its own for it, in seconds; token endpoints have the usual one.
  var retryAfter: String? {
    get { headers[retryHeader] }
    set { headers[retryHeader] = newValue }
  }

  private var retryHeader: String { oauthError == nil ? "x-wns-continue-after" : "retry-after" }
}
