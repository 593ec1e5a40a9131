import Postgres

/// Statements that delete what retention no longer keeps of a sendout. `$1` is the customer, `$2` the sendout. Only sendouts that
/// ended for good come here, so nothing else changes their rows but opens.
enum HistoryQueries {
  static let all: [Statement] = deletions + [foldBatches, foldContacts]

  /// They delete a portion each: `$4` rows behind the number `$3`, and further ones of the last number. They return how many rows there
  /// were, and that number, NULL for none. Numbers of a stream have gaps, which cost nothing.
  static let deletions: [Statement] = [
    delete("history.delete_opens", from: "open_event", by: "push_no"), deletePushes,
    delete("history.delete_posts", from: "outbox", by: "item_no"),
    delete("history.delete_tracked", from: "tracked_message", by: "message_no"),
    delete("history.delete_messages", from: "message", by: "message_no"),
  ]

  /// Opens may have come long after the sendout's end: filters can still look back to them.
  static let deletePushes = delete(
    "history.delete_pushes", from: "push", by: "push_no", returning: "contact_id, opened_at",
    beside: ",\n  noted AS (\(ActivityChange.note("gone", where: "opened_at IS NOT NULL")))")

  private static func delete(
    _ name: String, from table: String, by number: String, returning columns: String = "1", beside: String = ""
  ) -> Statement {
    Statement(
      name, .write,
      """
      WITH portion AS MATERIALIZED (
        SELECT max(number) AS last
          FROM (SELECT \(number) AS number FROM \(table)
                 WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND \(number) > $3::int4
                 ORDER BY \(number) LIMIT $4::bigint) AS next),
      gone AS (
        DELETE FROM \(table)
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND \(number) > $3::int4
           AND \(number) <= (SELECT last FROM portion)
        RETURNING \(columns))\(beside)
      SELECT (SELECT count(*) FROM gone), last FROM portion
      """)
  }

  private static let counts = [
    "queued", "waiting", "accepted", "failed", "uncertain", "skipped", "cancelled", "sent", "opened", "accepted_opened",
  ]

  /// Puts one settled batch of each lane in place of the first `$3` of them: its counts are their totals. The range of its pushes is only
  /// their number. Repeated until there are no others, they are the sendout's totals. Returns how many it replaced.
  static let foldBatches = Statement(
    "history.fold_batches", .write,
    """
    WITH gone AS (
      DELETE FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
         AND batch_no = ANY (ARRAY(SELECT batch_no FROM push_batch
                                    WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
                                    ORDER BY batch_no LIMIT $3::bigint))
      RETURNING *),
    total AS (
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, state, first_push, last_push,
                            \(counts.joined(separator: ", ")))
    SELECT $1::bigint, $2::bigint, min(batch_no), push_app_id, sandbox, 'settled', 1, sum(last_push - first_push + 1),
           \(counts.map { "sum(\($0))" }.joined(separator: ", "))
      FROM gone
     GROUP BY push_app_id, sandbox)
    SELECT count(*) FROM gone
    """)

  /// Writes for good what reports count of the sendout's contacts while their pushes are there, by the same view: contacts left out since the
  /// freeze, and those of each variant and zone with an accepted push. A sendout without any pushes changes nothing. Returns how many contacts
  /// it read.
  static let foldContacts = Statement(
    "history.fold_contacts", .write,
    """
    WITH contact AS MATERIALIZED (
      SELECT variant, zone_no, accepted, opened, left_out_later FROM sendout_contacts
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint),
    left_out AS (
      INSERT INTO sendout_left_out AS known (customer_id, sendout_id, reason, contacts)
      SELECT $1::bigint, $2::bigint, left_out_later, count(*) FROM contact
       WHERE left_out_later IS NOT NULL
       GROUP BY left_out_later
      ON CONFLICT (customer_id, sendout_id, reason) DO UPDATE SET contacts = known.contacts + excluded.contacts),
    variants AS (
      UPDATE sendout_variant AS known
         SET final_accepted = counted.accepted, final_opened = counted.opened
        FROM (SELECT variant, \(outcomes) FROM contact GROUP BY variant) AS counted
       WHERE known.customer_id = $1::bigint AND known.sendout_id = $2::bigint AND known.variant_no = counted.variant),
    zones AS (
      UPDATE sendout_zone AS known
         SET accepted = counted.accepted, opened = counted.opened
        FROM (SELECT zone_no, \(outcomes) FROM contact GROUP BY zone_no) AS counted
       WHERE known.customer_id = $1::bigint AND known.sendout_id = $2::bigint AND known.zone_no = counted.zone_no)
    SELECT count(*) FROM contact
    """)

  private static let outcomes =
    "count(*) FILTER (WHERE accepted) AS accepted, count(*) FILTER (WHERE accepted AND opened) AS opened"
}
