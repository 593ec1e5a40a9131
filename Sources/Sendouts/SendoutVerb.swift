public import Wire

/// What can be done to a sendout.
public enum SendoutVerb: String, Sendable, Hashable, CaseIterable {
  case start, pause, resume, cancel
}

/// What a verb does to a sendout's state.
enum SendoutStep: Equatable {
  /// The sendout is in that state already: repeating a verb is fine.
  case stays
  case becomes(SendoutState)
  case impossible
}

extension SendoutVerb {
  /// The state that the verb leads to.
  /// - Parameter isFrozen: whether the audience is in the ledger already. A sendout that was paused before that continues with
  ///   freezing when it is resumed.
  func step(from state: SendoutState, isFrozen: Bool) -> SendoutStep {
    switch (self, state) {
    case (.start, .draft): .becomes(.freezing)
    case (.start, .freezing), (.start, .running): .stays
    case (.pause, .freezing), (.pause, .running): .becomes(.paused)
    case (.pause, .paused): .stays
    case (.resume, .paused): .becomes(isFrozen ? .running : .freezing)
    case (.resume, .freezing), (.resume, .running): .stays
    case (.cancel, .draft), (.cancel, .freezing), (.cancel, .running), (.cancel, .paused): .becomes(.cancelled)
    case (.cancel, .cancelled): .stays
    case (.start, _), (.pause, _), (.resume, _), (.cancel, _): .impossible
    }
  }
}

/// Every error of this room. Web turns them into a status and a sentence.
public enum SendoutError: Error, Sendable, Hashable {
  /// The customer has no sendout of that number.
  case sendoutUnknown(SendoutID)
  /// A field does not hold what it may. `problem` ends the sentence that begins with the field's name, as in "is empty".
  case invalid(field: String, problem: String)
  /// The customer has no contact of this original id, or no device of this token.
  case recipientUnknown
  /// The customer has no message of this id.
  case messageUnknown(MessageID)
  /// The customer has no trigger of this number.
  case triggerUnknown(TriggerID)
  /// The trigger takes no messages.
  case triggerInactive(TriggerID)
  /// The customer has a trigger of this name already.
  case triggerNameTaken(String)
  /// Nothing can be sent to the app yet. `field` is the credential that it needs.
  case appWithoutCredentials(CustomerID, PushAppID, appID: String, AppType, field: String)
  /// The stream was paused or cancelled.
  case streamEnded(SendoutID)
  /// The verb is not possible in the sendout's state.
  case wrongState(SendoutID, SendoutState, SendoutVerb)
}
