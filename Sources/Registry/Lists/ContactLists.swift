public import Postgres
public import Wire

/// The store of lists. Who is on a list is a field of the contact.
public struct ContactLists: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }
  public init(_ unit: UnitOfWork) { self.init(unit.transaction) }

  /// Adds a list. The name has 1 to 200 characters and is unique within the customer.
  /// - Throws: `RegistryError.invalid`, `.listNameTaken`, `.customerUnknown`.
  public func add(_ customer: CustomerID, name: String) async throws -> ContactList {
    let name = try TextRule("name", maximum: 200).require(name)
    let constraints: [String: RegistryError] = [
      "list_name_key": .listNameTaken(name), "list_customer_id_fkey": .customerUnknown(customer),
    ]
    let rows = try await database.meaning(constraints) {
      try await $0.query(ContactListQueries.add, customer.rawValue, name)
    }
    return try ContactList(rows[0])
  }

  /// Every list of a customer, in the order they were added.
  public func all(_ customer: CustomerID) async throws -> [ContactList] {
    try await database.query(ContactListQueries.list, customer.rawValue).map(ContactList.init)
  }

  /// The customer's list of that number; `nil` if there is none.
  public func find(_ customer: CustomerID, _ list: ListID) async throws -> ContactList? {
    try await database.query(ContactListQueries.find, customer.rawValue, list.rawValue).first.map(ContactList.init)
  }
}
