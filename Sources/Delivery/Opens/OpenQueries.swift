import Postgres
import Registry

/// Statements on `open_event`.
enum OpenQueries {
  static let all: [Statement] = [record, contacts]

  /// Records opens of the customer `$1`: sendouts `$2`, devices `$3`, ways of opening `$4`, readers `$5`. Opens of one push
  /// within one minute are counted in one row. Opens of pushes that are not in the ledger are ignored. The first open by a
  /// person is written to the push, unless the device now belongs to another contact, who never got the push.
  ///
  /// Returns one row of two arrays: the positions of the known opens in the input, and the contacts of their pushes. Both are
  /// NULL if none is known. Locks events, then pushes, each in key order, as settlements do.
  static let record = Statement(
    "open.record", .write,
    """
    WITH opened AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[])
        WITH ORDINALITY AS opened (sendout_id, device_id, via, reader, place)),
    known AS (
      SELECT opened.*, push.contact_id, push.is_new
        FROM opened
       CROSS JOIN LATERAL
             -- OFFSET 0 forces a lookup by primary key, whatever table size the planner assumes.
             (SELECT contact_id, opened_at IS NULL AS is_new
                FROM push
               WHERE push.customer_id = $1::bigint AND push.sendout_id = opened.sendout_id
                 AND push.device_id = opened.device_id
              OFFSET 0) AS push),
    recorded AS (
      INSERT INTO open_event (customer_id, sendout_id, device_id, via, reader, opens)
      SELECT $1::bigint, sendout_id, device_id, via, reader, count(*) FROM known
       GROUP BY sendout_id, device_id, via, reader ORDER BY sendout_id, device_id, via, reader
      ON CONFLICT (customer_id, sendout_id, device_id, minute, via, reader)
        DO UPDATE SET opens = open_event.opens + excluded.opens),
    firsts AS (
      UPDATE push
         SET opened_at = now()
        FROM (SELECT DISTINCT sendout_id, device_id FROM known WHERE reader = 'person' AND is_new
               ORDER BY sendout_id, device_id) AS first
       WHERE push.customer_id = $1::bigint AND push.sendout_id = first.sendout_id
         AND push.device_id = first.device_id AND push.opened_at IS NULL
         AND \(DeviceCondition.isHeld("push.device_id", by: "push.contact_id")))
    SELECT array_agg(place), array_agg(contact_id) FROM known
    """)

  /// Returns the same arrays as `record`, without recording anything.
  static let contacts = Statement(
    "open.contacts", .read,
    """
    SELECT array_agg(opened.place), array_agg(push.contact_id)
      FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS opened (sendout_id, device_id, place)
     CROSS JOIN LATERAL
           (SELECT contact_id
              FROM push
             WHERE push.customer_id = $1::bigint AND push.sendout_id = opened.sendout_id
               AND push.device_id = opened.device_id
            OFFSET 0) AS push
    """)
}
