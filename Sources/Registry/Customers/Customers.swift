import FoundationEssentials
public import Postgres
public import Wire

/// The store of customers.
public struct Customers: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Adds a customer. The name has 1 to 200 characters and need not be unique.
  /// - Throws: `RegistryError.invalid`.
  public func add(name: String) async throws -> Customer {
    let name = try TextRule("name", maximum: 200).require(name)
    return try await database.query(CustomerQueries.add, name).map(Customer.init)[0]
  }

  /// Every customer, in the order they were added.
  public func all() async throws -> [Customer] {
    try await database.query(CustomerQueries.list).map(Customer.init)
  }

  /// The customer of that number; `nil` if there is none.
  public func find(_ id: CustomerID) async throws -> Customer? {
    try await database.query(CustomerQueries.find, id.rawValue).first.map(Customer.init)
  }
}

extension Customer {
  init(_ row: Row) throws {
    let (id, name, createdAt) = try row.decode(Int64.self, String.self, Date.self)
    self.init(id: CustomerID(id), name: name, createdAt: createdAt)
  }
}
