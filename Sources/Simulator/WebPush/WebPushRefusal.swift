import FoundationEssentials
import Wire

extension SimulatedWebPush {
  /// An error response of Mozilla's push service.
  public struct Refusal: Error, Sendable, Hashable {
    public var status: Int
    public var body: String
    /// The header `retry-after`: seconds, or an HTTP date.
    public var retryAfter: String?

    /// - Parameter body: any text; proxies answer in HTML.
    public init(status: Int, body: String, retryAfter: String? = nil) {
      self.status = status
      self.body = body
      self.retryAfter = retryAfter
    }

    /// `{"code":404,"errno":102,"error":"Not Found","message":"…","more_info":"…"}`.
    public static func errno(_ number: Int, status: Int, _ message: String, retryAfter: String? = nil) -> Self {
      let quoted = String(decoding: JSONText.quoted(message), as: UTF8.self)
      let info = "http://autopush.readthedocs.io/en/latest/http.html#error-codes"
      return Self(
        status: status,
        body: #"{"code":\#(status),"errno":\#(number),"error":"\#(words[status] ?? "Error")","#
          + #""message":\#(quoted),"more_info":"\#(info)"}"#,
        retryAfter: retryAfter)
    }

    /// 404: no endpoint has this address.
    public static let noSuchEndpoint = errno(102, status: 404, "Invalid token")
    /// 410: the browser has unsubscribed.
    public static let unsubscribed = errno(106, status: 410, "No such subscription")
    /// 410: the browser's profile is gone.
    public static let noSuchBrowser = errno(103, status: 410, "UAID not found")
    /// 413: the body has over 4096 bytes.
    public static let tooLarge = errno(104, status: 413, "This message is intended for a constrained device.")
    /// 429, as of a proxy.
    public static func tooMany(retryAfter: String? = nil) -> Self {
      Self(status: 429, body: "Too Many Requests", retryAfter: retryAfter)
    }
    /// 503: back off.
    public static func unavailable(retryAfter: String? = "120") -> Self {
      errno(201, status: 503, "Use exponential back-off for retries", retryAfter: retryAfter)
    }

    /// An error of Apple's push service: `{"reason":"BadJwtToken"}`.
    static func apple(_ word: String, status: Int) -> Self { Self(status: status, body: #"{"reason":"\#(word)"}"#) }

    /// 403: what Google's push service says of a subscription that was made with another key.
    static let otherKey = Self(
      status: 403,
      body: "the VAPID credentials in the authorization header do not correspond to the credentials used to create the "
        + "subscriptions.")

    static func unauthorized(_ message: String) -> Self { errno(109, status: 401, message) }
    static func badEncryption(_ message: String) -> Self { errno(110, status: 400, message) }

    private static let words = [
      400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone",
      413: "Payload Too Large", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable",
    ]
  }
}

extension SimulatedWebPush.Refusal: ListedRefusal, TextRefusal {
  var contentType: String { body.hasPrefix("{") ? "application/json" : "text/plain" }

  static let listed =
    [101, 108, 110, 111, 112, 113].map { errno($0, status: 400, "Refused by a rule") } + [
      unauthorized("Refused by a rule"), noSuchEndpoint, noSuchBrowser, errno(105, status: 410, "Endpoint deleted"),
      unsubscribed, tooLarge, tooMany(), errno(999, status: 500, "Unknown error"),
    ] + (900...903).map { errno($0, status: 502, "Bridge trouble") } + [
      unavailable(), errno(202, status: 503, "Try again at once"), apple("VapidPkHashMismatch", status: 400),
      apple("VapidPkHashMismatch", status: 403), apple("BadJwtToken", status: 403),
      apple("ExpiredJwtToken", status: 403), otherKey,
    ] + statuses.map { Self(status: $0, body: "") }

  /// Those that come without a word.
  private static let statuses = [301, 302, 307, 308, 403, 406, 408, 410, 413, 502]

  /// Mozilla's `errno`, Apple's word, or a text in place of JSON.
  var reason: String {
    guard let json = try? JSONValue(json: Array(body.utf8)) else { return body }
    if let number = json["errno"]?.integer { return String(number) }
    return json["reason"]?.text ?? ""
  }
}
