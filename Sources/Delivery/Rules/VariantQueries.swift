import Postgres
import Wire

/// Statements about the variants of a sendout, and about those who wait for the winner. `$1` is the customer, `$2` the sendout.
enum VariantQueries {
  static let all: [Statement] = [outcomes, noteOutcomes, templates, releaseRest, cancelRest, ofPush]

  /// The variant that a push says, by its column: for whoever has waited the winner's. NULL without variants, and before the decision.
  static let said = """
    CASE WHEN variant = 0 THEN (SELECT winner_no FROM sendout WHERE customer_id = $1::bigint AND sendout_id = $2::bigint)
         ELSE variant END
    """

  /// Of each variant that has such contacts: how many had an accepted push by the moment `$3`, NULL for now, and how many of them a person had
  /// opened by then, on whatever device. Those who wait for the winner are not among them. The range keeps the planner from reading
  /// other sendouts' pushes.
  static let outcomes = Statement(
    "variant.outcomes", .read,
    """
    SELECT variant, count(*), count(*) FILTER (WHERE has_opened)
      FROM (SELECT variant, contact_id, bool_or(opened_at <= moment.at) IS TRUE AS has_opened
              FROM push, (SELECT coalesce($3::timestamptz, now()) AS at) AS moment
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
               AND push_no BETWEEN 1 AND (SELECT max(last_push) FROM push_batch
                                           WHERE customer_id = $1::bigint AND sendout_id = $2::bigint)
               AND variant > 0
             GROUP BY variant, contact_id
            HAVING bool_or(state = 'accepted' AND sent_at <= moment.at)) AS contact
     GROUP BY variant
     ORDER BY variant
    """)

  /// Writes what the decision was made on: of the variants `$3` the accepted contacts `$4`, those `$5` of them who had opened, and the
  /// probabilities `$6`.
  static let noteOutcomes = Statement(
    "variant.note_outcomes", .write,
    """
    UPDATE sendout_variant
       SET accepted = counted.accepted, opened = counted.opened, p_adjusted = counted.p_adjusted
      FROM unnest($3::int2[], $4::int4[], $5::int4[], $6::float8[]) AS counted (variant_no, accepted, opened, p_adjusted)
     WHERE sendout_variant.customer_id = $1::bigint AND sendout_variant.sendout_id = $2::bigint
       AND sendout_variant.variant_no = counted.variant_no
    """)

  /// The variants that have a template of their own, and its version.
  static let templates = Statement(
    "variant.templates", .read,
    """
    SELECT variant_no, template_version FROM sendout_variant
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND template_version IS NOT NULL
    """)

  /// The batches of those who wait for the winner, locked in the order of their numbers. Of a sendout with variants no other batch has
  /// such a moment.
  private static let rest = """
    rest AS MATERIALIZED (
      SELECT batch_no FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('queued', 'held') AND not_before = 'infinity'
       ORDER BY batch_no
         FOR NO KEY UPDATE)
    """

  /// Those who wait for the winner are due at the moment that is planned for them, and at `$3` at the earliest.
  static let releaseRest = Statement(
    "ledger.release_rest", .write,
    """
    WITH \(rest)
    UPDATE push_batch
       SET not_before = greatest(planned_at, $3::timestamptz), planned_at = greatest(planned_at, $3::timestamptz)
      FROM rest
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_batch.batch_no = rest.batch_no
       AND not_before = 'infinity'
    """)

  /// Those who wait for the winner get nothing. Returns how many pushes there were.
  static let cancelRest = Statement(
    "ledger.cancel_rest", .write,
    """
    WITH \(rest),
    stopped AS (
      UPDATE push_batch
         SET state = 'cancelled', release_to = 'cancelled', \(BatchQueries.cancelledCounts("true"))
        FROM rest
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_batch.batch_no = rest.batch_no
         AND not_before = 'infinity'
      RETURNING first_push, last_push),
    cancelled AS (
      UPDATE push
         SET state = 'cancelled', reason = '\(HubReason.noWinner.rawValue)', settled_at = now(), not_before = NULL
        FROM stopped
       WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.push_no BETWEEN stopped.first_push AND stopped.last_push
         AND \(BatchQueries.isPush(ofAny: "stopped"))
         AND push.state IN ('queued', 'waiting')
      RETURNING 1)
    SELECT count(*) FROM cancelled
    """)

  /// The variant that the push `$3` says.
  static let ofPush = Statement(
    "variant.of_push", .read,
    """
    SELECT \(said) FROM push
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no = $3::bigint
     LIMIT 1
    """)
}
