/// What room Delivery refuses. Outcomes of pushes are values, not errors.
public enum DeliveryError: Error, Sendable, Hashable {
  /// So many opens wait to be written already that one more would only wait in vain: try again in a moment.
  case opensOverflow
}
