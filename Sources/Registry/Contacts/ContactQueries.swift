import Postgres

/// Statements on `contact` that are not part of a registration.
///
/// The sums in ORDER BY keep the planner from reading all of the customer's devices in the order of the primary key.
enum ContactQueries {
  /// One contact by the customer's own id `$2`, with its devices of the apps `$3`, in no order.
  static let find = Statement(
    "contact.find", .read,
    """
    SELECT 1::bigint, 0::int2, \(ContactColumns.sql(contact: "c", device: "d"))
    FROM contact c
    LEFT JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND contact_id = c.contact_id AND push_app_id = ANY ($3::bigint[])
      ORDER BY device_id + 0 LIMIT \(Device.maximumOfContact)
    ) d ON true
    WHERE c.customer_id = $1::bigint AND c.original_id = $2::text
    """)

  /// The contacts by the customer's own ids `$2`, with their devices of the apps `$3`, in no order.
  static let findMany = Statement(
    "contact.find_many", .read,
    """
    SELECT i.ordinal, 0::int2, \(ContactColumns.sql(contact: "c", device: "d"))
    FROM unnest($2::text[]) WITH ORDINALITY AS i(original_id, ordinal)
    CROSS JOIN LATERAL (
      SELECT * FROM contact WHERE customer_id = $1::bigint AND original_id = i.original_id LIMIT 1
    ) c
    LEFT JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND contact_id = c.contact_id AND push_app_id = ANY ($3::bigint[])
      ORDER BY device_id + 0 LIMIT \(Device.maximumOfContact)
    ) d ON true
    """)

  static let all: [Statement] = [find, findMany]
}
