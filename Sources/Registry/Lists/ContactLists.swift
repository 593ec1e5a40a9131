public import Postgres
public import Wire

/// The store of lists. Who is on a list is a field of the contact.
public struct ContactLists: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Adds a list. The name has 1 to 200 characters and is unique within the customer.
  /// - Parameter id: the number apps know the list by already, from 1, unique within the customer; `nil` for the next free one.
  /// - Throws: `RegistryError.invalid`, `.listNumberTaken`, `.listNameTaken`, `.customerUnknown`.
  @discardableResult
  public func add(_ customer: CustomerID, name: String, id: ListID? = nil) async throws -> ContactList {
    let name = try TextRule("name", maximum: 200).require(name)
    if let id, id.rawValue < 1 {
      throw RegistryError.invalid(field: "listId", problem: "must be a whole number from 1 to \(Int64.max)")
    }
    let constraints: [String: RegistryError] = [
      "list_name_key": .listNameTaken(name), "list_customer_id_fkey": .customerUnknown(customer),
    ]
    while true {
      let rows = try await database.meaning(constraints) {
        try await $0.query(ContactListQueries.add, customer.rawValue, name, id?.rawValue)
      }
      if let row = rows.first { return try ContactList(row) }
      // The next number may be one that somebody chose; the one after it may not.
      if let id { throw RegistryError.listNumberTaken(id) }
    }
  }

  /// Every list of a customer, in the order of their numbers.
  public func all(_ customer: CustomerID) async throws -> [ContactList] {
    try await database.query(ContactListQueries.list, customer.rawValue).map(ContactList.init)
  }

  /// The customer's list of that number; `nil` if there is none.
  public func find(_ customer: CustomerID, _ list: ListID) async throws -> ContactList? {
    try await database.query(ContactListQueries.find, customer.rawValue, list.rawValue).first.map(ContactList.init)
  }
}
