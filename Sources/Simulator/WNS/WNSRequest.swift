import Wire

/// A received request other than one for an access token.
struct WNSRequest: Sendable {
  /// The channel URI.
  let channel: String
  /// What the channel's query says; empty for any other address.
  let token: String
  let notification: WNSNotification
  private let incoming: IncomingRequest

  init(_ incoming: IncomingRequest) {
    self.incoming = incoming
    let path = incoming.path
    channel = "https://\(incoming.header(":authority") ?? "")\(path)"
    let query = "/?token="
    token =
      path.hasPrefix(query)
      ? PercentEncoding.decodeLeniently(path.utf8.dropFirst(query.utf8.count), plusIsBlank: true) : ""
    notification = WNSNotification(type: incoming.header("x-wns-type") ?? "", body: incoming.body)
  }

  var methodRefusal: SimulatedWNS.Refusal? {
    incoming.method == "POST" ? nil : .status(405, "The method is not allowed")
  }

  /// Whether WNS keeps it for a device that is offline. Toasts, tiles and badges are kept unless the request says otherwise.
  var isKept: Bool {
    incoming.header("x-wns-cache-policy").map { $0 == "cache" } ?? (notification.type != "wns/raw")
  }

  /// What is wrong with headers or body.
  var formRefusal: SimulatedWNS.Refusal? {
    func refuse(_ description: String) -> SimulatedWNS.Refusal { .status(400, description) }
    guard let contentType = WNSNotification.contentTypes[notification.type] else {
      return refuse("X-WNS-Type is missing or unknown")
    }
    guard incoming.isOfType(contentType) else {
      return refuse("Content-Type does not fit the type of notification")
    }
    guard incoming.header("content-length").flatMap({ Int($0) }) == incoming.body.count,
      incoming.header("transfer-encoding") == nil
    else { return refuse("Content-Length is missing; chunks are not supported") }
    if incoming.header("expect") != nil { return refuse("Expect is not supported") }
    if let ttl = incoming.header("x-wns-ttl"), UInt32(ttl).map({ $0 > 0 }) != true {
      return refuse("X-WNS-TTL is not a number of seconds")
    }
    if let policy = incoming.header("x-wns-cache-policy"),
      !["cache", "no-cache"].contains(policy) || notification.type == "wns/toast"
    {
      return refuse("X-WNS-Cache-Policy is not valid for this notification")
    }
    if let status = incoming.header("x-wns-requestforstatus"), !["true", "false"].contains(status) {
      return refuse("X-WNS-RequestForStatus is neither true nor false")
    }
    for name in ["x-wns-tag", "x-wns-group"] {
      guard let value = incoming.header(name) else { continue }
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
    if incoming.header("x-wns-suppresspopup") != nil { return refuse("X-WNS-SuppressPopup is for phones only") }
    if incoming.body.count > 5000 {
      return .status(413, "The notification payload exceeds the size limit of 5000 bytes")
    }
    return notification.fault.map(refuse)
  }
}
