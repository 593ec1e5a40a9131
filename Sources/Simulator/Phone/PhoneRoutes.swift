import Embedded
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Wire

/// The routes of the phone page and its stream of events, and of the sample page.
struct PhoneRoutes: Sendable {
  let pushes: RequestLog<PhoneEntry>
  let addresses: [(variable: String, value: String)]
  /// The app of the sample page; nil as long as there is none.
  let site: @Sendable () -> SampleSite?

  func add(to router: Router<PhoneRequestContext>) {
    router.get("/", use: page)
    router.get("/phone.css") { _, _ in Self.reply(PhonePage.style, "text/css; charset=utf-8") }
    for name in ["phone.js", "phone.svg"] { router.get(RouterPath("/\(name)")) { _, _ in Self.file(name) } }
    router.get("/events", use: events)
    router.get("/web") { _, _ in
      Self.reply(HTMLTemplates.simulator.render("site", SampleSite.values(of: site())), "text/html; charset=utf-8")
    }
    for name in ["site.css", "site.js"] { router.get(RouterPath("/web/\(name)")) { _, _ in Self.file(name) } }
    router.get("/web/sw.js") { _, _ in
      var response = Self.file("sw.js")
      // Its scope is the page, which is above its folder.
      response.headers[.serviceWorkerAllowed] = "/web"
      return response
    }
  }

  @Sendable private func page(_ request: Request, _ context: PhoneRequestContext) -> Response {
    let watched = Self.watched(request)
    let all = pushes.kept
    var devices: [PhoneDevice] = []
    var known: Set<String> = []
    for entry in all where known.insert(entry.token).inserted { devices.append(PhoneDevice(entry.push)) }
    // Each phone has its own, so that one with many pushes leaves no other empty.
    var capacity = Dictionary(uniqueKeysWithValues: PhoneKind.all.map { ($0, PhonePage.length) })
    let shown = all.reversed().filter { entry in
      guard watched == nil || entry.isFor(watched), let left = capacity[entry.phone], left > 0 else { return false }
      capacity[entry.phone] = left - 1
      return true
    }.reversed().map(\.push)
    return Self.reply(
      PhonePage.html(shown, devices: devices, watched: watched, last: all.last?.number ?? 0, addresses: addresses),
      "text/html; charset=utf-8")
  }

  /// Server-sent events (HTML Standard, section 9.2), one for each push, with its card and its device's line.
  @Sendable private func events(_ request: Request, _ context: PhoneRequestContext) -> Response {
    let watched = Self.watched(request)
    let after =
      request.headers[.lastEventID].flatMap { Int($0) } ?? request.uri.queryParameters.get("after", as: Int.self) ?? 0
    let entries = pushes.watch(replay: PhonePage.length)
    return Response(
      status: .ok,
      headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
      body: ResponseBody { writer in
        // A first byte tells the page that it is connected.
        try await writer.write(ByteBuffer(string: ": welcome\n\n"))
        for await entry in entries where entry.number > after && (watched == nil || entry.isFor(watched)) {
          try await writer.write(Self.event(entry.push))
        }
        try await writer.finish(nil)
      })
  }

  private struct Event: Encodable {
    var number: Int
    var phone: PhoneKind
    var token: String
    var card: String
    var device: String
  }

  private static func event(_ push: PhonePush) throws -> ByteBuffer {
    let event = Event(
      number: push.number, phone: push.phone, token: push.token,
      card: HTMLTemplates.simulator.render("_card", push.card),
      device: HTMLTemplates.simulator.render("_device", PhoneDevice(push).line(isWatched: false)))
    let json = String(decoding: try JSONCoding.encode(event), as: UTF8.self)
    return ByteBuffer(string: "event: push\nid: \(push.number)\ndata: \(json)\n\n")
  }

  private static func watched(_ request: Request) -> String? {
    request.uri.queryParameters["token"].map(String.init).flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func file(_ name: String) -> Response {
    let file = EmbeddedFile.simulator[named: name]
    return reply(file.text, file.contentType ?? "text/plain; charset=utf-8")
  }

  /// The policy allows nothing from elsewhere but rich pages in a frame, pictures, and `fetch` of read links.
  static func reply(_ text: String, _ type: String) -> Response {
    Response(
      status: .ok,
      headers: [
        .contentType: type,
        .cacheControl: "no-store",
        .contentSecurityPolicy:
          "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' http: https:; connect-src *; "
          + "frame-src http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        .xContentTypeOptions: "nosniff",
      ],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}

extension HTTPField.Name {
  static let lastEventID = Self.named("Last-Event-ID")
  static let serviceWorkerAllowed = Self.named("Service-Worker-Allowed")

  private static func named(_ name: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(name) else { preconditionFailure("not a field name: \(name)") }
    return name
  }
}
