import FoundationEssentials
import Wire

extension SimulatedHMS {
  /// A response of Push Kit, or of Huawei's token endpoint, that accepts nothing. Its status can be 200.
  public struct Refusal: Sendable, Hashable {
    public var status: Int
    public var body: String
    var contentType: String { SimulatedHMS.contentType }
    /// The header `retry-after`: seconds, or an HTTP date.
    public var retryAfter: String?

    /// - Parameter body: any text; Huawei's proxies answer in HTML.
    public init(status: Int, body: String, retryAfter: String? = nil) {
      self.status = status
      self.body = body
      self.retryAfter = retryAfter
    }

    /// A refusal by a code of Push Kit.
    /// - Parameters:
    ///   - status: nil for the status that such a code comes with.
    ///   - message: nil for the code's own.
    public static func code(_ code: String, status: Int? = nil, message: String? = nil) -> Self {
      Self(status: status ?? usualStatus[code] ?? 200, body: HMSBody.text(code, message ?? "Refused by \(code)"))
    }

    /// 80300007: none of the tokens is valid.
    public static let allTokensInvalid = code("80300007", message: "All the tokens are invalid")

    /// 503 without a code.
    public static func flowControl(retryAfter: String? = nil) -> Self {
      Self(status: 503, body: "<html>503 Service Temporarily Unavailable</html>", retryAfter: retryAfter)
    }

    /// A page of one of Huawei's front ends, which has no code.
    static func page(_ status: Int) -> Self { Self(status: status, body: "<html>\(status)</html>") }

    static let noSuchAddress = Self(status: 404, body: #"{"error":"service not found"}"#)

    /// A refusal of the token endpoint: `{"error":1101,"sub_error":20044,"error_description":"…"}`.
    public static func signIn(
      _ error: Int, _ description: String, status: Int = 400, retryAfter: String? = nil
    ) -> Self {
      let body = #"{"error":\#(error),"sub_error":0,"error_description":"\#(description)"}"#
      return Self(status: status, body: body, retryAfter: retryAfter)
    }

    private static let usualStatus = [
      "80100001": 400, "80100003": 400, "80100004": 400, "80100013": 400, "80100016": 400, "80100018": 400,
      "80200001": 401, "80200003": 401, "80200005": 401, "80300008": 400, "80300010": 400, "80600003": 500,
      "81000001": 500,
    ]
  }
}

extension SimulatedHMS.Refusal: ListedRefusal, TextRefusal {
  static let listed =
    usualStatus.keys.sorted().map { code($0) } + [
      code("80100000"), code("80100017"), code("80300002"), allTokensInvalid, code("80300011"), code("80300013"),
    ] + [200, 400, 401, 403, 404, 408, 429, 500, 502].map { page($0) } + [flowControl()]

  static let listedForTokens = [
    signIn(1101, "invalid client_secret"), signIn(1102, "missing required parameter"), flowControl(),
  ]

  /// The code, or the token endpoint's error; pages and flow control have none.
  var reason: String {
    let json = try? JSONValue(json: Array(body.utf8))
    if let number = json?["error"]?.integer { return String(number) }
    return json?["code"]?.text ?? ""
  }
}

/// A response's body.
enum HMSBody {
  static func text(_ code: String, _ message: String) -> String {
    let quoted = String(decoding: JSONText.quoted(message), as: UTF8.self)
    return #"{"code":"\#(code)","msg":\#(quoted),"requestId":"\#(UUID().uuidString)"}"#
  }

  /// - Parameter illegal: those of `count` tokens that are invalid.
  static func accepted(illegal: [String], of count: Int) -> String {
    guard !illegal.isEmpty else { return text("80000000", "Success") }
    let tokens = illegal.map { String(decoding: JSONText.quoted($0), as: UTF8.self) }.joined(separator: ",")
    let report = #"{"success":\#(count - illegal.count),"failure":\#(illegal.count),"illegal_tokens":[\#(tokens)]}"#
    return text("80100000", report)
  }
}
