import FoundationEssentials
import Synchronization
import Wire

/// A simulation of Firebase Cloud Messaging's HTTP v1 API, with the token endpoint of Google's sign-in.
///
/// It answers as Google documents it, over the same HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedFCM: SimulatedService, SteerableService {
  static let serviceName = "fcm"
  public let traffic: ServiceTraffic<ReceivedRequest>
  let streamLimit: Int
  private let tokenLog: RequestLog<ReceivedTokenRequest>
  private let phoneLog: RequestLog<PhoneEntry>?
  private let state: Mutex<FCMServerState>
  private let now: @Sendable () -> Date

  /// - Parameter phoneLog: gets every push that a phone would get.
  init(_ settings: SimulatorSettings, phoneLog: RequestLog<PhoneEntry>?, now: @escaping @Sendable () -> Date) {
    traffic = ServiceTraffic(keeping: settings.requestsKept)
    tokenLog = RequestLog(keeping: settings.requestsKept)
    streamLimit = settings.fcmStreamLimit
    self.phoneLog = phoneLog
    state = Mutex(FCMServerState(trustsUnknownKeys: settings.trustsUnknownKeys))
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
  func reply(to request: AccessTokenRequest, connection: Int, stream: Int) -> (Reply, issued: String) {
    let now = now()
    let (reply, issued) = state.withLock { $0.reply(to: request, now: now) }
    tokenLog.append { number in
      ReceivedTokenRequest(
        number: number, connection: connection, stream: stream, at: Date(), clientEmail: request.clientEmail,
        reply: reply)
    }
    return (reply, issued)
  }
}

// MARK: - Accounts, tokens and rules

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

  /// Adds a rule for messages that pass all checks. The first rule that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number.
  @discardableResult
  public func rule(_ match: Match = .any, _ reply: Reply, times: Int? = nil) -> Int {
    state.withLock { $0.rules.add(match, reply, times: times) }
  }

  /// Adds a rule for token requests that pass all checks. The first rule that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number, among those for token requests.
  @discardableResult
  public func tokenRule(_ match: TokenMatch = .any, _ reply: Reply, times: Int? = nil) -> Int {
    state.withLock { $0.tokenRules.add(match, reply, times: times) }
  }

  /// Removes all rules, those for token requests too.
  public func removeRules() {
    state.withLock {
      $0.rules.removeAll()
      $0.tokenRules.removeAll()
    }
  }

  /// The rules in force, by number; not those for token requests.
  var rules: [Rules.Entry] { state.withLock { $0.rules.entries } }
}

// MARK: - Received token requests

extension SimulatedFCM {
  /// The last token requests, oldest first; refused ones too.
  public var tokenRequests: [ReceivedTokenRequest] { tokenLog.kept }

  /// How many token requests were received since the start.
  public var tokenRequestCount: Int { tokenLog.count }

  /// Waits until that many token requests were received since the start, and returns those kept.
  public func receivedTokenRequests(count: Int) async -> [ReceivedTokenRequest] {
    await tokenLog.received(count: count)
  }
}
