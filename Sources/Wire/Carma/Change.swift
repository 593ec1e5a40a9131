/// What a request says about a field that is not a text: texts say it themselves, absent leaves them and "" clears them.
public enum Change<Value: Sendable & Hashable>: Sendable, Hashable {
  /// Absent, or `null`.
  case keep
  /// `""`.
  case clear
  case set(Value)
}
