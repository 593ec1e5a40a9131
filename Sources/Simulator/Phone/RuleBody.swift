import FoundationEssentials
import Hummingbird

/// A body that may have no other members than these.
protocol ClosedBody: Decodable {
  associatedtype CodingKeys: CodingKey & CaseIterable
}

/// A rule as JSON.
struct RuleBody: Codable, ClosedBody {
  enum CodingKeys: String, CodingKey, CaseIterable {
    case service, number, requests, tokenPrefix, clientPrefix, environment, project, nth, times, reply, status, reason
    case since, retryAfter, delayMilliseconds
  }

  /// The value of `requests` for requests for access tokens.
  static let tokenRequests = "token"

  var service: String?
  var number: Int?
  /// Nil for pushes.
  var requests: String?
  var tokenPrefix: String?
  /// In rules for token requests.
  var clientPrefix: String?
  /// APNs alone has two.
  var environment: SimulatedAPNs.Environment?
  /// Of FCM, in the address of a request.
  var project: String?
  var nth: Int?
  var times: Int?
  var reply: String
  var status: Int?
  var reason: String?
  /// Of APNs, in milliseconds since 1970.
  var since: Double?
  /// The header of other services: seconds, as a number or a text, or an HTTP date.
  var retryAfter: HeaderText?
  var delayMilliseconds: Int?

  /// - Parameter requests: nil for pushes.
  init<Refusal: RuleRefusal>(_ entry: ReplyRules<Refusal>.Entry, service: String, for requests: String? = nil) {
    self.service = service
    self.requests = requests
    number = entry.number
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
      refusal.describe(in: &self)
    }
    entry.match.describe(in: &self)
  }

  /// - Throws: `HTTPError` 400 that names the member which is wrong.
  func reply<Refusal: RuleRefusal>(of type: Refusal.Type) throws -> SimulatedReply<Refusal> {
    let plain: SimulatedReply<Refusal>
    switch reply {
    case "accept": plain = .accept
    case "ignore": plain = .ignore
    case "refuseStream": plain = .refuseStream
    case "resetStream": plain = .resetStream
    case "cut": plain = .cut
    case "goAway": plain = .goAway(reason: reason)
    case "refuse": plain = .refuse(try Refusal(self))
    default:
      throw HTTPError(
        .badRequest,
        message:
          "There is no reply \(reply). Give accept, refuse, ignore, refuseStream, resetStream, goAway or cut.")
    }
    return delayMilliseconds.map { .after(.milliseconds($0), plain) } ?? plain
  }

  /// A member that this rule has and the other does not, among those that not all services and replies have.
  func member(missingIn other: RuleBody) -> String? {
    [
      ("tokenPrefix", tokenPrefix?.isEmpty == false && other.tokenPrefix == nil),
      ("clientPrefix", clientPrefix?.isEmpty == false && other.clientPrefix == nil),
      ("environment", environment != nil && other.environment == nil),
      ("project", project != nil && other.project == nil),
      ("status", status != nil && other.status == nil),
      ("reason", reason?.isEmpty == false && other.reason == nil),
      ("since", since != nil && other.since == nil),
      ("retryAfter", retryAfter != nil && other.retryAfter == nil),
    ].first { $0.1 }?.0
  }
}

/// The value of a header, which JSON can also have as a whole number.
struct HeaderText: Codable {
  var text: String

  init(_ text: String) { self.text = text }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let seconds = try? container.decode(UInt32.self) {
      text = String(seconds)
    } else {
      text = try container.decode(String.self)
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// A service's connections, as JSON.
struct ConnectionCounts: Codable {
  var open: Int
  var opened: Int
  var streamsBeyondLimit: Int

  init(_ service: some SimulatedService) {
    open = service.openConnections
    opened = service.connectionsOpened
    streamsBeyondLimit = service.streamsBeyondLimit
  }
}

/// An order to all connections of a service, as JSON.
struct OrderBody: ClosedBody {
  enum CodingKeys: String, CodingKey, CaseIterable {
    case service, order, lastStream, reason, limit
  }

  var service: String?
  var order: String
  var lastStream: Int?
  var reason: String?
  var limit: Int?

  /// - Throws: `HTTPError` 400 that names the member which is wrong.
  func carryOut(on service: some SimulatedService) throws {
    switch order {
    case "goAway": service.goAway(lastStream: lastStream, reason: reason)
    case "cut": service.cut()
    case "answerIgnored": service.answerIgnored()
    case "limitStreams":
      guard let limit, limit >= 0 else {
        throw HTTPError(.badRequest, message: "The order limitStreams needs a limit of 0 or more.")
      }
      service.limitStreams(to: limit)
    default:
      throw HTTPError(
        .badRequest, message: "There is no order \(order). Give goAway, cut, answerIgnored or limitStreams.")
    }
  }
}
