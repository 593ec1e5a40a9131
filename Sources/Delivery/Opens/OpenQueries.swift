import Postgres
import Registry
import Wire

/// Statements on `open_event`.
enum OpenQueries {
  static let all: [Statement] = [record, contacts, hours, firstHours]

  /// Records opens of the customer `$1`: sendouts `$2`, pushes `$3`, ways of opening `$4`, readers `$5`. Opens of one push
  /// within one minute are counted in one row. Opens of pushes that are not in the ledger are ignored, and those of tests are known and not
  /// recorded. The first open by a
  /// person is written to the push and counted in its batch and its hour, unless the device now belongs to another contact, who never got the
  /// push.
  ///
  /// Returns one row of two arrays: the positions of the known opens in the input, and the contacts of their pushes. Both are
  /// NULL if none is known. Locks events, then batches, then pushes, each in key order, as settlements do, and then the rows that
  /// count hours: each connection has its own, so that statements rarely wait for each other's.
  static let record = Statement(
    "open.record", .write,
    """
    WITH opened AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[])
        WITH ORDINALITY AS opened (sendout_id, push_no, via, reader, place)),
    -- OFFSET 0 forces a lookup by primary key, whatever table size the planner assumes.
    test AS MATERIALIZED (
      SELECT one.sendout_id
        FROM (SELECT DISTINCT sendout_id FROM opened) AS one
       CROSS JOIN LATERAL (SELECT FROM sendout
                            WHERE sendout.customer_id = $1::bigint AND sendout.sendout_id = one.sendout_id
                              AND sendout.test_of IS NOT NULL
                           OFFSET 0) AS tested),
    found AS MATERIALIZED (
      SELECT opened.*, push.contact_id, push.batch_no, push.is_new
        FROM opened
       CROSS JOIN LATERAL
             (SELECT contact_id, batch_no, opened_at IS NULL AS is_new
                FROM push
               WHERE push.customer_id = $1::bigint AND push.sendout_id = opened.sendout_id
                 AND push.push_no = opened.push_no
              OFFSET 0) AS push),
    known AS MATERIALIZED (SELECT * FROM found WHERE sendout_id NOT IN (SELECT sendout_id FROM test)),
    recorded AS (
      INSERT INTO open_event (customer_id, sendout_id, push_no, via, reader, opens)
      SELECT $1::bigint, sendout_id, push_no, via, reader, count(*) FROM known
       GROUP BY sendout_id, push_no, via, reader ORDER BY sendout_id, push_no, via, reader
      ON CONFLICT (customer_id, sendout_id, push_no, minute, via, reader)
        DO UPDATE SET opens = open_event.opens + excluded.opens
      RETURNING 1),
    batch AS MATERIALIZED (
      SELECT batch.sendout_id, batch.batch_no
        FROM (SELECT DISTINCT sendout_id, batch_no FROM known
               WHERE reader = 'person' AND is_new AND (SELECT count(*) FROM recorded) > 0
               ORDER BY sendout_id, batch_no) AS wanted
       CROSS JOIN LATERAL
             (SELECT sendout_id, batch_no FROM push_batch
               WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = wanted.sendout_id
                 AND push_batch.batch_no = wanted.batch_no
               LIMIT 1 FOR NO KEY UPDATE) AS batch),
    firsts AS (
      UPDATE push
         SET opened_at = now()
        FROM (SELECT DISTINCT sendout_id, push_no FROM known
               WHERE reader = 'person' AND is_new AND (SELECT count(*) FROM batch) > 0
               ORDER BY sendout_id, push_no) AS first
       WHERE push.customer_id = $1::bigint AND push.sendout_id = first.sendout_id
         AND push.push_no = first.push_no AND push.opened_at IS NULL
         AND \(DeviceCondition.isHeld("push.device_id", by: "push.contact_id"))
      RETURNING push.sendout_id, push.push_no, push.batch_no, push.contact_id, push.state = 'accepted' AS is_accepted),
    told AS (\(EventSQL.notePushes(.pushOpened, of: "firsts", sendout: "sendout_id"))),
    noted AS (\(ActivityChange.note("firsts", where: "true"))),
    counted AS (
      UPDATE push_batch
         SET opened = opened + first.count, accepted_opened = accepted_opened + first.accepted
        FROM (SELECT sendout_id, batch_no, count(*) AS count, count(*) FILTER (WHERE is_accepted) AS accepted
                FROM firsts GROUP BY sendout_id, batch_no) AS first
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = first.sendout_id
         AND push_batch.batch_no = first.batch_no),
    hour_counted AS (
      INSERT INTO open_hour AS known (customer_id, sendout_id, hour, slot, opens, first_opens, by_machines)
      SELECT $1::bigint, sendout_id, date_trunc('hour', now(), 'UTC'), (pg_backend_pid() % 16)::int2,
             coalesce(sum(opens), 0), coalesce(sum(firsts), 0), coalesce(sum(machines), 0)
        FROM (SELECT sendout_id, count(*) FILTER (WHERE reader = 'person') AS opens, NULL::bigint AS firsts,
                     count(*) FILTER (WHERE reader <> 'person') AS machines
                FROM known GROUP BY sendout_id
               UNION ALL
              SELECT sendout_id, NULL, count(*), NULL FROM firsts GROUP BY sendout_id) AS counted
       GROUP BY sendout_id
       ORDER BY sendout_id
      ON CONFLICT (customer_id, sendout_id, hour, slot)
        DO UPDATE SET opens = known.opens + excluded.opens, first_opens = known.first_opens + excluded.first_opens,
                      by_machines = known.by_machines + excluded.by_machines)
    SELECT array_agg(place), array_agg(contact_id) FROM found
    """)

  /// Returns the same arrays as `record`, without recording anything.
  static let contacts = Statement(
    "open.contacts", .read,
    """
    SELECT array_agg(opened.place), array_agg(push.contact_id)
      FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS opened (sendout_id, push_no, place)
     CROSS JOIN LATERAL
           (SELECT contact_id
              FROM push
             WHERE push.customer_id = $1::bigint AND push.sendout_id = opened.sendout_id
               AND push.push_no = opened.push_no
            OFFSET 0) AS push
    """)

  /// Opens of the sendout `$2` by hour, the oldest first, at most `$3` hours.
  static let hours = Statement(
    "open.hours", .read,
    """
    SELECT hour, sum(opens)::bigint, sum(first_opens)::bigint, sum(by_machines)::bigint
      FROM open_hour
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
     GROUP BY hour
     ORDER BY hour
     LIMIT $3::bigint
    """)

  /// First opens of the sendouts `$2`, which were started at `$3`, in each of the first `$4` hours that has any: the sendout, the hour from 0
  /// on, and the count.
  static let firstHours = Statement(
    "open.first_hours", .read,
    """
    SELECT s.sendout_id, (extract(epoch FROM h.hour - date_trunc('hour', s.started_at, 'UTC')) / 3600)::int4,
           sum(h.first_opens)::bigint
      FROM unnest($2::bigint[], $3::timestamptz[]) AS s (sendout_id, started_at)
     CROSS JOIN LATERAL (SELECT hour, first_opens FROM open_hour
                          WHERE customer_id = $1::bigint AND sendout_id = s.sendout_id
                            AND hour >= date_trunc('hour', s.started_at, 'UTC')
                            AND hour < date_trunc('hour', s.started_at, 'UTC') + make_interval(hours => $4::int4)
                         OFFSET 0) AS h
     GROUP BY 1, 2
    HAVING sum(h.first_opens) > 0
    """)
}
