import Postgres

/// SQL that selects the devices of an audience, `customer_id`, `device_id` and `contact_id`, for statements of the ledger to
/// stand around: a million rows are then frozen by one `INSERT … SELECT` and never leave the server.
///
/// Parameters are `$1` the customer, `$2` the push app, and `$3` what names the audience. Invalidated devices are left out.
package enum AudienceSelection {
  /// Every device of the app; without `$3`.
  package static let all = """
    SELECT device.customer_id, device.device_id, device.contact_id
      FROM device
     WHERE device.customer_id = $1::bigint AND device.push_app_id = $2::bigint AND device.invalidated_at IS NULL
    """

  /// Those of contacts on the list `$3::bigint`.
  package static let list = """
    SELECT device.customer_id, device.device_id, device.contact_id
      FROM contact
      JOIN device ON device.customer_id = contact.customer_id AND device.contact_id = contact.contact_id
     WHERE contact.customer_id = $1::bigint AND contact.list_id = $3::bigint
       AND device.push_app_id = $2::bigint AND device.invalidated_at IS NULL
    """

  /// Those of contacts with the original ids `$3::text[]`, each device once however often an id is given.
  package static let originalIDs = """
    SELECT device.customer_id, device.device_id, device.contact_id
      FROM (SELECT DISTINCT unnest($3::text[]) AS original_id) AS wanted
      JOIN contact ON contact.customer_id = $1::bigint AND contact.original_id = wanted.original_id
      JOIN device ON device.customer_id = contact.customer_id AND device.contact_id = contact.contact_id
     WHERE device.push_app_id = $2::bigint AND device.invalidated_at IS NULL
    """
}
