import Audience
import DataInOut
import Delivery
import Hybrid
import Outbox
package import Registry
import Sendouts
import Subscriptions

/// What all tables hold of a person, as their rooms and stores say. A test compares the names with the database's tables.
package enum PersonalTables {
  /// In the order in which they are erased. Imports come first, so that their rows bring nobody back. The contact's own table is the last.
  package static let all: [PersonalTable] =
    ImportPersonalTables.all + SendoutsPersonalTables.all + DeliveryPersonalTables.all + OutboxPersonalTables.all
    + HybridPersonalTables.all
    + SubscriptionsPersonalTables.all + AudiencePersonalTables.all + stores
    + RegistryPersonalTables.all

  private static let stores = ManagementOperations.stores.map { $0.personalTable }
}
