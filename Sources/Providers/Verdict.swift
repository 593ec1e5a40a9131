public import FoundationEssentials

/// The result of one push, in terms that all push services share; the caller decides what to do about it.
///
/// The message (`payloadRefused`), the token (`tokenInvalid`) and the app (`credentialsRefused`) are told apart, so that neither a
/// bad payload nor a bad credential retires devices. `reason` is the service's own word, such as `Unregistered`, or ours, such as
/// `RequestTimeout`.
public enum Verdict: Sendable, Hashable {
  /// The service accepted the push. It does not tell whether a phone shows it.
  case accepted
  /// Not delivered; may be tried again after `after` (nil: after the caller's own delay).
  case retry(after: Duration?, reason: String)
  /// The token reaches no device of this app. Its device may be retired unless the token was registered again after `since`; nil
  /// stands for the moment the request was sent.
  case tokenInvalid(InvalidTokenCause, since: Date?, reason: String)
  /// This message will never be accepted unchanged.
  case payloadRefused(reason: String)
  /// The app's key, certificate, team or topic is refused, as it will be for every further push.
  case credentialsRefused(reason: String)
  /// Certainly not processed: it never left, or the service said so. It can be sent again without risk.
  case unsent(reason: String)
  /// It left and was not answered: it may have been delivered, and the caller's policy decides.
  case uncertain(reason: String)
}

extension Verdict {
  /// Whether the push did not leave since its account has as many on their way as it may have: nothing was tried.
  public var lacksRoom: Bool {
    self == .unsent(reason: Self.tooManyAtStrangers) || self == .unsent(reason: Self.tooManyOrigins)
  }

  /// Whether the push did not leave since nobody wanted it any more.
  public var isUnwanted: Bool { self == .unsent(reason: Self.unwanted) }

  static let unwanted = "Cancelled"
  static let tooManyAtStrangers = "TooManyAtStrangers"
  static let tooManyOrigins = "TooManyOrigins"
}

/// Why a token is invalid, in terms that all push services share.
public enum InvalidTokenCause: Sendable, Hashable {
  /// It is no token, or none any more.
  case unregistered
  /// It belongs to the service's other environment, as far as the service tells.
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
