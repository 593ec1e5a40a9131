import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// The Simulator by hand: rules and orders, as JSON.
///
/// - `GET /rules`; `DELETE /rules`; `POST /rules` with
///   `{"tokenPrefix":"ab","environment":"sandbox","nth":3,"times":1,"reply":"refuse","status":410,"reason":"Unregistered"}`.
///   `reply` is accept, refuse, ignore, refuseStream, resetStream, goAway or cut; all but it may be left out.
///   `since` (with 410) is in milliseconds since 1970, `delayMilliseconds` puts any reply off.
/// - `POST /connections` with `{"order":"goAway"}`, or cut, answerIgnored, or limitStreams with `limit`.
struct RuleRoutes: Sendable {
  let apns: SimulatedAPNs

  func add(to router: Router<BasicRequestContext>) {
    router.get("/rules") { _, _ in try Self.json(apns.rules.map(RuleBody.init)) }
    router.delete("/rules") { _, _ in
      apns.removeRules()
      return Response(status: .noContent)
    }
    router.post("/rules") { request, _ in
      let rule = try await Self.read(RuleBody.self, request)
      let number = apns.rule(rule.match, try rule.made, times: rule.times)
      return try Self.json(["number": number], status: .created)
    }
    router.post("/connections") { request, _ in
      try (try await Self.read(OrderBody.self, request)).carryOut(on: apns)
      return Response(status: .noContent)
    }
  }

  /// Only JSON by its name: a page elsewhere cannot send that without asking the browser's leave.
  private static func read<Body: Decodable>(_ type: Body.Type, _ request: Request) async throws -> Body {
    guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
      throw HTTPError(.unsupportedMediaType, message: "application/json is asked for")
    }
    let bytes = try await request.body.collect(upTo: 64 << 10)
    do {
      return try JSONDecoder().decode(type, from: Data(bytes.readableBytesView))
    } catch {
      throw HTTPError(.badRequest, message: "no such JSON: see the addresses' description")
    }
  }

  private static func json(_ body: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
    Response(
      status: status, headers: [.contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(body))))
  }
}

/// A rule in JSON.
struct RuleBody: Codable {
  var number: Int?
  var tokenPrefix: String?
  var environment: SimulatedAPNs.Environment?
  var nth: Int?
  var times: Int?
  var reply: String
  var status: Int?
  var reason: String?
  var since: Double?
  var delayMilliseconds: Int?

  init(_ entry: RuleBook.Entry) {
    number = entry.number
    tokenPrefix = entry.match.tokenPrefix.isEmpty ? nil : entry.match.tokenPrefix
    environment = entry.match.environment
    nth = entry.match.nth
    times = entry.times
    var told = entry.reply
    if case .after(let delay, let then) = told {
      delayMilliseconds = Int(delay / .milliseconds(1))
      told = then
    }
    switch told {
    case .accept, .after: reply = "accept"
    case .ignore: reply = "ignore"
    case .refuseStream: reply = "refuseStream"
    case .resetStream: reply = "resetStream"
    case .cut: reply = "cut"
    case .goAway(let reason):
      reply = "goAway"
      self.reason = reason
    case .refuse(let status, let reason, let since):
      reply = "refuse"
      self.status = status
      self.reason = reason
      self.since = since.map { $0.timeIntervalSince1970 * 1000 }
    }
  }

  var match: SimulatedAPNs.Match {
    SimulatedAPNs.Match(tokenPrefix: tokenPrefix ?? "", environment: environment, nth: nth)
  }

  var made: SimulatedAPNs.Reply {
    get throws {
      let told: SimulatedAPNs.Reply
      switch reply {
      case "accept": told = .accept
      case "ignore": told = .ignore
      case "refuseStream": told = .refuseStream
      case "resetStream": told = .resetStream
      case "cut": told = .cut
      case "goAway": told = .goAway(reason: reason)
      case "refuse":
        guard let status, (400...599).contains(status), let reason else {
          throw HTTPError(.badRequest, message: "refuse asks for a status from 400 to 599 and a reason")
        }
        told = .refuse(status: status, reason: reason, since: since.map { Date(timeIntervalSince1970: $0 / 1000) })
      default: throw HTTPError(.badRequest, message: "no such reply: \(reply)")
      }
      return delayMilliseconds.map { .after(.milliseconds($0), told) } ?? told
    }
  }
}

/// An order to all connections, in JSON.
struct OrderBody: Decodable {
  var order: String
  var lastStream: Int?
  var reason: String?
  var limit: Int?

  func carryOut(on apns: SimulatedAPNs) throws {
    switch order {
    case "goAway": apns.goAway(lastStream: lastStream, reason: reason)
    case "cut": apns.cut()
    case "answerIgnored": apns.answerIgnored()
    case "limitStreams":
      guard let limit, limit >= 0 else { throw HTTPError(.badRequest, message: "limitStreams asks for a limit") }
      apns.limitStreams(to: limit)
    default: throw HTTPError(.badRequest, message: "no such order: \(order)")
    }
  }
}
