public import FoundationEssentials
public import Wire

/// An app's account at a push service: the one way in which Delivery checks credentials, prepares pushes and sends them.
///
/// Each push service is a folder with an account, its settings, and a table from its reasons to verdicts. Nothing outside those
/// folders names a service.
public protocol PushAccount: Sendable {
  /// The service's name for people, such as `APNs`.
  var service: String { get }

  /// The most pushes of equal content that share a request; 1 if the service takes one push a request.
  var mostRecipients: Int { get }

  /// Gives a push the service's form. A message that is too large goes down the ladder of `RenderedMessage.fitted`.
  func prepare(_ push: OutgoingPush) -> PreparedPush

  /// Stands for a device's token in a preview that names no device.
  var exampleToken: String { get }

  /// A prepared request as the service would get it.
  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview

  /// Sends all of `requests` and yields their outcomes in groups as they come; each has exactly one, and then the stream ends.
  ///
  /// When the reader's task is cancelled, requests that have not left yet do not leave any more.
  /// - Parameter isWanted: called just before each request leaves; once it returns false, the rest come back `unsent`.
  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]>

  /// Whether each push is encrypted when it is sent, which takes a core longer than all else together.
  var encryptsEachPush: Bool { get }

  /// What says that the service is away for all pushes of the app.
  var outageEvidence: OutageEvidence { get }

  /// The least time that sendouts wait after a `.retry` for this reason, whatever the service asked for.
  func shortestDelay(after reason: String) -> Duration

  /// The environments that the service has; a service with one has `production`.
  var environments: [PushEnvironment] { get }

  /// Asks the service whether it accepts the credentials, without a push to any phone.
  func check(_ environment: PushEnvironment) async -> CredentialVerdict

  /// First words of reasons for which pushes are not taken though others of the app are, and somebody has to correct the app all the
  /// same.
  var reasonsToWarn: Set<String> { get }

  /// What to do when the credentials or a push are refused for this reason, as a sentence; nil if no more than the reason is known.
  func advice(on reason: String) -> String?
}

extension PushAccount {
  public var mostRecipients: Int { 1 }
  public var encryptsEachPush: Bool { false }
  public var outageEvidence: OutageEvidence { .anyFailure }
  public func shortestDelay(after reason: String) -> Duration { .zero }
  public var exampleToken: String { String(repeating: "0", count: 64) }
  public var reasonsToWarn: Set<String> { [] }
  public func advice(on reason: String) -> String? { nil }

  /// A warning about pushes that were not taken for one of `reasonsToWarn`; nil if there are none.
  public func warning(on outcomes: [PushOutcome]) -> String? {
    guard !reasonsToWarn.isEmpty else { return nil }
    for outcome in outcomes {
      switch outcome.verdict {
      case .payloadRefused(let reason), .retry(_, let reason, _), .waitsForCorrection(let reason):
        guard reasonsToWarn.contains(String(reason.prefix { $0 != " " })) else { continue }
        return advice(on: reason).map { "\(reason): \($0)" } ?? reason
      case .accepted, .tokenInvalid, .credentialsRefused, .unsent, .uncertain: continue
      }
    }
    return nil
  }
}

/// What says that a push service is away for all pushes of an app.
public enum OutageEvidence: Sendable, Hashable {
  /// That no push can be sent, or that all are put off: one service answers them.
  case anyFailure
  /// That all are put off. Devices name addresses of one service, and connections can fail because of such an address.
  case answers
  /// Nothing: devices name addresses that can be anybody's.
  case none
}

/// The environment in which a device token is valid. APNs has two: `production` for TestFlight and the App Store, `sandbox` for
/// builds run from Xcode. Other services have one, and treat both alike.
public enum PushEnvironment: String, Sendable, Hashable, CaseIterable {
  case production
  case sandbox
}

/// One push to one device, in terms that all push services share.
public struct OutgoingPush: Sendable {
  /// As the app registered it.
  public var token: String
  /// Names the push in the service's logs, where the service has such a name. It is the same for every attempt.
  public var id: UUID
  /// A later push with the same key replaces this one on the screen. A push whose message has no key has one of its own here, so that it
  /// replaces itself when it is sent twice. Where a service keeps few keys for a device that is away, `message.collapseKey` counts.
  public var collapseKey: String?
  public var message: RenderedMessage
  /// How long the service may keep it; nil leaves that to the service.
  public var lifetime: PushLifetime?
  public var priority: MessagePriority

  public init(
    token: String, id: UUID, collapseKey: String? = nil, message: RenderedMessage, lifetime: PushLifetime? = nil,
    priority: MessagePriority = .high
  ) {
    self.token = token
    self.id = id
    self.collapseKey = collapseKey
    self.message = message
    self.lifetime = lifetime
    self.priority = priority
  }

  /// Whether the token can be one of a service that promises no form of them. Blanks and control characters have never been part of one.
  var hasUsableToken: Bool {
    (1...4096).contains(token.utf8.count) && token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}

/// A collapse key for services that take none of its length or characters.
enum CollapseKeyHash {
  /// FNV-1a of 64 bits.
  static func value(_ key: String) -> UInt64 {
    key.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

/// What `PushAccount.prepare` makes of a push.
public enum PreparedPush: Sendable {
  case request(PushRequest)
  /// The service would certainly refuse it, so it need not be sent.
  case refused(Verdict)
}

/// Whether a push service accepts an app's credentials, as it was found without a push to any phone.
public enum CredentialVerdict: Sendable, Hashable {
  case accepted
  case refused(reason: String)
  /// No service can be asked without a message to somebody; `reason` says what is known instead.
  case unasked(reason: String)
  /// The service could not be asked, or said nothing about the credentials.
  case unreachable(reason: String)
}
