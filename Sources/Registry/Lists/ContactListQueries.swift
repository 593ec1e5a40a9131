import FoundationEssentials
import Postgres
import Wire

/// Statements on `list`.
enum ContactListQueries {
  private static let columns = "list_id, customer_id, name, created_at"

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

extension ContactList {
  init(_ row: Row) throws {
    let (id, customer, name, createdAt) = try row.decode(Int64.self, Int64.self, String.self, Date.self)
    self.init(id: ListID(id), customer: CustomerID(customer), name: name, createdAt: createdAt)
  }
}
