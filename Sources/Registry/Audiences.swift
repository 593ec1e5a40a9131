public import Postgres
public import Wire

/// Looks for the contacts that an audience names.
public struct Audiences: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// How many of these original ids no contact of the customer has; an id given twice counts once.
  public func unknownOriginalIDs(_ customer: CustomerID, among ids: [String]) async throws -> Int {
    try await database.query(AudienceQueries.unknownOriginalIDs, customer.rawValue, ids)[0].decode(Int.self)
  }
}

/// SQL that selects the devices of an audience: `customer_id`, `device_id` and `contact_id`. The ledger's statements
/// embed it. One `INSERT … SELECT` then freezes a million rows that never leave the server.
///
/// Parameters are `$1` the customer, `$2` the push apps, and `$3` what names the audience. Invalidated devices are left out.
package enum AudienceSelection {
  /// Every device of the apps; without `$3`.
  package static let all = """
    SELECT device.customer_id, device.push_app_id, device.sandbox, device.device_id, device.contact_id
      FROM device
     WHERE device.customer_id = $1::bigint AND device.push_app_id = ANY ($2::bigint[]) AND device.invalidated_at IS NULL
    """

  /// Those of contacts on the list `$3::bigint`.
  package static let list = """
    SELECT device.customer_id, device.push_app_id, device.sandbox, device.device_id, device.contact_id
      FROM contact
      JOIN device ON device.customer_id = contact.customer_id AND device.contact_id = contact.contact_id
     WHERE contact.customer_id = $1::bigint AND contact.list_id = $3::bigint
       AND device.push_app_id = ANY ($2::bigint[]) AND device.invalidated_at IS NULL
    """

  /// Those of contacts with the original ids `$3::text[]`, each device once however often an id is given.
  package static let originalIDs = """
    SELECT device.customer_id, device.push_app_id, device.sandbox, device.device_id, device.contact_id
      FROM (SELECT DISTINCT unnest($3::text[]) AS original_id) AS wanted
      JOIN contact ON contact.customer_id = $1::bigint AND contact.original_id = wanted.original_id
      JOIN device ON device.customer_id = contact.customer_id AND device.contact_id = contact.contact_id
     WHERE device.push_app_id = ANY ($2::bigint[]) AND device.invalidated_at IS NULL
    """
}

/// Statements on the contacts an audience names.
enum AudienceQueries {
  static let unknownOriginalIDs = Statement(
    "audience.unknown_original_ids", .read,
    """
    SELECT count(*)
      FROM (SELECT DISTINCT unnest($2::text[]) AS original_id) AS wanted
     WHERE NOT EXISTS (SELECT FROM contact
                        WHERE contact.customer_id = $1::bigint AND contact.original_id = wanted.original_id)
    """)

  static let all: [Statement] = [unknownOriginalIDs]
}
