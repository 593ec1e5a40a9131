public import FoundationEssentials
import NIOHPACK
import Wire
import XML

/// A received request other than one for an access token.
struct WNSRequest: Sendable {
  let headers: HPACKHeaders
  let body: [UInt8]
  /// The channel URI.
  let channel: String
  /// What the channel's query says; empty for any other address.
  let token: String
  let notification: WNSNotification
  private let method: String

  init(_ headers: HPACKHeaders, method: String, path: String, body: [UInt8]) {
    self.headers = headers
    self.body = body
    self.method = method
    channel = "https://\(headers.first(name: ":authority") ?? "")\(path)"
    let query = "/?token="
    token =
      path.hasPrefix(query)
      ? PercentEncoding.decodeLeniently(path.utf8.dropFirst(query.utf8.count), plusIsBlank: true) : ""
    notification = WNSNotification(type: headers.first(name: "x-wns-type") ?? "", body: body)
  }

  /// The access token; nil for any other authorization.
  var bearer: String? {
    guard let value = headers.first(name: "authorization"), value.hasPrefix("Bearer ") else { return nil }
    return String(value.dropFirst(7))
  }

  var methodRefusal: SimulatedWNS.Refusal? { method == "POST" ? nil : .status(405, "The method is not allowed") }

  /// Whether WNS keeps it for a device that is offline. Toasts, tiles and badges are kept unless the request says otherwise.
  var isKept: Bool {
    headers.first(name: "x-wns-cache-policy").map { $0 == "cache" } ?? (notification.type != "wns/raw")
  }

  /// What is wrong with headers or body.
  var formRefusal: SimulatedWNS.Refusal? {
    func refuse(_ description: String) -> SimulatedWNS.Refusal { .status(400, description) }
    guard let contentType = WNSNotification.contentTypes[notification.type] else {
      return refuse("X-WNS-Type is missing or unknown")
    }
    guard headers.first(name: "content-type")?.isMediaType(contentType) == true else {
      return refuse("Content-Type does not fit the type of notification")
    }
    guard headers.first(name: "content-length").flatMap({ Int($0) }) == body.count,
      headers.first(name: "transfer-encoding") == nil
    else { return refuse("Content-Length is missing; chunks are not supported") }
    if headers.first(name: "expect") != nil { return refuse("Expect is not supported") }
    if let ttl = headers.first(name: "x-wns-ttl"), UInt32(ttl).map({ $0 > 0 }) != true {
      return refuse("X-WNS-TTL is not a number of seconds")
    }
    if let policy = headers.first(name: "x-wns-cache-policy"),
      !["cache", "no-cache"].contains(policy) || notification.type == "wns/toast"
    {
      return refuse("X-WNS-Cache-Policy is not valid for this notification")
    }
    if let status = headers.first(name: "x-wns-requestforstatus"), !["true", "false"].contains(status) {
      return refuse("X-WNS-RequestForStatus is neither true nor false")
    }
    for name in ["x-wns-tag", "x-wns-group"] {
      guard let value = headers.first(name: name) else { continue }
      let isPlain = value.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: false
        }
      }
      guard isPlain, (1...16).contains(value.utf8.count) else {
        return refuse("\(name) has more than 16 characters, or others than letters and digits")
      }
    }
    if headers.first(name: "x-wns-suppresspopup") != nil { return refuse("X-WNS-SuppressPopup is for phones only") }
    if body.count > 5000 { return .status(413, "The notification payload exceeds the size limit of 5000 bytes") }
    return notification.fault.map(refuse)
  }
}

extension SimulatedWNS {
  /// A request to a channel that was received completely, and the reply to it; token requests are apart.
  public struct ReceivedRequest: Sendable {
    /// 1, 2, 3, … since the start.
    public let number: Int
    /// The number of its connection: 1, 2, 3, …
    public let connection: Int
    /// Its stream on that connection: 1, 3, 5, …; requests of HTTP/1.1 are counted alike.
    public let stream: Int
    public let at: Date
    /// The Package SID, or the client's id; nil without a valid access token.
    public let account: String?
    /// The app's name, as it was registered.
    public let app: String
    /// The channel URI.
    public let channel: String
    /// Such as `wns/toast`.
    public let type: String
    public let payload: [UInt8]
    public let reply: Reply
    let xml: ParsedXML?
    let headers: HPACKHeaders

    /// The first value of a header; names are in lower case.
    public func header(_ name: String) -> String? { headers.first(name: name) }

    /// Whether the device would get it.
    public var isAccepted: Bool { reply.isAccepted }

    /// The texts of a toast, in their order.
    public var texts: [String] { xml?.all("text").map(\.text) ?? [] }

    /// The source of the first image.
    var picture: String? { xml?.all("image").first?.attributes["src"] }

    /// The attribute of the root element, as `launch` of a toast.
    public func attribute(_ name: String) -> String? { xml?.attributes[name] }
  }
}
