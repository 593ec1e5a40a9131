/// Everything that room Hybrid refuses. Web alone turns these into a status and a sentence.
public enum HybridError: Error, Sendable, Hashable {
  /// Hybrid Messaging is not enabled for that appId.
  case appUnknown(appID: String)
  /// It is enabled for that appId already.
  case appTaken(appID: String)
  /// A field does not hold what it may. `problem` ends the sentence that begins with the field's name.
  case invalid(field: String, problem: String)
  /// The app has no registration with that DeviceID.
  case deviceUnknown
  /// The signature was used before, for a request with another body.
  case signatureReused
  /// Too many PINs were sent, or too many wrong codes tried, of the number, of phones at that address, or of the app.
  case tooManyPINs(wait: Duration)
  /// Too many phones registered from that address or for the app, or this one changed its registration too often.
  case tooManyRegistrations(wait: Duration)
  /// No PIN was sent to that number, or it is no longer good.
  case noPIN
  /// The customer has nothing to send SMS with, or the number takes none.
  case noSMS
  /// The customer has nothing to make calls with.
  case noCalls
  /// The provider made no call.
  case callFailed
}
