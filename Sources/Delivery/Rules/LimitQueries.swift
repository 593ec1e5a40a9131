import Postgres
import Registry
import Wire

/// Statements about what times and limits do to a sendout as a whole, and about what caps count. `$1` is the customer, `$2` the sendout.
enum LimitQueries {
  static let all: [Statement] = [expire, resumed, recentOutcomes, forgetReach, forgetCaps]

  /// Skips the pushes of all batches that are not claimed, as the sendout's end has come. Claimed ones are skipped when they are claimed next.
  /// Locks these batches in the order of their numbers, then their pushes, as `ledger.cancel` does. Returns how many pushes it skipped.
  static let expire = Statement(
    "ledger.expire", .write,
    """
    WITH batch AS MATERIALIZED (
      SELECT batch_no FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('queued', 'held')
       ORDER BY batch_no
         FOR NO KEY UPDATE),
    ended AS (
      UPDATE push_batch
         SET state = 'settled', skipped = push_batch.skipped + push_batch.queued + push_batch.waiting, queued = 0, waiting = 0
        FROM batch
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint AND push_batch.batch_no = batch.batch_no
         AND push_batch.state IN ('queued', 'held')
      RETURNING push_batch.first_push, push_batch.last_push),
    skipped AS (
      UPDATE push
         SET state = 'skipped', reason = '\(HubReason.expired.rawValue)', settled_at = now(), not_before = NULL
        FROM ended
       WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.push_no BETWEEN ended.first_push AND ended.last_push
         AND push.state IN ('queued', 'waiting')
      RETURNING 1)
    SELECT count(*) FROM skipped
    """)

  /// The sendout goes on after a person has paused it: what it kept waiting meanwhile is not late, and whoever is next has the turn of this moment.
  /// Locks its pace.
  static let resumed = Statement(
    "sendout_pace.resumed", .write,
    """
    UPDATE sendout_pace SET worked_at = now(), turn_at = now() WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// How many of the last pushes were answered, and how many of these failed, or may not have arrived, which is no failure. It adds up
  /// batches that were claimed last, but not before `$3`, until they have `$4` answers.
  static let recentOutcomes = Statement(
    "ledger.recent_outcomes", .read,
    """
    SELECT coalesce(sum(accepted + failed + uncertain), 0)::int8, coalesce(sum(failed), 0)::int8
      FROM (SELECT accepted, failed, uncertain,
                   sum(accepted + failed + uncertain)
                     OVER (ORDER BY claimed_at DESC, batch_no DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
              FROM (SELECT batch_no, claimed_at, accepted, failed, uncertain
                      FROM push_batch
                     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND claimed_at >= $3::timestamptz
                       AND accepted + failed + uncertain > 0
                     ORDER BY claimed_at DESC, batch_no DESC
                     LIMIT $4::int4) AS recent) AS added
     WHERE coalesce(before, 0) < $4::int4
    """)

  /// Deletes the reach of contacts that no rule can look back to, in the next `$3` rows behind the contact `$2`. Locks them, skipping those
  /// that claims have locked. Returns the last contact that it looked at, or NULL at the end.
  static let forgetReach = Statement(
    "reach.forget", .write,
    """
    WITH page AS MATERIALIZED (
      SELECT contact_id, changed_at FROM reach
       WHERE customer_id = $1::bigint AND contact_id > $2::bigint
       ORDER BY contact_id LIMIT $3::int4),
    old AS MATERIALIZED (
      SELECT contact_id FROM reach
       WHERE customer_id = $1::bigint AND contact_id > $2::bigint AND contact_id <= (SELECT max(contact_id) FROM page)
         AND changed_at < now() - interval '\(longestSpan) hours'
       ORDER BY contact_id
         FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM reach USING old WHERE reach.customer_id = $1::bigint AND reach.contact_id = old.contact_id)
    SELECT max(contact_id) FROM page
    """)

  /// Hours of the longest span that a rule can have.
  private static let longestSpan = 720

  /// Deletes days of caps that are older than `$2` days.
  static let forgetCaps = Statement(
    "cap.forget", .write,
    "DELETE FROM cap_day WHERE customer_id = $1::bigint AND day < (now() AT TIME ZONE 'UTC')::date - $2::int4")
}
