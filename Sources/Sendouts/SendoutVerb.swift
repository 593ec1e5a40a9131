public import Wire

/// What can be done to a sendout.
public enum SendoutVerb: String, Sendable, Hashable, CaseIterable {
  case start, pause, resume, cancel, schedule, unschedule
}

extension SendoutVerb {
  /// The states that it changes.
  package var starts: [SendoutState] {
    SendoutState.allCases.filter { state in next(from: state, isFrozen: true).map { $0 != state } == true }
  }

  /// The state that the verb leads to: the same one where it is repeated, nil where it is impossible.
  /// - Parameter isFrozen: whether the audience is in the ledger already. A sendout that was paused before that continues with
  ///   freezing when it is resumed.
  func next(from state: SendoutState, isFrozen: Bool) -> SendoutState? {
    switch (self, state) {
    case (.schedule, .draft): .scheduled
    case (.unschedule, .scheduled): .draft
    case (.start, .draft), (.start, .scheduled): .freezing
    case (.pause, .freezing), (.pause, .running): .paused
    case (.resume, .paused): isFrozen ? .running : .freezing
    case (.cancel, .draft), (.cancel, .scheduled), (.cancel, .freezing), (.cancel, .running), (.cancel, .paused):
      .cancelled
    case (.start, .freezing), (.start, .running), (.pause, .paused), (.resume, .freezing), (.resume, .running),
      (.cancel, .cancelled), (.schedule, .scheduled), (.unschedule, .draft):
      state
    case (.start, _), (.pause, _), (.resume, _), (.cancel, _), (.schedule, _), (.unschedule, _): nil
    }
  }
}

/// Every error of this room. Web turns them into a status and a sentence.
public enum SendoutError: Error, Sendable, Hashable {
  /// A field does not hold what it may. `problem` ends the sentence that begins with the field's name, as in "is empty".
  case invalid(field: String, problem: String)
  /// The customer has no contact of this original id, or no device of this token.
  case recipientUnknown
  /// The customer has no message of this id.
  case messageUnknown(MessageID)
  /// The trigger takes no messages.
  case triggerInactive(TriggerID)
  /// Nothing can be sent to the app yet. `field` is the credential that it needs.
  case appWithoutCredentials(CustomerID, PushAppID, appID: String, AppType, field: String)
  /// The stream was paused or cancelled.
  case streamEnded(SendoutID)
  /// The verb is not possible in the sendout's state.
  case wrongState(SendoutID, SendoutState, SendoutVerb)
  /// What a started sendout says cannot be changed.
  case notDraft(SendoutID, SendoutState)
  /// Triggers, or sendouts that have not ended, have the template's page. `users` are as in `trigger 1`.
  case templateInUse(by: [String])
  /// The sendout is scheduled, and whoever changes it may not decide alone that it goes.
  case changeNeedsApproval(SendoutID)
  /// The customer has no series of this number.
  case seriesUnknown
  /// There are no pushes of the sendout in the ledger: it has not been started, or retention has deleted them.
  case withoutPushes(SendoutID)
  /// Another user has to start the sendout than the one who wrote it.
  case needsApproval(SendoutID)
  /// The draft says something else than what whoever starts it has seen.
  case changed(SendoutID)
  /// Those who waited for a winner get one already, or nothing.
  case winnerDecided(SendoutID)
  /// A winner can be chosen only from the freeze to the sendout's end.
  case winnerNotOpen(SendoutID, SendoutState)
}
