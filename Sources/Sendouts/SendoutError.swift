public import Wire

/// Everything that room Sendouts refuses. Web alone turns these into a status and a sentence.
public enum SendoutError: Error, Sendable, Hashable {
  /// The customer has no sendout of that number.
  case sendoutUnknown(SendoutID)
  /// A field does not hold what it may. `problem` ends the sentence that begins with the field's name, as in "is empty".
  case invalid(field: String, problem: String)
  /// Nothing can be sent yet to apps of this platform. The field is `appType`.
  case platformNotServed(AppType)
  /// What was asked for is not possible in the state the sendout is in.
  case wrongState(SendoutID, SendoutState, SendoutVerb)
}

/// What can be done to a sendout.
public enum SendoutVerb: String, Sendable, Hashable, CaseIterable {
  case start, pause, resume, cancel
}
