package import Registry

/// What this room's tables hold of a person: nothing that the hub could find, as no contact belongs to it.
package enum SubscriptionsPersonalTables {
  package static let all: [PersonalTable] = [
    PersonalTable("data_tree_app", .stays("It is about apps.")),
    PersonalTable("data_tree_node", .stays("It has what the customer's own systems write; no contact belongs to it.")),
    PersonalTable("data_tree_subscription", .stays("It has tokens of installs; no contact belongs to it.")),
    PersonalTable("data_tree_due", .stays("It has changes of data trees for minutes; no contact belongs to it.")),
    PersonalTable("data_tree_notification", .stays("It has outcomes; no contact belongs to it.")),
  ]
}
