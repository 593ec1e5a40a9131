import FoundationEssentials
import Wire

/// The body of a form: `application/x-www-form-urlencoded`.
enum FormBody {
  /// Names and values; of repeated names the first counts. A body of another type has none.
  static func fields(_ body: [UInt8], contentType: String?) -> [String: String] {
    guard contentType?.isMediaType("application/x-www-form-urlencoded") == true else { return [:] }
    return Dictionary(FormPairs.readLeniently(body).map { ($0.name, $0.value) }) { first, _ in first }
  }
}

extension String {
  /// Whether a `content-type` names this type, parameters aside.
  func isMediaType(_ type: String) -> Bool {
    (split(separator: ";").first ?? "").lowercased().filter { $0 != " " } == type
  }
}

/// A request for an access token by a client's id and secret (RFC 6749, section 4.4).
struct ClientCredentialsForm: Sendable {
  let clientID: String
  let scope: String?
  private let secret: String?
  private let grantType: String?

  enum Fault {
    case grantType, missingField, unknownClient, wrongSecret
  }

  init(contentType: String?, body: [UInt8]) {
    let form = FormBody.fields(body, contentType: contentType)
    clientID = form["client_id"] ?? ""
    secret = form["client_secret"]
    grantType = form["grant_type"]
    scope = form["scope"]
  }

  /// Why no access token is issued; nil if one is.
  /// - Parameter known: the client's secret; nil for a client that is not registered.
  func fault(secret known: String?, trustsUnknownKeys: Bool) -> Fault? {
    guard grantType == "client_credentials" else { return .grantType }
    guard !clientID.isEmpty, let secret, !secret.isEmpty else { return .missingField }
    guard let known else { return trustsUnknownKeys ? nil : .unknownClient }
    return known == secret ? nil : .wrongSecret
  }
}

/// The access tokens that a token endpoint has issued, and the rules by which it issues them.
struct IssuedTokens<Account: Sendable, Refusal: Sendable & Hashable>: Sendable {
  struct Issued: Sendable {
    let account: Account
    fileprivate(set) var end: Date
  }

  private var tokens: [String: Issued] = [:]
  private let rules: ReplyRules<PrefixMatch, Refusal>

  init(_ rules: ReplyRules<PrefixMatch, Refusal>) { self.rules = rules }

  subscript(token: String) -> Issued? { tokens[token] }

  /// The reply to a request for a token that passes all checks. Tokens that ended an hour ago are forgotten.
  /// - Parameters:
  ///   - client: what rules go by.
  ///   - lifetime: in seconds.
  mutating func issue(
    _ token: String, to account: Account, client: String, for lifetime: Double, now: Date
  ) -> (SimulatedReply<Refusal>, issued: String) {
    tokens = tokens.filter { $0.value.end > now.addingTimeInterval(-3600) }
    tokens[token] = Issued(account: account, end: now.addingTimeInterval(lifetime))
    return (rules.reply(to: client) ?? .accept, token)
  }

  mutating func expireAll() {
    for token in tokens.keys { tokens[token]?.end = .distantPast }
  }

  mutating func removeAll() { tokens = [:] }
}

// MARK: - Requests for access tokens

/// What the token endpoint of a simulated service received, and rules for its replies.
public final class TokenEndpoint<Refusal: Sendable & Hashable>: Sendable {
  let rules = ReplyRules<PrefixMatch, Refusal>()
  let log: RequestLog<ReceivedTokenRequest<Refusal>>

  init(_ context: SimulatorContext) { log = RequestLog(keeping: context.settings.requestsKept) }

  func received(_ path: String, client: String, _ reply: SimulatedReply<Refusal>) {
    log.append { ReceivedTokenRequest(number: $0, path: path, client: client, reply: reply) }
  }
}

/// A request for an access token that was received completely, and the reply to it.
public struct ReceivedTokenRequest<Refusal: Sendable & Hashable>: Sendable {
  /// 1, 2, 3, … since the start.
  public let number: Int
  public let path: String
  /// The client's id, or the account's `client_email`; empty if the request does not name it.
  public let client: String
  public let reply: SimulatedReply<Refusal>
}

/// A simulated service with a token endpoint.
public protocol TokenIssuingService: RuledService {
  var tokenEndpoint: TokenEndpoint<Refusal> { get }
}

extension TokenIssuingService {
  public var tokenRules: ReplyRules<PrefixMatch, Refusal>? { tokenEndpoint.rules }

  /// Adds a rule for token requests that pass all checks. The first that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number, among those for token requests.
  @discardableResult
  public func tokenRule(_ match: PrefixMatch = .any, _ reply: Reply, times: Int? = nil) -> Int {
    tokenEndpoint.rules.add(match, reply, times: times)
  }

  /// How many token requests were received since the start.
  public var tokenRequestCount: Int { tokenEndpoint.log.count }

  /// The last token requests, oldest first; refused ones too.
  public var tokenRequests: [ReceivedTokenRequest<Refusal>] { tokenEndpoint.log.kept }

  /// Waits until that many token requests were received since the start, and returns those kept.
  public func receivedTokenRequests(count: Int) async -> [ReceivedTokenRequest<Refusal>] {
    await tokenEndpoint.log.received(count: count)
  }
}
