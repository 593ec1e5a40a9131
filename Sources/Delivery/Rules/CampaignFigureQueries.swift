import Postgres
import Wire

/// Statements that count what became of a sendout's contacts. `$1` is the customer, `$2` the sendout.
enum CampaignFigureQueries {
  static let all: [Statement] = [variants, sampledOutcomes, zones, uncountedZones, leftOut, leftOutByNow]

  /// The variants, and in the row 0 those who wait for the winner, with the counts of the decision and those that retention has kept.
  static let variants = Statement(
    "variant.figures", .read,
    """
    SELECT variant_no, name, share, contacts, accepted, opened, p_adjusted, final_accepted, final_opened FROM sendout_variant
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
     ORDER BY variant_no
    """)

  /// As `VariantQueries.outcomes` by now, of `$3` pushes at most, in some of 400 batches that are spread over all of them. Batches have
  /// either those who wait for the winner or others, so the first push tells which.
  static let sampledOutcomes = Statement(
    "variant.sampled_outcomes", .read,
    """
    WITH chosen AS MATERIALIZED (
      SELECT batch_no, first_push, last_push FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND accepted > 0
       ORDER BY hashint4(batch_no), batch_no
       LIMIT 400),
    compared AS MATERIALIZED (
      SELECT chosen.first_push, chosen.last_push,
             sum(chosen.last_push - chosen.first_push + 1) OVER (ORDER BY hashint4(chosen.batch_no), chosen.batch_no) AS pushes
        FROM chosen
       CROSS JOIN LATERAL (SELECT variant FROM push
                            WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no = chosen.first_push
                           OFFSET 0) AS first
       WHERE first.variant > 0),
    person AS (
      SELECT push.variant, push.contact_id, bool_or(push.is_opened) AS has_opened
        FROM compared
       CROSS JOIN LATERAL (SELECT variant, contact_id, state, opened_at IS NOT NULL AS is_opened FROM push
                            WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
                              AND push_no BETWEEN compared.first_push AND compared.last_push AND variant > 0
                           OFFSET 0) AS push
       WHERE compared.pushes <= $3::bigint
       GROUP BY push.variant, push.contact_id
      HAVING bool_or(push.state = 'accepted'))
    SELECT variant, count(*), count(*) FILTER (WHERE has_opened)
      FROM person
     GROUP BY variant
     ORDER BY variant
    """)

  /// The time zones of its contacts, `$3` at most, with how many of these have an accepted push, and have opened one: the report's own rows. It
  /// reads all pushes of the sendout, until retention has written what they came to.
  static let zones = Statement("campaign.zones", .read, zones("accepted, opened", of: "report.local_times"))

  /// The same rows as they were planned, for sendouts too large to be counted while somebody waits.
  static let uncountedZones = Statement(
    "campaign.uncounted_zones", .read, zones("NULL::bigint, NULL::bigint", of: "sendout_zone"))

  private static func zones(_ counts: String, of rows: String) -> String {
    """
    SELECT zone, source, planned_at, contacts, \(counts) FROM \(rows)
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
     ORDER BY planned_at NULLS LAST, zone COLLATE "C", source
     LIMIT $3::bigint
    """
  }

  /// How many contacts were left out at the freeze, by the names of steps.
  static let leftOut = Statement(
    "campaign.left_out", .read,
    """
    SELECT reason, contacts FROM sendout_left_out
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
     ORDER BY reason
    """)

  /// How many contacts have been left out by now, by the first word of the reason: those none of whose pushes left, nor will. It reads all
  /// pushes of the sendout.
  static let leftOutByNow = Statement(
    "campaign.left_out_by_now", .read,
    """
    SELECT reason, count(*)
      FROM (SELECT min(split_part(reason, ' ', 1)) AS reason FROM push
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
               AND push_no BETWEEN 1 AND (SELECT max(last_push) FROM push_batch
                                           WHERE customer_id = $1::bigint AND sendout_id = $2::bigint)
             GROUP BY contact_id
            HAVING bool_and(state = 'skipped' OR state = 'cancelled' AND reason = '\(HubReason.noWinner.rawValue)')) AS contact
     WHERE reason IS NOT NULL
     GROUP BY reason
     ORDER BY reason
    """)
}
