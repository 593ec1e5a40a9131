import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Wire

/// The routes for rules and orders of the simulated services, as JSON.
///
/// `service` is a `PushServiceName`, in the query or as a member of the body; without it it is apns.
///
/// - `GET /rules`; `DELETE /rules`, those for token requests too; `POST /rules` with
///   `{"service":"fcm","tokenPrefix":"ab","nth":3,"times":1,"reply":"refuse","status":404,"reason":"UNREGISTERED"}`.
///   `reply` is accept, refuse, ignore, refuseStream, resetStream, goAway or cut, and the only member that is required.
///   `tokenPrefix` begins the device token, the token in a channel URI, the last part of a browser's endpoint, or a telephone number.
///   `delayMilliseconds` delays any reply.
///   - With `"requests":"token"`, a rule is for requests for access tokens. `TokenIssuingService`s have them. `clientPrefix` begins the
///     client's id or the account's `client_email`. `reason` is the `error` in the body. They are numbered apart.
///   - APNs also has `environment`. It needs a `status` from 400 to 599 and any `reason`; `since` (with 410) is in milliseconds
///     since 1970.
///   - Other services have the refusals that `ListedRefusal.listed` of each names, and `retryAfter`. `status` or `reason` is enough
///     where it names a single one, and an empty `reason` names the one that has none. `reason` is the service's code. A field that FCM
///     names follows its code. For WNS it is what a header says. For Web Push it is Mozilla's `errno`, Apple's word, or Google's sentence.
///     FCM also has `project`.
///   - Any other member is refused with 400.
/// - `GET /connections`: how many are open, how many were ever opened, and how many streams were opened beyond the limit.
/// - `POST /connections` with `{"order":"goAway"}`, or cut, answerIgnored, or limitStreams with `limit`.
struct RuleRoutes: Sendable {
  let services: [any SteerableService]

  func add(to router: Router<PhoneRequestContext>) {
    router.get("/rules") { request, _ in try Self.json(try service(of: request).ruleBodies) }
    router.delete("/rules") { request, _ in
      try service(of: request).removeRules()
      return Response(status: .noContent)
    }
    router.post("/rules") { request, _ in
      let rule = try await Self.read(RuleBody.self, request)
      let number = try service(rule.service, of: request).add(rule)
      return try Self.json(["number": number], status: .created)
    }
    router.get("/connections") { request, _ in try Self.json(Self.counts(try service(of: request))) }
    router.post("/connections") { request, _ in
      let order = try await Self.read(OrderBody.self, request)
      try order.carryOut(on: try service(order.service, of: request))
      return Response(status: .noContent)
    }
  }

  /// - Parameter member: what the body says; nil if it says nothing.
  private func service(_ member: String? = nil, of request: Request) throws -> any SteerableService {
    let query = request.uri.queryParameters["service"].map(String.init)
    if let member, let query, member != query {
      throw HTTPError(.badRequest, message: "The query's service is \(query), and the body's is \(member). Give one.")
    }
    let name = member ?? query ?? SimulatedAPNs.serviceName
    guard let service = services.first(where: { type(of: $0).serviceName == name }) else {
      let names = services.map { type(of: $0).serviceName }.joined(separator: ", ")
      throw HTTPError(.badRequest, message: "There is no service \(name). Give one of: \(names).")
    }
    return service
  }

  private static func counts(_ service: some SteerableService) -> ConnectionCounts { ConnectionCounts(service) }

  /// Only `application/json`: a page elsewhere cannot send that without a CORS preflight.
  static func read<Body: ClosedBody>(_ type: Body.Type, _ request: Request) async throws -> Body {
    guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
      throw HTTPError(.unsupportedMediaType, message: "The body must be application/json.")
    }
    let bytes = Data(try await request.body.collect(upTo: 64 << 10).readableBytesView)
    let body: Body
    do {
      body = try JSONCoding.decode(type, from: bytes)
    } catch {
      throw HTTPError(.badRequest, message: problem(error))
    }
    let members = Body.CodingKeys.allCases.map(\.stringValue)
    let given = try JSONCoding.decode([UTF8String: JSONValue].self, from: bytes).keys
    if let unknown = given.sorted().map(\.text).first(where: { !members.contains($0) }) {
      throw HTTPError(
        .badRequest, message: "There is no member \(unknown). Give some of: \(members.joined(separator: ", ")).")
    }
    return body
  }

  private static func problem(_ error: any Error) -> String {
    switch error as? DecodingError {
    case .keyNotFound(let member, _): "The member \(member.stringValue) is missing."
    case .typeMismatch(_, let place), .valueNotFound(_, let place), .dataCorrupted(let place):
      place.codingPath.last.map { "The member \($0.stringValue) has a value that is not possible." }
        ?? "The body is not a JSON object."
    default: "The body is not a JSON object."
    }
  }

  private static func json(_ body: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
    Response(
      status: status, headers: [.contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONCoding.encode(body))))
  }
}
