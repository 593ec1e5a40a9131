public import HTTPTypes

extension HTTPField.Name {
  /// `X-Request-Id`: names the request in the hub's log.
  public static let requestID = known("X-Request-Id")
  /// `X-Carma-Authentication-Token`: the access key (Carma iOS Integration Guide, "Carma Authentication").
  public static let carmaToken = known("X-Carma-Authentication-Token")
  /// `X-Pushcart-Identity`: HMAC-SHA256 over the originalId, by the customer's back end.
  public static let identity = known("X-Pushcart-Identity")
  /// `Idempotency-Key`: makes a repeated POST safe.
  public static let idempotencyKey = known("Idempotency-Key")

  /// `Idempotent-Replayed: true`: this reply was given before, under the same `Idempotency-Key`.
  public static let idempotentReplayed = known("Idempotent-Replayed")

  private static func known(_ name: StaticString) -> HTTPField.Name {
    guard let name = HTTPField.Name("\(name)") else { preconditionFailure("not a field name: \(name)") }
    return name
  }
}
