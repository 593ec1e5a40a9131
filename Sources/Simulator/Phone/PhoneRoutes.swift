import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// The phone page and its stream of events.
struct PhoneRoutes: Sendable {
  let apns: SimulatedAPNs
  let addresses: [(String, String)]

  func add(to router: Router<BasicRequestContext>) {
    router.get("/", use: page)
    router.get("/phone.css") { _, _ in Self.reply(PhoneStyle.text, "text/css; charset=utf-8") }
    router.get("/phone.js") { _, _ in Self.reply(PhoneScript.text, "text/javascript; charset=utf-8") }
    router.get("/phone.svg") { _, _ in Self.reply(PhoneStyle.icon, "image/svg+xml") }
    router.get("/events", use: events)
  }

  @Sendable private func page(_ request: Request, _ context: BasicRequestContext) -> Response {
    let watched = Self.watched(request)
    let shown = apns.arrivals.filter(\.isAccepted)
    var devices: [PhoneDevice] = []
    var known: Set<String> = []
    for arrival in shown where known.insert(arrival.token).inserted {
      devices.append(PhoneDevice(PhonePush(arrival)))
    }
    return Self.reply(
      PhonePage.html(
        shown.filter { watched == nil || $0.token == watched }, devices: devices, watched: watched,
        addresses: addresses),
      "text/html; charset=utf-8")
  }

  /// Server-sent events (HTML Standard, section 9.2), one a push: its card, and its device's line.
  @Sendable private func events(_ request: Request, _ context: BasicRequestContext) -> Response {
    let watched = Self.watched(request)
    let after =
      request.headers[.lastEventID].flatMap { Int($0) } ?? request.uri.queryParameters.get("after", as: Int.self) ?? 0
    let arrivals = apns.log.watch(replay: PhonePage.length)
    return Response(
      status: .ok,
      headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
      body: ResponseBody { writer in
        // A first byte: the page is connected.
        try await writer.write(ByteBuffer(string: ": welcome\n\n"))
        for await arrival in arrivals where arrival.number > after && arrival.isAccepted {
          if let watched, arrival.token != watched { continue }
          try await writer.write(Self.event(PhonePush(arrival)))
        }
        try await writer.finish(nil)
      })
  }

  private struct Event: Encodable {
    var number: Int
    var token: String
    var card: String
    var device: String
  }

  private static func event(_ push: PhonePush) throws -> ByteBuffer {
    let event = Event(
      number: push.number, token: push.token, card: PhonePage.card(push),
      device: PhonePage.device(PhoneDevice(push), isWatched: false))
    let json = String(decoding: try JSONEncoder().encode(event), as: UTF8.self)
    return ByteBuffer(string: "event: push\nid: \(push.number)\ndata: \(json)\n\n")
  }

  private static func watched(_ request: Request) -> String? {
    request.uri.queryParameters["token"].map { $0.lowercased() }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Nothing from elsewhere but rich pages in a frame, and read marks by `fetch`.
  static func reply(_ text: String, _ type: String) -> Response {
    Response(
      status: .ok,
      headers: [
        .contentType: type,
        .cacheControl: "no-store",
        .contentSecurityPolicy:
          "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; connect-src *; "
          + "frame-src http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        .xContentTypeOptions: "nosniff",
      ],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}

extension HTTPField.Name {
  static let lastEventID = Self.named("Last-Event-ID")

  private static func named(_ name: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(name) else { preconditionFailure("not a field name: \(name)") }
    return name
  }
}
