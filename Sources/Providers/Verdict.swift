public import FoundationEssentials

/// What became of one push, in words that every push service shares; the caller decides what to do about it.
///
/// Three things are judged apart, so that a bad payload never kills a token and a bad credential never kills tokens:
/// the message (`payloadRefused`), the token (`tokenDead`) and the app (`credentialsRefused`). `reason` is the service's
/// own word for it, such as `Unregistered`, or ours, such as `RequestTimeout`.
public enum Verdict: Sendable, Hashable {
  /// The service took the push over. Whether a phone shows it, it does not tell.
  case accepted
  /// Not delivered; may be tried again, not before `after` has passed (nil: the caller's own back-off).
  case retry(after: Duration?, reason: String)
  /// The token reaches nobody (any more), or nobody here. It may be retired unless it was registered again after `since`; nil stands
  /// for the moment the request was sent.
  case tokenDead(TokenDeath, since: Date?, reason: String)
  /// This message will never be accepted unchanged.
  case payloadRefused(reason: String)
  /// The app's key, certificate, team or topic is refused: stop the app, or its whole backlog is burnt.
  case credentialsRefused(reason: String)
  /// Certainly not processed: it never left, or the service said so. Sending it again costs and risks nothing.
  case unsent(reason: String)
  /// Its bytes left and no answer came: it may or may not have been delivered, and policy decides.
  case uncertain(reason: String)
}

/// Why a token reaches nobody, in words that every push service shares.
public enum TokenDeath: Sendable, Hashable {
  /// It is no token, or none any more.
  case gone
  /// It belongs to the service's other environment, as far as the service tells.
  case wrongEnvironment
  /// It belongs to another app.
  case wrongApp
}
