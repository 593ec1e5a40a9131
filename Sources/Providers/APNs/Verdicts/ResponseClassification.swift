/// What an answer of APNs means: the push's verdict, and what the connection pool does about it first.
struct ResponseClassification: Hashable, Sendable {
  var verdict: Verdict
  var recovery: Recovery = .none
}

/// What may cure a refusal, or must follow it, before the verdict is handed out.
enum Recovery: Hashable, Sendable {
  case none
  /// The connection is of no more use: open another.
  case reopen
  /// Try the push once more on a fresh connection; the verdict holds if that one refuses it too.
  case freshConnection
  /// The same, with a new provider token: the old connection stays wedged with the old one.
  case freshToken
  /// Mint no provider token for 20 minutes; try once more with the one before, on a fresh connection, if it still holds.
  case formerToken
}
