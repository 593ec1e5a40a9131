import FoundationEssentials
import Locking

/// The token endpoint of a simulated service: what it received, rules for its replies, and the access tokens it has issued.
final class TokenEndpoint<Refusal: Sendable & Hashable>: Sendable {
  let rules = ReplyRules<Refusal>()
  let requests: RequestLog<ReceivedTokenRequest<Refusal>>
  private let issued = Mutex<[String: IssuedToken]>([:])

  init(_ context: SimulatorContext) { requests = RequestLog(keeping: context.settings.requestsKept) }

  /// What is known of an access token; nil if it was never issued, or ended an hour ago.
  subscript(token: String) -> IssuedToken? { issued.withLock { $0[token] } }

  fileprivate func issue(_ token: String, _ known: IssuedToken, now: Date) {
    issued.withLock { issued in
      issued = issued.filter { $0.value.end > now.addingTimeInterval(-3600) }
      issued[token] = known
    }
  }

  func expireAll() {
    issued.withLock { issued in for token in Array(issued.keys) { issued[token]?.end = .distantPast } }
  }

  /// Forgets every access token.
  func revokeAll() { issued.withLock { $0 = [:] } }
}

/// What a token endpoint remembers of an access token.
struct IssuedToken: Sendable {
  /// Who got it.
  let client: String
  /// The only project that it opens; nil for any.
  let project: String?
  fileprivate(set) var end: Date
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

// MARK: - Answers

/// A request for an access token, as its service reads it.
protocol TokenRequest: Sendable {
  /// - Returns: nil for a request to another address.
  init?(_ request: IncomingRequest)

  /// What rules go by: the client's id, or the account's `client_email`; empty if the request does not name it.
  var client: String { get }
  /// How long its token is valid, in seconds.
  var lifetime: Int { get }
  /// A token that was not issued before.
  var newToken: String { get }

  /// The response that hands a token out.
  func response(_ token: String) -> SimulatedResponse
}

/// A simulated service that decides who gets access tokens.
protocol SignInService: PlainService, TokenIssuingService {
  associatedtype AccessTokenRequest: TokenRequest

  /// Decides on any other request, and logs it.
  func answerPush(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal>

  /// Why no access token is issued; else the only project that it opens, nil for any.
  func check(_ request: AccessTokenRequest, now: Date) -> (refusal: Refusal?, project: String?)

  /// The response that refuses a request, given the one that would accept it.
  func response(_ accepted: SimulatedResponse, _ refusal: Refusal?) -> SimulatedResponse
}

extension SignInService {
  func answer(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal> {
    answerSignIn(incoming) ?? answerPush(incoming)
  }

  /// The answer to a request for an access token; nil for any other request. The checks come first, then the rules.
  private func answerSignIn(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal>? {
    guard incoming.method == "POST", let request = AccessTokenRequest(incoming) else { return nil }
    let endpoint = traffic.tokenEndpoint
    let now = traffic.now()
    let (client, token) = (request.client, request.newToken)
    let (refusal, project) = check(request, now: now)
    if refusal == nil {
      let end = now.addingTimeInterval(Double(request.lifetime))
      endpoint.issue(token, IssuedToken(client: client, project: project, end: end), now: now)
    }
    let reply = refusal.map(Reply.refuse) ?? endpoint.rules.reply(to: client) ?? .accept
    endpoint.requests.append {
      ReceivedTokenRequest(number: $0, path: incoming.path, client: client, reply: reply)
    }
    let accepted = request.response(token)
    return SimulatedAnswer(reply: reply) { self.response(accepted, $0) }
  }
}

extension SignInService where Refusal: TextRefusal {
  func response(_ accepted: SimulatedResponse, _ refusal: Refusal?) -> SimulatedResponse {
    refusal?.response ?? accepted
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

  init(_ form: [String: String]) {
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
