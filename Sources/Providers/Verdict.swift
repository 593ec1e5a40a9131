public import FoundationEssentials
import Wire

/// The result of one push, in terms that all push services share; the caller decides what to do about it.
///
/// The message (`payloadRefused`), the token (`tokenInvalid`) and the app (`credentialsRefused`) are told apart, so that neither a
/// bad payload nor a bad credential retires devices. `reason` is the service's own, such as `Unregistered`, or a `HubReason`, such as
/// `RequestTimeout`.
public enum Verdict: Sendable, Hashable {
  /// The service accepted the push. It does not say whether a phone shows it.
  case accepted
  /// Not delivered; may be tried again after `after` (nil: after the caller's own delay). Unless that `appliesToService`, it says nothing
  /// of other pushes.
  case retry(after: Duration?, reason: String, appliesToService: Bool = false)
  /// The token reaches no device of this app. Its device may be retired unless the token was registered again after `since`; nil
  /// stands for the moment the request was sent.
  case tokenInvalid(InvalidTokenCause, since: Date?, reason: String)
  /// This message will never be accepted unchanged.
  case payloadRefused(reason: String)
  /// The app's key, certificate, team or topic is refused, as it will be for every further push.
  case credentialsRefused(reason: String)
  /// Refused until somebody corrects what the app has at the service for such devices. Other pushes of the app are taken.
  case waitsForCorrection(reason: String)
  /// Certainly not processed: it never left, or the service said so. It can be sent again without risk.
  case unsent(reason: String)
  /// It may have been delivered. If it was not answered, the caller's policy decides. If it was, and the answer says neither, it is not
  /// sent again.
  case uncertain(reason: String, isAnswered: Bool = false)
}

extension Verdict {
  /// Whether the push did not leave since its customer has as many on their way, or as many connections, as it may have: nothing was
  /// tried, and that says nothing of the service.
  public var lacksCapacity: Bool {
    self == .unsent(reason: .hub(.noPlace)) || self == .unsent(reason: .hub(.tooManyOrigins))
  }

  /// Whether the push did not leave since nobody wanted it any more.
  public var isUnwanted: Bool { self == .unsent(reason: .hub(.cancelled)) }

  /// Why the push was not accepted; nil if it was.
  public var problem: String? {
    switch self {
    case .accepted: nil
    case .retry(_, let reason, _), .tokenInvalid(_, _, let reason), .payloadRefused(let reason),
      .credentialsRefused(let reason), .waitsForCorrection(let reason), .unsent(let reason), .uncertain(let reason, _):
      reason
    }
  }

  /// Whether the receiver has answered; nil if that is not known, since nobody wanted the push any more.
  var isAnswered: Bool? {
    switch self {
    case .uncertain(_, let isAnswered): isAnswered
    case .unsent: isUnwanted ? nil : false
    default: true
    }
  }

  /// Put off by a response. Its `retry-after` is about the service as a whole if the service is unavailable (RFC 9110, section 15.6.4).
  static func putOff(_ reason: String, by response: some StatusBearing, wholeServiceAt statuses: Set<Int> = [503])
    -> Verdict
  {
    .retry(
      after: response.retryAfter, reason: reason,
      appliesToService: response.retryAfter != nil && statuses.contains(response.status))
  }
}

/// A response with a status and perhaps a time to wait.
protocol StatusBearing {
  var status: Int { get }
  var retryAfter: Duration? { get }
}

/// Why a token is invalid, in terms that all push services share.
public enum InvalidTokenCause: Sendable, Hashable {
  /// It is no token, or none any more.
  case unregistered
  /// It belongs to the service's other environment, as far as the service says.
  case wrongEnvironment
  /// It belongs to another app.
  case wrongApp
  /// It is a telephone number whose owner wants no SMS.
  case optedOut
}

/// The verdict on one push.
public struct PushOutcome: Sendable, Hashable {
  /// The push's index in the array that was sent.
  public var index: Int
  public var verdict: Verdict
  /// When it left, the last time if it was sent twice; `nil` if it never left.
  public var sentAt: Date?
  /// What was left out of the message after the service had found it too large; see also `PushRequest.reductions`.
  public var reductions: Reductions

  public init(index: Int, verdict: Verdict, sentAt: Date?, reductions: Reductions = []) {
    self.index = index
    self.verdict = verdict
    self.sentAt = sentAt
    self.reductions = reductions
  }
}
