public import Postgres
public import Wire

/// The store of lists, which are named sets of contacts to send to. Who is on a list is a field of the contact.
public struct ContactLists: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Adds a list. The name has 1 to 200 characters and is unique within the customer.
  /// - Parameter id: the number apps know the list by already, from 1, unique within the customer; `nil` for the next free one.
  /// - Throws: `RegistryError.invalid`, `.numberTaken`, `.nameTaken`, `.customerUnknown`.
  @discardableResult
  public func add(_ customer: CustomerID, name: String, id: ListID? = nil) async throws -> ListReply {
    let name = try TextRule("name", maximum: 200).require(name)
    if let id, id.rawValue < 1 {
      throw RegistryError.invalid(field: "listId", problem: "must be a whole number from 1 to \(Int64.max)")
    }
    let constraints: [String: RegistryError] = [
      "list_name_key": .nameTaken("list"), "list_customer_id_fkey": .customerUnknown(customer),
    ]
    while true {
      let rows = try await database.mapViolations(constraints) {
        try await $0.query(ContactListQueries.add, customer.rawValue, name, id?.rawValue)
      }
      if let row = rows.first { return try row.reply() }
      // The next number may be one that somebody chose; the one after it may not.
      if id != nil { throw RegistryError.numberTaken("list") }
    }
  }

  /// Every list of a customer, in the order of their numbers.
  public func all(_ customer: CustomerID) async throws -> [ListReply] {
    try await database.query(ContactListQueries.list, customer.rawValue).map { try $0.reply() }
  }

  /// The customer's list of that number; `nil` if there is none.
  public func find(_ customer: CustomerID, _ list: ListID) async throws -> ListReply? {
    try await database.query(ContactListQueries.find, customer.rawValue, list.rawValue).first.map { try $0.reply() }
  }
}

/// Statements on `list`. Columns have the names of the reply's fields.
enum ContactListQueries {
  private static let columns = "list_id, name, created_at"

  /// Adds the list named `$2` with the number `$3`, or the next one; no row when the number is taken.
  static let add = Statement(
    "list.add", .write,
    """
    INSERT INTO list (customer_id, name, list_id)
    VALUES ($1::bigint, $2::text, coalesce($3::bigint, nextval('list_list_id_seq')))
    ON CONFLICT (customer_id, list_id) DO NOTHING
    RETURNING \(columns)
    """)

  static let list = Statement(
    "list.list", .read, "SELECT \(columns) FROM list WHERE customer_id = $1::bigint ORDER BY list_id")

  static let find = Statement(
    "list.find", .read, "SELECT \(columns) FROM list WHERE customer_id = $1::bigint AND list_id = $2::bigint")

  static let all: [Statement] = [add, list, find]
}
