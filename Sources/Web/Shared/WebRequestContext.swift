public import HTTPTypes
public import Hummingbird
import Logging
import NIOCore
import Operations
import Wire

/// What belongs to one request while it is answered.
public struct WebRequestContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  /// Names the request in the log and in the reply's `X-Request-Id`.
  public let requestID: String
  /// Where the request came from; behind a proxy that is not trusted, the proxy's address.
  var clientAddress: IPAddress

  public init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    clientAddress = IPAddress(source.channel.remoteAddress)
    requestID = RequestID().description
  }

  /// The path parameter of that name, percent-decoded: `+` stands for itself, `%2F` is a slash inside the value.
  /// - Throws: `HTTPErrorResponse` (400) when it is not percent-encoded UTF-8 without U+0000.
  public func part(_ name: String) throws -> String {
    guard let raw = parameters[name[...]], let text = PercentEncoding.decode(raw.utf8) else {
      throw HTTPErrorResponse.badRequest("\(name): the path is not percent-encoded UTF-8.")
    }
    return text
  }
}

extension HTTPField.Name {
  /// `X-Request-Id`: names the request in the hub's log.
  public static let requestID = known("X-Request-Id")
  /// `X-Carma-Authentication-Token`: the access key (Carma iOS Integration Guide, "Carma Authentication").
  public static let carmaToken = known("X-Carma-Authentication-Token")
  /// `X-Pushcart-Identity`: HMAC-SHA256 over the originalId, by the customer's back end.
  public static let identity = known("X-Pushcart-Identity")
  /// `Idempotency-Key`: makes a repeated POST safe.
  public static let idempotencyKey = known("Idempotency-Key")
  /// `Idempotent-Replayed: true`: this reply was given before, under the same `Idempotency-Key`.
  public static let idempotentReplayed = known("Idempotent-Replayed")
  /// `DeviceID`: names a phone of CM Hybrid Messaging.
  public static let deviceID = known("DeviceID")
  /// `X-Total-Count`: how many there are, whatever `$top` leaves of them.
  static let totalCount = known("X-Total-Count")
  /// `Host`, in a fast request.
  static let host = known("Host")
  /// `X-Twilio-Signature`: that Twilio sent it.
  static let twilioSignature = known("X-Twilio-Signature")
  /// `X-Forwarded-For`: whom a proxy has the request from.
  static let forwardedFor = known("X-Forwarded-For")
  /// `X-Forwarded-Proto`: `https` if a proxy has the request by it.
  static let forwardedProto = known("X-Forwarded-Proto")
  /// `Sec-Fetch-Site`: whose page makes a browser's request.
  static let fetchSite = known("Sec-Fetch-Site")
  /// `Referrer-Policy`: whether links on a page send its address.
  static let referrerPolicy = known("Referrer-Policy")

  /// `X-Pushcart-Next`: the `after` of the next page, where a reply is no JSON.
  static let nextRow = known("X-Pushcart-Next")

  private static func known(_ name: StaticString) -> HTTPField.Name {
    guard let name = HTTPField.Name("\(name)") else { preconditionFailure("not a field name: \(name)") }
    return name
  }
}

extension Logger {
  /// Writes a line that names a request, if lines of this level are written.
  func log(
    _ level: Level, _ message: Message, of requestID: String, _ metadata: @autoclosure () -> Metadata
  ) {
    guard level >= logLevel else { return }
    log(level: level, message, metadata: metadata().merging(["request-id": "\(requestID)"]) { $1 })
  }
}
