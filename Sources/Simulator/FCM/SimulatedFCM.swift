import FoundationEssentials
import Locking
import Wire

/// A simulation of Firebase Cloud Messaging's HTTP v1 API, with the token endpoint of Google's sign-in.
///
/// It answers as Google documents it, over the same HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedFCM: SteerableService, TokenIssuingService {
  static let serviceName = "fcm"
  public let traffic: ServiceTraffic<ReceivedRequest>
  public let tokenEndpoint: TokenEndpoint<Refusal>
  public let rules = ReplyRules<Match, Refusal>()
  let streamLimit: Int
  private let phoneLog: RequestLog<PhoneEntry>?
  private let state: Mutex<FCMServerState>
  private let now: @Sendable () -> Date

  /// - Parameter phoneLog: gets every push that a phone would get.
  init(_ settings: SimulatorSettings, phoneLog: RequestLog<PhoneEntry>?, now: @escaping @Sendable () -> Date) {
    traffic = ServiceTraffic(keeping: settings.requestsKept)
    tokenEndpoint = TokenEndpoint(keeping: settings.requestsKept)
    streamLimit = settings.fcmStreamLimit
    self.phoneLog = phoneLog
    state = Mutex(
      FCMServerState(
        rules: rules, tokenRules: tokenEndpoint.rules, trustsUnknownKeys: settings.trustsUnknownKeys))
    self.now = now
  }

  /// The reply to a message that was received completely.
  func reply(to request: FCMRequest, connection: Int, stream: Int) -> Reply {
    let now = now()
    let (reply, account) = state.withLock { ($0.reply(to: request, now: now), $0.account(of: request)) }
    let message = request.message
    let received = traffic.log.append { number in
      ReceivedRequest(
        number: number, connection: connection, stream: stream, at: Date(), project: request.project,
        account: account, token: message.token, payload: request.body, message: .object(message.fields),
        validateOnly: message.validateOnly, reply: reply, headers: request.headers)
    }
    if received.isAccepted, !received.token.isEmpty {
      phoneLog?.append { PhoneEntry(number: $0, request: .fcm(received)) }
    }
    return reply
  }

  /// The reply to a token request that was received completely, and the access token that it issues.
  func reply(to request: AccessTokenRequest) -> (Reply, issued: String) {
    let now = now()
    let (reply, issued) = state.withLock { $0.reply(to: request, now: now) }
    tokenEndpoint.received(AccessTokenRequest.path, client: request.clientEmail, reply)
    return (reply, issued)
  }
}

// MARK: - Accounts and tokens

extension SimulatedFCM {
  /// Registers a service account, so that it gets access tokens, for its own project only. Registered again, it has a new key.
  /// - Parameter keyFile: the JSON text of its key file; only the public half is kept.
  /// - Throws: if `keyFile` is no key file of a service account.
  public func register(keyFile: String) throws {
    let account = try RegisteredAccount(keyFile: keyFile)
    state.withLock { $0.accounts[account.clientEmail] = account }
  }

  /// Registers a service account by its key file.
  public func register(_ account: ServiceAccount) throws { try register(keyFile: account.keyFile) }

  /// Forgets a service account, as when it is deleted at Google.
  public func remove(clientEmail: String) {
    state.withLock { $0.accounts[clientEmail] = nil }
  }

  /// Makes all access tokens issued so far invalid: they get 401.
  public func revokeAccessTokens() {
    state.withLock { $0.revokeAccessTokens() }
  }

  /// Restricts a registration token to a project; another one's messages to it get SENDER_ID_MISMATCH.
  public func restrict(token: String, to project: String) {
    state.withLock { $0.tokens[token, default: KnownRegistration()].project = project }
  }

  /// Makes a registration token invalid: it gets UNREGISTERED, as after an app was deleted.
  public func unregister(token: String) {
    state.withLock { $0.tokens[token, default: KnownRegistration()].isUnregistered = true }
  }
}
