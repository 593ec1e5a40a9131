import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// The routes for rules and orders of the simulated APNs, as JSON.
///
/// - `GET /rules`; `DELETE /rules`; `POST /rules` with
///   `{"tokenPrefix":"ab","environment":"sandbox","nth":3,"times":1,"reply":"refuse","status":410,"reason":"Unregistered"}`.
///   `reply` is accept, refuse, ignore, refuseStream, resetStream, goAway or cut, and the only field that is required.
///   `since` (with 410) is in milliseconds since 1970; `delayMilliseconds` delays any reply.
/// - `GET /connections`: how many are open, how many were ever opened, and how many streams were opened beyond the limit.
/// - `POST /connections` with `{"order":"goAway"}`, or cut, answerIgnored, or limitStreams with `limit`.
struct RuleRoutes: Sendable {
  let apns: SimulatedAPNs

  func add(to router: Router<PhoneRequestContext>) {
    router.get("/rules") { _, _ in try Self.json(apns.rules.map(RuleBody.init)) }
    router.delete("/rules") { _, _ in
      apns.removeRules()
      return Response(status: .noContent)
    }
    router.post("/rules") { request, _ in
      let rule = try await Self.read(RuleBody.self, request)
      let number = apns.rule(rule.match, try rule.simulatedReply, times: rule.times)
      return try Self.json(["number": number], status: .created)
    }
    router.get("/connections") { _, _ in try Self.json(ConnectionCounts(apns)) }
    router.post("/connections") { request, _ in
      try (try await Self.read(OrderBody.self, request)).carryOut(on: apns)
      return Response(status: .noContent)
    }
  }

  /// Only `application/json`: a page elsewhere cannot send that without a CORS preflight.
  private static func read<Body: Decodable>(_ type: Body.Type, _ request: Request) async throws -> Body {
    guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
      throw HTTPError(.unsupportedMediaType, message: "The body must be application/json.")
    }
    let bytes = try await request.body.collect(upTo: 64 << 10)
    do {
      return try JSONDecoder().decode(type, from: Data(bytes.readableBytesView))
    } catch {
      throw HTTPError(.badRequest, message: "The body is not such a JSON object.")
    }
  }

  private static func json(_ body: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
    Response(
      status: status, headers: [.contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(body))))
  }
}

/// A rule as JSON.
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

  init(_ entry: SimulatedAPNs.Rules.Entry) {
    number = entry.number
    tokenPrefix = entry.match.tokenPrefix.isEmpty ? nil : entry.match.tokenPrefix
    environment = entry.match.environment
    nth = entry.match.nth
    times = entry.times
    var plain = entry.reply
    if case .after(let delay, let then) = plain {
      delayMilliseconds = Int(delay / .milliseconds(1))
      plain = then
    }
    switch plain {
    case .accept, .after: reply = "accept"
    case .ignore: reply = "ignore"
    case .refuseStream: reply = "refuseStream"
    case .resetStream: reply = "resetStream"
    case .cut: reply = "cut"
    case .goAway(let reason):
      reply = "goAway"
      self.reason = reason
    case .refuse(let refusal):
      reply = "refuse"
      status = refusal.status
      reason = refusal.reason
      since = refusal.since.map { $0.timeIntervalSince1970 * 1000 }
    }
  }

  var match: SimulatedAPNs.Match {
    SimulatedAPNs.Match(tokenPrefix: tokenPrefix ?? "", environment: environment, nth: nth)
  }

  var simulatedReply: SimulatedAPNs.Reply {
    get throws {
      let plain: SimulatedAPNs.Reply
      switch reply {
      case "accept": plain = .accept
      case "ignore": plain = .ignore
      case "refuseStream": plain = .refuseStream
      case "resetStream": plain = .resetStream
      case "cut": plain = .cut
      case "goAway": plain = .goAway(reason: reason)
      case "refuse":
        guard let status, (400...599).contains(status), let reason else {
          throw HTTPError(.badRequest, message: "The reply refuse needs a status from 400 to 599 and a reason.")
        }
        plain = .refuse(status: status, reason: reason, since: since.map { Date(timeIntervalSince1970: $0 / 1000) })
      default: throw HTTPError(.badRequest, message: "There is no reply \(reply).")
      }
      return delayMilliseconds.map { .after(.milliseconds($0), plain) } ?? plain
    }
  }
}

/// The connections of the simulated APNs, as JSON.
struct ConnectionCounts: Codable {
  var open: Int
  var opened: Int
  var streamsBeyondLimit: Int

  init(_ apns: SimulatedAPNs) {
    open = apns.openConnections
    opened = apns.connectionsOpened
    streamsBeyondLimit = apns.streamsBeyondLimit
  }
}

/// An order to all connections, as JSON.
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
      guard let limit, limit >= 0 else {
        throw HTTPError(.badRequest, message: "The order limitStreams needs a limit.")
      }
      apns.limitStreams(to: limit)
    default: throw HTTPError(.badRequest, message: "There is no order \(order).")
    }
  }
}
