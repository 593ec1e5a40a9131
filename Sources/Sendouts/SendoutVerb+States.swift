import Wire

/// What a verb makes of a sendout.
enum SendoutStep: Equatable {
  /// It is so already: saying it twice is fine.
  case stays
  case becomes(SendoutState)
  case impossible
}

extension SendoutVerb {
  /// The rules by which sendouts change state when somebody says so.
  /// - Parameter isFrozen: whether the audience is in the ledger already. A sendout that is paused before that goes on with
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
