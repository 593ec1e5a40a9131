import FoundationEssentials
import Wire

/// An app's account at Huawei's Push Kit: its client, or a service account of its project.
///
/// Push Kit has one environment, so pushes to the sandbox go the same way. It has no name of ours for a push: a push that is sent twice
/// is two messages, of which the later one replaces the earlier on the screen.
struct HMSAccount: PushAccount {
  let customer: CustomerID
  let credentials: HuaweiAccount
  let endpoint: AccessTokenService
  /// Fifteen days in seconds, the most that Push Kit takes.
  private static let longestTTL = 1_296_000

  var service: String { endpoint.name }
  var environments: [PushEnvironment] { [.production] }
  var mostRecipients: Int { Self.mostTokens }
  /// Most tokens in a request.
  static let mostTokens = 1000

  /// The request has one recipient; `send` joins those of equal content.
  func prepare(_ push: OutgoingPush) -> PreparedPush {
    guard push.hasUsableToken else {
      return .refused(.tokenInvalid(.unregistered, since: nil, reason: HMSCode.allTokensInvalid.rawValue))
    }
    // Push Kit takes no 0.
    let ttl = push.lifetime.map { min(max(1, $0.seconds), Self.longestTTL) }
    let fitted = push.message.fitted { message -> [UInt8]? in
      let opening = HMSPayload.opening(message, tag: push.collapseKey, ttl: ttl)
      return HMSPayload.size(opening: opening) <= HMSPayload.limit ? opening : nil
    }
    guard let fitted else { return .refused(.payloadRefused(reason: .hub(.messageTooBig))) }
    var request = Self.unsent(fitted.form, to: push.token)
    request.reductions = fitted.reductions
    return .request(request)
  }

  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    Self.joined([request], path: path)[0].preview(
      at: endpoint.address, authorization: "Bearer", size: HMSPayload.size(opening: request.body),
      limit: HMSPayload.limit)
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    endpoint.send(Self.joined(requests, path: path), as: .hms(credentials), of: customer, while: isWanted)
  }

  /// Sends a dry run to a token that no device has. Push Kit checks the access token and the app first, so a word about the token, or
  /// none, says that it accepts the account.
  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    let opening = HMSPayload.opening(RenderedMessage(), validateOnly: true)
    let probe = Self.unsent(opening, to: "pushcart-credential-check-" + String(repeating: "0", count: 104))
    return CredentialVerdict(
      dryRun: await endpoint.verdict(on: Self.joined([probe], path: path)[0], as: .hms(credentials), of: customer))
  }

  /// Where messages go: clients have their app's address, service accounts their project's.
  private var path: String {
    switch credentials {
    case .client(let id, _): "/v1/\(id)/messages:send"
    case .serviceAccount(let account): "/v2/\(account.projectID)/messages:send"
    }
  }

  /// A push whose body has no token yet.
  private static func unsent(_ opening: [UInt8], to token: String) -> PushRequest {
    PushRequest(
      headers: RequestHeaders(capacity: 0), body: opening, recipients: [.init(token: JSONText.quoted(token), index: 0)])
  }

  /// One request for all pushes of equal content, in the order of the first of each.
  ///
  /// A token is never twice in a request, since its device would get the message twice.
  static func joined(_ pushes: [PushRequest], path: String) -> [PushRequest] {
    var groups: [(opening: [UInt8], recipients: [PushRequest.Recipient])] = []
    var tokens: [Set<[UInt8]>] = []
    var open: [[UInt8]: Int] = [:]
    for (index, push) in pushes.enumerated() {
      for recipient in push.recipients {
        let recipient = PushRequest.Recipient(token: recipient.token, index: index)
        if let group = open[push.body], groups[group].recipients.count < mostTokens,
          tokens[group].insert(recipient.token).inserted
        {
          groups[group].recipients.append(recipient)
        } else {
          open[push.body] = groups.count
          groups.append((push.body, [recipient]))
          tokens.append([recipient.token])
        }
      }
    }
    return groups.map { request(path, $0.opening, $0.recipients) }
  }

  private static func request(_ path: String, _ opening: [UInt8], _ recipients: [PushRequest.Recipient]) -> PushRequest
  {
    let body = HMSPayload.body(opening, tokens: recipients.lazy.map(\.token))
    var headers = RequestHeaders()
    headers.add(":path", path)
    headers.add("content-type", "application/json;charset=UTF-8")
    headers.add("content-length", String(body.count), .changing)
    return PushRequest(headers: headers, body: body, recipients: recipients)
  }
}
