package import Postgres
package import Wire

/// Reads the contacts and devices that webhooks are told of.
package struct ToldContacts: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  package struct Contact: Sendable {
    package let originalID: String
    /// The lowest of its lists; nil for none.
    package let list: ListID?
  }

  /// Those of the contacts that are still there.
  package func contacts(_ customer: CustomerID, _ ids: Set<ContactID>) async throws -> [ContactID: Contact] {
    guard !ids.isEmpty else { return [:] }
    let rows = try await database.query(ToldContactQueries.contacts, customer.rawValue, ids.map(\.rawValue))
    return Dictionary(
      try rows.map { row in
        let (id, originalID, list) = try row.decode(Int64.self, String.self, Int64?.self)
        return (ContactID(id), Contact(originalID: originalID, list: list.map { ListID($0) }))
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The apps of those of the devices that are still there.
  package func apps(_ customer: CustomerID, ofDevices ids: Set<Int64>) async throws -> [Int64: PushAppID] {
    guard !ids.isEmpty else { return [:] }
    let rows = try await database.query(ToldContactQueries.apps, customer.rawValue, Array(ids))
    return Dictionary(
      try rows.map { row in
        let (id, app) = try row.decode(Int64.self, Int64.self)
        return (id, PushAppID(app))
      }, uniquingKeysWith: { first, _ in first })
  }
}

/// Statements on what webhooks are told of. `$1` is the customer.
enum ToldContactQueries {
  static let all: [Statement] = [contacts, apps]

  /// The contacts `$2`.
  static let contacts = Statement(
    "told.contacts", .read,
    """
    SELECT c.contact_id, c.original_id, \(ContactColumns.lowestList("c")) FROM contact AS c
     WHERE c.customer_id = $1::bigint AND c.contact_id = ANY ($2::bigint[])
    """)

  /// The devices `$2`.
  static let apps = Statement(
    "told.apps", .read,
    "SELECT device_id, push_app_id FROM device WHERE customer_id = $1::bigint AND device_id = ANY ($2::bigint[])")
}
