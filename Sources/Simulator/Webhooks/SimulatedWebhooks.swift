import Crypto
public import FoundationEssentials
import Locking
import Wire

/// A customer's back end that a hub tells of events: it verifies signatures by Standard Webhooks, and answers as it is told. It takes posts at
/// any path.
public final class SimulatedWebhooks: Sendable {
  static let port = SimulatedPort(
    option: "webhook-port", usual: 8451, help: "the receiver of webhooks", name: "webhooks")

  /// A post that was received completely.
  public struct ReceivedPost: Sendable {
    /// 1, 2, 3, … since the start.
    public let number: Int
    public let at: Date
    public let path: String
    /// The header `webhook-id`; empty if there was none.
    public let id: String
    public let verdict: Verdict
    /// The status that it was answered.
    public let status: Int
    public let body: [UInt8]

    /// Its `type`, or the first `event` of Carma's form; nil for anything else.
    public var event: String? {
      guard let json = try? JSONValue(json: body) else { return nil }
      if case .string(let type)? = json["type"] { return type }
      if case .array(let items) = json, case .string(let event)? = items.first?["event"] { return event }
      return nil
    }
  }

  /// What its signature is worth.
  public enum Verdict: String, Sendable {
    case verified
    /// The receiver was told no secret.
    case unknownSecret = "no secret known"
    case wrongSignature = "wrong signature"
    /// More than five minutes off, as when somebody posts again what they have overheard.
    case wrongTime = "wrong time"
    case unsigned
  }

  private struct State {
    var secrets: [[UInt8]] = []
    /// How the next posts are answered; those after them get 204.
    var answers: [Int] = []
    var isSilent = false
    var listener: ServiceListener?
  }

  private let posts: RequestLog<ReceivedPost>
  private let connections = ConnectionTable()
  private let name: String
  private let now: @Sendable () -> Date
  private let state = Mutex(State())

  init(_ context: SimulatorContext) {
    posts = RequestLog(keeping: context.settings.requestsKept)
    name = context.settings.name
    now = context.now
  }

  func start(_ host: ListeningHost) async throws {
    let listener = try await host.listen(
      on: Self.port, connections, protocols: ["h2", "http/1.1"], http1: { try ServiceListener.http1($0, $1) }
    ) { WebhookConnection(receiver: self) }
    state.withLock { $0.listener = listener }
  }

  func stop() async {
    let listener = state.withLock { exchange(&$0.listener, with: nil) }
    await listener?.close()
    connections.order(.cut)
  }

  /// `localhost:8451`, say; the hub's setting `PUSHCART_WEBHOOK_ALLOWED_HOSTS`. Call it after `start`.
  public var authority: String { "\(name):\(state.withLock { $0.listener?.port } ?? 0)" }
  /// Where webhooks lead.
  public var url: String { "https://\(authority)/" }

  /// The last posts, oldest first.
  public var received: [ReceivedPost] { posts.kept }

  /// Waits until that many posts were received since the start, and returns those kept.
  public func received(count: Int) async -> [ReceivedPost] { await posts.received(count: count) }

  /// Trusts a secret, as in `whsec_…`, beside those that it trusts already.
  /// - Returns: whether it is one.
  @discardableResult
  public func trust(_ secret: String) -> Bool {
    guard secret.hasPrefix("whsec_"), let bytes = Data(base64Encoded: String(secret.dropFirst(6))), !bytes.isEmpty
    else { return false }
    state.withLock { $0.secrets.append(Array(bytes)) }
    return true
  }

  /// Forgets all secrets.
  public func distrust() { state.withLock { $0.secrets = [] } }

  /// How the next posts are answered, by their statuses; those after them get 204.
  public func answer(_ statuses: [Int]) { state.withLock { $0.answers = statuses } }

  /// Answers nothing from now on, or again.
  public func fallSilent(_ isSilent: Bool = true) { state.withLock { $0.isSilent = isSilent } }

  // MARK: Posts

  /// - Returns: nil for no answer.
  fileprivate func take(_ request: IncomingRequest) -> Int? {
    let verdict = verdict(on: request)
    let status = state.withLock { state -> Int? in
      if state.isSilent { return nil }
      return state.answers.isEmpty ? 204 : state.answers.removeFirst()
    }
    posts.append { number in
      ReceivedPost(
        number: number, at: now(), path: request.path, id: request.header("webhook-id") ?? "", verdict: verdict,
        status: status ?? 0, body: request.body)
    }
    return status
  }

  /// Standard Webhooks 1.0, "Verifying the webhook": any of the signatures, by any of the secrets, within five minutes.
  private func verdict(on request: IncomingRequest) -> Verdict {
    guard let id = request.header("webhook-id"), let timestamp = request.header("webhook-timestamp"),
      let signatures = request.header("webhook-signature")
    else { return .unsigned }
    guard let seconds = Int64(timestamp), abs(Double(seconds) - now().timeIntervalSince1970) <= 300 else {
      return .wrongTime
    }
    let secrets = state.withLock(\.secrets)
    guard !secrets.isEmpty else { return .unknownSecret }
    let signed = Array("\(id).\(timestamp).".utf8) + request.body
    let given = signatures.split(separator: " ").filter { $0.hasPrefix("v1,") }
      .compactMap { Data(base64Encoded: String($0.dropFirst(3))) }
    let isRight = secrets.contains { secret in
      given.contains {
        HMAC<SHA256>.isValidAuthenticationCode($0, authenticating: signed, using: SymmetricKey(data: secret))
      }
    }
    return isRight ? .verified : .wrongSignature
  }
}

/// A connection of a hub. What is not to be answered never is.
private struct WebhookConnection: ServiceConnection {
  let receiver: SimulatedWebhooks

  var streamLimit: Int { 100 }

  func receive(_ request: IncomingRequest) -> SimulatedAnswer<Never> {
    let status = receiver.take(request)
    return SimulatedAnswer(reply: status == nil ? .ignore : .accept) { _ in
      SimulatedResponse(status: status ?? 204, "", contentType: "text/plain")
    }
  }
}
