public import Registry
public import Wire

/// What decides about messages of a stream whose customer has quiet hours or caps for their purpose.
public struct StreamLimits: Sendable {
  public let rules: SendRules
  public let places: ContactPlaces

  /// - Returns: nil if nothing limits messages of this purpose.
  public init?(_ customer: CustomerLimits, for purpose: MessagePurpose) {
    guard customer.concern(purpose) else { return nil }
    rules = SendRules(purpose: purpose, quietHours: customer.quietHours, caps: customer.caps)
    places = ContactPlaces(customerZone: customer.timeZone, countryZones: .ofMachine)
  }
}

/// Where the time zones of contacts come from that tell none themselves.
public struct ContactPlaces: Sendable {
  /// Whoever is nowhere known has the customer's.
  package let customerZone: String
  package let countryZones: CountryZones

  package init(customerZone: String, countryZones: CountryZones) {
    self.customerZone = customerZone
    self.countryZones = countryZones
  }
}
