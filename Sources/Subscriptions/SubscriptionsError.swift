public import Wire

/// Everything that room Subscriptions refuses. Web alone turns these into a status and a sentence.
public enum SubscriptionsError: Error, Sendable, Hashable {
  /// The app has no data tree.
  case notEnabled(app: String)
  /// The app has no subscription of that number.
  case subscriptionUnknown(SubscriptionID)
  /// The app has no webhook of that name.
  case webhookUnknown(name: String)
  /// A field does not hold what it may. `problem` ends the sentence that begins with the field's name, as in "is empty".
  case invalid(field: String, problem: String)
  /// A path holds a name that is not in Unicode's normalization form C, and would look like another one.
  static let notNormalized = SubscriptionsError.invalid(
    field: "path", problem: DataTreePath.notComposed)
  /// The value is not what a write wants it to be.
  case conditionFailed
  /// The value has more leaves, or more bytes of them and their paths, than one reply holds: what is below it has to be read.
  case valueTooLarge(leaves: Int, bytes: Int)
}
