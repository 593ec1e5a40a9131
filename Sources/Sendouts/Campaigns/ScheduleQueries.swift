import Postgres
import Wire

/// Statements on when sendouts go. `$1` is the customer, `$2` the sendout.
enum ScheduleQueries {
  static let all: [Statement] = [areOver, schedule, limit, unschedule, timed, now, takeUp, postponeLook, late, end]

  /// Whether a moment `$1`, a wall time `$2` in every zone of the world, and the end `$3` are over. NULL is not.
  static let areOver = Statement(
    "schedule.are_over", .read,
    """
    SELECT coalesce($1::timestamptz <= now(), false),
           coalesce(($2::text::timestamp + \(westernmost)) AT TIME ZONE 'UTC' <= now(), false),
           coalesce($3::timestamptz <= now(), false)
    """)

  /// Schedules a draft, or schedules a sendout anew, with the template's version `$3` and the most contacts `$4`, unless these are NULL. A hub
  /// looks at it at its moment. With a local time it looks as soon as any zone of the world has that. One without a time starts in `$5` seconds.
  static let schedule = Statement(
    "sendout.schedule", .write,
    """
    UPDATE sendout
       SET state = 'scheduled', state_changes = state_changes + 1, changed_at = now(), halt_reason = NULL, scheduled_at = now(),
           template_version = coalesce($3::int4, template_version),
           maximum_contacts = coalesce($4::int4, maximum_contacts), start_at = coalesce(start_at, moment.later),
           next_at = coalesce(start_at, moment.later, greatest(\(firstLook("local_time")), moment.now))
      FROM (SELECT now() AS now, now() + make_interval(secs => $5::int4) AS later OFFSET 0) AS moment
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING \(SendoutQueries.columns)
    """)

  /// Sets the most contacts `$3` that a scheduled sendout may reach.
  static let limit = Statement(
    "sendout.limit", .write,
    """
    UPDATE sendout SET maximum_contacts = $3::int4
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING \(SendoutQueries.columns)
    """)

  /// Makes a draft of a scheduled sendout. One that was to start in some seconds has no time again.
  static let unschedule = Statement(
    "sendout.unschedule", .write,
    """
    UPDATE sendout
       SET state = 'draft', state_changes = state_changes + 1, changed_at = NULL, scheduled_at = NULL, next_at = NULL,
           maximum_contacts = NULL, start_at = CASE WHEN campaign ->> 'startAt' IS NULL THEN NULL ELSE start_at END
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING \(SendoutQueries.columns)
    """)

  /// The sendouts of all customers at which a hub has to look now. What is paused can end, too.
  static let timed = Statement(
    "sendout.timed", .read,
    """
    SELECT customer_id, sendout_id FROM sendout
     WHERE next_at <= now() AND state IN ('scheduled', 'running', 'paused')
    """)

  /// The moment that a transaction's statements have in common.
  static let now = Statement("schedule.now", .read, "SELECT now()")

  /// Starts a scheduled sendout at its time, which stays what it is.
  static let takeUp = Statement(
    "sendout.take_up", .write,
    """
    UPDATE sendout
       SET state = 'freezing', state_changes = state_changes + 1, changed_at = now(), started_at = now(), next_at = NULL
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// Makes hubs look at a sendout next at the moment `$3`, or no more.
  static let postponeLook = Statement(
    "sendout.postpone_look", .write,
    "UPDATE sendout SET next_at = $3::timestamptz WHERE customer_id = $1::bigint AND sendout_id = $2::bigint")

  /// Pauses a sendout whose moment has passed unseen.
  static let late = Statement(
    "sendout.late", .write,
    """
    WITH changed AS (UPDATE sendout
       SET state = 'paused', state_changes = state_changes + 1, changed_at = now(), halt_reason = '\(HaltReason.late.rawValue)',
           next_at = NULL
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING \(SendoutQueries.columns)), \(SendoutEventSQL.told) SELECT sendout_id FROM changed
    """)

  /// Lets a sendout run whose end has come, also where it was paused: nothing is left that a person could decide about.
  static let end = Statement(
    "sendout.end", .write,
    """
    UPDATE sendout
       SET state = 'running', state_changes = state_changes + 1, changed_at = now(), halt_reason = NULL, next_at = NULL
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// SQL of the moment at which the first zone of the world has a wall time.
  static func firstLook(_ wall: String) -> String { "(\(wall) - interval '\(earliestZone) hours') AT TIME ZONE 'UTC'" }

  /// How far the world's clocks are ahead of UTC and behind it, in hours.
  static let earliestZone = 14
  static let latestZone = 12
  private static let westernmost = "interval '\(latestZone) hours'"
}
