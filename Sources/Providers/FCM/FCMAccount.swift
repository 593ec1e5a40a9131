import FoundationEssentials
import Wire

/// An app's account at FCM: a service account that may send for its Firebase project.
///
/// FCM has one environment, so pushes to the sandbox go the same way. It has no name of ours for a push: a push that is sent twice is
/// two messages, of which the later one replaces the earlier on the screen.
struct FCMAccount: PushAccount {
  let customer: CustomerID
  let credentials: GoogleServiceAccount
  let endpoint: AccessTokenService
  /// Four weeks in seconds, the most that FCM takes.
  private static let longestTTL = 2_419_200

  var service: String { endpoint.name }
  var environments: [PushEnvironment] { [.production] }

  func prepare(_ push: OutgoingPush) -> PreparedPush {
    if let refusal = projectRefusal { return .refused(refusal) }
    guard push.hasUsableToken else {
      return .refused(ResponseClassification.invalidToken.verdict)
    }
    let ttl = push.lifetime.map { min($0.seconds, Self.longestTTL) }
    let fitted = push.message.fitted { message -> [UInt8]? in
      let body = FCMPayload.json(
        message, token: push.token, tag: push.collapseKey, priority: push.priority, ttl: ttl)
      // Names and values are never longer than the JSON that holds them.
      let fits =
        body.count <= FCMPayload.limit
        || FCMPayload.size(message, tag: push.collapseKey) <= FCMPayload.limit
      return fits ? body : nil
    }
    guard let fitted else { return .refused(.payloadRefused(reason: .hub(.messageTooBig))) }
    var request = request(fitted.form)
    request.reductions = fitted.reductions
    if FCMPayload.leavesFieldsOut(push.message) { request.reductions.insert(.reservedFieldsDropped) }
    return .request(request)
  }

  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    request.preview(
      at: endpoint.address, authorization: "Bearer", size: FCMPayload.size(ofBody: request.body),
      limit: FCMPayload.limit)
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    endpoint.send(requests, as: .fcm(credentials), of: customer, while: isWanted)
  }

  /// Sends a dry run to a well-formed token that no device has. FCM checks the access token and the project first, so a word about
  /// the token, or none, says that it accepts the account. 401, 403 and 404 without such a word refuse it.
  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    if case .credentialsRefused(let reason) = projectRefusal { return .refused(reason: reason) }
    return CredentialVerdict(
      dryRun: await endpoint.verdict(on: request(FCMPayload.dryRun), as: .fcm(credentials), of: customer))
  }

  /// All headers but the length are the same for every push of the project.
  private func request(_ body: [UInt8]) -> PushRequest {
    var headers = RequestHeaders()
    headers.add(":path", "/v1/projects/\(credentials.projectID)/messages:send")
    headers.add("content-type", "application/json")
    headers.add("content-length", String(body.count), .changing)
    return PushRequest(headers: headers, body: body)
  }

  /// A project's id becomes a part of the path: nothing passes that could break out of it.
  private var projectRefusal: Verdict? {
    let isUsable =
      !credentials.projectID.isEmpty
      && credentials.projectID.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
          true
        default: false
        }
      }
    return isUsable ? nil : .credentialsRefused(reason: .hub(.projectIDUnusable))
  }
}
