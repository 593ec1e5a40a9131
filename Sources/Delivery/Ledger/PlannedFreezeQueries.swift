import Postgres
import Registry
import Wire

/// Statements that write the audience of a sendout with times, limits or variants into the ledger, or count it before. Their parameters are
/// those of `PlannedAudienceSQL`, and those that a statement says.
enum PlannedFreezeQueries {
  static let all: [Statement] =
    SelectedAudience.samples.flatMap { audience in
      let sql = PlannedAudienceSQL(audience, excluded: .sample, isZoned: true)
      let counting = PlannedAudienceSQL(audience, excluded: .sample, isZoned: true, conditions: [.everyone, .everyone])
      return [
        freeze(audience, sql), preflight(audience, sql), preflight(audience, counting), hasDueZone(audience, sql),
      ]
    } + [unzonedSample, batches, steps, settings]

  private static let unzonedSample = Statement(
    "ledger.freeze_unzoned", .write, write(PlannedAudienceSQL(.all, excluded: nil, isZoned: false)))

  typealias Parameter = PlannedAudienceSQL.Parameter
  typealias StepName = PlannedAudienceSQL.StepName

  /// The parameters of a freeze beside those of the audience.
  private enum Added: Int, CustomStringConvertible {
    case size, hasMoments, numbers, names, shares, versions

    var description: String { "$\(PlannedAudienceSQL.nextParameter + rawValue)::\(type)" }

    private var type: String {
      switch self {
      case .size: "int4"
      case .hasMoments: "bool"
      case .numbers, .shares, .versions: "int4[]"
      case .names: "text[]"
      }
    }
  }

  /// Writes a push for each valid device of a contact that is neither excluded nor without one. Whoever is left out of the others has a push
  /// that is skipped, with the reason. Adds the size of a batch, whether pushes have a moment, and numbers, names, shares and versions of the
  /// templates of variants, 0 for those who wait for a winner among them.
  ///
  /// Devices are numbered by lane, within it by moment, and then by variant, so that most requests are shared, and by id. Of a lane the first group
  /// are skipped pushes; then come the moments of those who go, and once more those of who waits for a winner. A batch ends with its group,
  /// and wherever the number is a multiple of the batch's size, so its number follows from that of its first push, as in `FreezeQueries`.
  ///
  /// Until `batches` and `steps`, `sendout_moment` has the moments, and `sendout_left_out` what `steps` returns.
  static func freeze(_ audience: SelectedAudience, _ sql: PlannedAudienceSQL) -> Statement {
    Statement("ledger.freeze_planned_\(audience.name)", .write, write(sql))
  }

  private static func write(_ sql: PlannedAudienceSQL) -> String {
    """
    WITH \(sql.ctes),
    moments AS (
      INSERT INTO sendout_moment (customer_id, sendout_id, moment_no, due_at, planned_at, quiet_at, waits)
      SELECT $1::bigint, \(Parameter.sendout), moment_no + CASE WHEN waits THEN (SELECT count(*) FROM moment) ELSE 0 END, due_at,
             CASE WHEN is_held OR waits OR \(Added.hasMoments) THEN due_at END,
             (SELECT min(quiet_start(due_at, zone, \(Parameter.quietStart), \(Parameter.quietEnd))) FROM unnest(zones) AS zone),
             waits
        FROM moment CROSS JOIN (VALUES (false), (true)) AS rest (waits)
       WHERE NOT waits OR 0 = ANY (\(Added.numbers))),
    zones AS (
      INSERT INTO sendout_zone (customer_id, sendout_id, zone_no, zone, source, planned_at, contacts)
      SELECT $1::bigint, \(Parameter.sendout), zone_no, zone, source,
             CASE WHEN \(Parameter.localTime) IS NOT NULL THEN moment END, contacts
        FROM place WHERE zone_no IS NOT NULL),
    variants AS (
      INSERT INTO sendout_variant (customer_id, sendout_id, variant_no, name, share, template_version, contacts)
      SELECT $1::bigint, \(Parameter.sendout), one.variant_no, one.name, one.share, one.version, coalesce(sum(tally.contacts), 0)
        FROM unnest(\(Added.numbers), \(Added.names), \(Added.shares), \(Added.versions)) AS one (variant_no, name, share, version)
        LEFT JOIN tally ON tally.variant = one.variant_no
       GROUP BY one.variant_no, one.name, one.share, one.version),
    left_out AS (
      INSERT INTO sendout_left_out (customer_id, sendout_id, reason, contacts)
      SELECT $1::bigint, \(Parameter.sendout), reason, sum(contacts)
        FROM (SELECT coalesce(verdict, '\(StepName.left.rawValue)') AS reason, contacts FROM tally
              UNION ALL
              SELECT '\(held)', contacts FROM tally WHERE is_held
              UNION ALL
              SELECT \(cappedReason), contacts FROM tally WHERE rule IS NOT NULL) AS counted
       GROUP BY reason)
    INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, variant, zone_no, state, reason, settled_at)
    SELECT customer_id, \(Parameter.sendout), push_no, (push_no - 1) / \(Added.size) + part, device_id, contact_id, variant, zone_no,
           CASE WHEN verdict IS NULL THEN 'queued' ELSE 'skipped' END,
           CASE WHEN rule IS NOT NULL THEN \(cappedReason) ELSE verdict END,
           CASE WHEN verdict IS NOT NULL THEN now() END
      FROM (SELECT *, row_number() OVER (PARTITION BY customer_id ORDER BY part, variant, device_id) AS push_no
              FROM (SELECT *, lane * (2 * moments + 1)
                              + CASE WHEN verdict IS NOT NULL THEN 0 WHEN variant = 0 THEN moment_no + moments ELSE moment_no END AS part
                      FROM (SELECT device.customer_id, device.device_id, decided.contact_id, decided.variant, decided.zone_no,
                                   decided.moment_no, decided.rule,
                                   coalesce(decided.verdict, CASE WHEN \(PlannedAudienceSQL.isSuppressedDevice)
                                                                  THEN '\(StepName.suppressed.rawValue)' END) AS verdict,
                                   array_position(\(Parameter.apps), device.push_app_id) * 2 - 2 + device.sandbox::int4 AS lane,
                                   (SELECT count(*) FROM moment)::int4 AS moments
                              FROM decided
                              JOIN device ON device.customer_id = $1::bigint AND device.contact_id = decided.contact_id
                                         AND \(PlannedAudienceSQL.isOfApps)
                             WHERE decided.verdict IS DISTINCT FROM '\(StepName.excluded.rawValue)'
                            OFFSET 0) AS reached) AS laned) AS numbered
     WHERE customer_id = $1::bigint
    """
  }

  private static let held = "held"
  private static let capped = "\(StepName.capped.rawValue) "
  /// The reason of pushes that the rule `rule` has stopped.
  private static let cappedReason = "'\(capped)' || (\(Parameter.capNames))[rule]"

  /// The values that `freeze` adds.
  static func append(_ plan: FreezePlan, batchSize: Int, to parameters: inout ParameterBuffer) {
    var variants = plan.variants.enumerated().map { (number: Int32($0 + 1), variant: $1) }
    if plan.restShare > 0 { variants.append((0, FreezePlan.Variant(name: "", share: plan.restShare))) }
    parameters.append(Int32(clamping: batchSize))
    parameters.append(plan.hasMoments)
    parameters.append(variants.map(\.number))
    parameters.append(variants.map(\.variant.name))
    parameters.append(variants.map { Int32($0.variant.share) })
    parameters.append(variants.map(\.variant.templateVersion))
  }

  /// Writes the batches of the `$3` pushes that were just written for the sendout `$2`, of `$4` each, of the apps `$5`, and its pace. Skipped
  /// pushes stand in settled batches, and those that wait for a winner in batches that are never due.
  static let batches = Statement(
    "ledger.freeze_planned_batches", .write,
    """
    WITH \(FreezeQueries.batch),
    moment AS (
      DELETE FROM sendout_moment WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
      RETURNING moment_no, due_at, planned_at, quiet_at, waits),
    width AS MATERIALIZED (SELECT 2 * count(*) FILTER (WHERE NOT waits)::int4 + 1 AS width FROM moment),
    pace AS (
      INSERT INTO sendout_pace (customer_id, sendout_id, worked_at)
      SELECT $1::bigint, $2::bigint, least(now(), min(planned_at)) FROM moment)
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued, skipped,
                            not_before, planned_at, quiet_at)
    SELECT $1::bigint, $2::bigint, batch_no, ($5::bigint[])[lane / 2 + 1], lane % 2 = 1, first_push, last_push,
           CASE WHEN part = 0 THEN 'settled' ELSE 'queued' END,
           CASE WHEN part = 0 THEN 0 ELSE last_push - first_push + 1 END,
           CASE WHEN part = 0 THEN last_push - first_push + 1 ELSE 0 END,
           CASE WHEN moment.waits THEN 'infinity' ELSE coalesce(moment.due_at, now()) END, moment.planned_at, moment.quiet_at
      FROM (SELECT batch.*, (batch_no - (first_push - 1) / $4::int4) / width.width AS lane,
                   (batch_no - (first_push - 1) / $4::int4) % width.width AS part
              FROM batch CROSS JOIN width) AS numbered
      LEFT JOIN moment ON moment.moment_no = part
    """)

  /// How many contacts each step has left out, with `left` and `held`, and the first and the last moment of the sendout `$2`. Counts whom caps
  /// have left out, and deletes the rows that tell no step. Last of all, so that no claim waits long for the counts.
  static let steps = Statement(
    "ledger.freeze_planned_steps", .write,
    """
    WITH gone AS (
      DELETE FROM sendout_left_out
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
         AND (reason IN ('\(StepName.left.rawValue)', '\(held)') OR starts_with(reason, '\(capped)'))
      RETURNING reason, contacts),
    counted AS (
      INSERT INTO cap_day AS known (customer_id, rule, day, slot, capped)
      SELECT $1::bigint, substr(reason, \(capped.utf8.count + 1)), (now() AT TIME ZONE 'UTC')::date, (pg_backend_pid() % 16)::int2, contacts
        FROM gone WHERE starts_with(reason, '\(capped)')
       ORDER BY reason
      ON CONFLICT (customer_id, rule, day, slot) DO UPDATE SET capped = known.capped + excluded.capped)
    SELECT step.reason, step.contacts, batch.first_at, batch.last_at
      FROM sendout_left_out AS step
     CROSS JOIN (SELECT min(coalesce(planned_at, not_before)) AS first_at, max(coalesce(planned_at, not_before)) AS last_at
                   FROM push_batch
                  WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'queued') AS batch
     WHERE step.customer_id = $1::bigint AND step.sendout_id = $2::bigint AND NOT starts_with(step.reason, '\(capped)')
    """)

  /// What a freeze would write: lines that count contacts by step, zone, and devices by lane, and those who are left by the conditions that they
  /// meet, with the original id of one. The first is the moment of the counts. With conditions it adds their literals.
  static func preflight(_ audience: SelectedAudience, _ sql: PlannedAudienceSQL) -> Statement {
    Statement(
      "ledger.preflight_\(audience.name)\(sql.conditions.isEmpty ? "" : "_of_conditions")", .read,
      """
      WITH \(sql.ctes),
      lane AS MATERIALIZED (
        SELECT device.push_app_id, device.sandbox, count(*) AS devices
          FROM decided
          JOIN device ON device.customer_id = $1::bigint AND device.contact_id = decided.contact_id AND \(PlannedAudienceSQL.isOfApps)
         WHERE decided.verdict IS NULL AND NOT \(PlannedAudienceSQL.isSuppressedDevice)
         GROUP BY device.push_app_id, device.sandbox)\(met(sql.conditions.count))
      SELECT '\(Line.moment.rawValue)', NULL, NULL, NULL::bigint, NULL::bool, now(), now(), 0::bigint
      UNION ALL
      SELECT '\(Line.step.rawValue)', coalesce(verdict, '\(StepName.left.rawValue)'), NULL, NULL, is_held, first_at, last_at, contacts FROM tally
      UNION ALL
      SELECT '\(Line.zone.rawValue)', zone, source, NULL, NULL, CASE WHEN \(Parameter.localTime) IS NOT NULL THEN moment END, NULL, contacts
        FROM place WHERE zone_no IS NOT NULL
      UNION ALL
      SELECT '\(Line.lane.rawValue)', NULL, NULL, push_app_id, sandbox, NULL, NULL, devices FROM lane
      \(metLines(sql.conditions.count))
      """)
  }

  /// What a line of a preflight counts.
  enum Line: String { case moment, step, zone, lane, condition }

  /// A further expression, `met`: how many of those left meet each condition, and the least number of one.
  private static func met(_ conditions: Int) -> String {
    guard conditions > 0 else { return "" }
    let columns = (0..<conditions).map { place in
      let isMet = "FILTER (WHERE met & \(PlannedAudienceSQL.bit(place)) <> 0)"
      return "count(*) \(isMet) AS count_\(place), min(contact_id) \(isMet) AS example_\(place)"
    }
    return """
      ,
      met AS MATERIALIZED (
        SELECT \(columns.joined(separator: ",\n               "))
          FROM decided WHERE verdict IS NULL AND met <> 0)
      """
  }

  private static func metLines(_ conditions: Int) -> String {
    guard conditions > 0 else { return "" }
    let values = (0..<conditions).map { "(\($0)::bigint, count_\($0), example_\($0))" }.joined(separator: ", ")
    return """
      UNION ALL
      SELECT '\(Line.condition.rawValue)',
             (SELECT original_id FROM contact WHERE contact.customer_id = $1::bigint AND contact.contact_id = one.example),
             NULL, place, NULL, NULL, NULL, contacts
        FROM met CROSS JOIN LATERAL (VALUES \(values)) AS one (place, contacts, example)
      """
  }

  static func hasDueZone(_ audience: SelectedAudience, _ sql: PlannedAudienceSQL) -> Statement {
    Statement("ledger.first_zone_\(audience.name)", .read, sql.hasDueZone)
  }

  /// For the rest of the transaction: to compile a statement that runs once takes two seconds, and to sort a hundred thousand contacts to join
  /// them a tenth. As `FreezeQueries.unlimited`, but with the limit of time.
  static let settings = Statement(
    "ledger.planned", .write,
    """
    SELECT set_config('jit', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('work_mem', '64MB', true),
           set_config('plan_cache_mode', 'force_custom_plan', true)
    """)
}
