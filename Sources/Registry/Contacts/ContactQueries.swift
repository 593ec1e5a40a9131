import Postgres

/// Statements on `contact` that are not part of a registration.
enum ContactQueries {
  /// One contact by the customer's own id `$2`, with its devices of the apps `$3`, in no order.
  static let find = Statement(
    "contact.find", .read,
    """
    SELECT 1::bigint, false, \(ContactColumns.sql(contact: "c", device: "d"))
    FROM contact c
    LEFT JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND contact_id = c.contact_id AND push_app_id = ANY ($3::bigint[])
      LIMIT \(Device.maximumOfContact)
    ) d ON true
    WHERE c.customer_id = $1::bigint AND c.original_id = $2::text
    """)

  static let all: [Statement] = [find]
}
