package import Registry

/// What this room's tables hold of a person, but `outbox`, which goes with what it is about.
package enum OutboxPersonalTables {
  package static let all: [PersonalTable] = [
    PersonalTable("webhook", .stays("It has the customer's own addresses.")),
    PersonalTable(
      "webhook_event", .stays("It has numbers of a contact, a device and pushes that are gone, for 30 days.")),
    PersonalTable("webhook_delivery", .stays("It has counts, for 30 days.")),
  ]
}
