import FoundationEssentials
import Postgres
import Registry
public import Wire

extension SendoutStore {
  /// What sendouts do by themselves within some time: starts, decisions about variants and ends, and further times of series; and what waits for a
  /// person.
  /// - Parameters:
  ///   - from: the first moment; nil for now, or where that is behind `to`, for a month before it.
  ///   - to: the moment before which it ends; nil for a month later.
  /// - Throws: `SendoutError.invalid` for a time without length, and for one that is too long.
  public func calendar(
    _ customer: CustomerID, from: Wire.Timestamp?, to: Wire.Timestamp?
  ) async throws -> CampaignCalendar {
    let now = try await reading.query(ScheduleQueries.now)[0].decode(Date.self)
    let day = 86_400.0
    let usual = Double(CampaignCalendar.usual) * day
    let from = from?.date ?? to.flatMap { $0.date > now ? nil : $0.date.addingTimeInterval(-usual) } ?? now
    let to = to?.date ?? from.addingTimeInterval(usual)
    guard from < to else { throw SendoutError.invalid(field: "to", problem: "must be later than from") }
    guard to.timeIntervalSince(from) <= Double(CampaignCalendar.longest) * day else {
      throw SendoutError.invalid(
        field: "to", problem: "must be at most \(CampaignCalendar.longest) days later than from")
    }
    let zone = try await timeZone(of: customer)
    let most = CampaignCalendar.limit + 1
    let due = try await reading.query(CalendarQueries.due, customer.rawValue, from, to, zone, Int64(most))
    let expected = try await reading.query(
      CalendarQueries.expected, customer.rawValue, from, to, zone, Int64(most), Int64?.none)
    let waiting = try await reading.query(
      CalendarQueries.waiting, customer.rawValue, Int64(CampaignCalendar.mostWaiting))
    let entries = try (due.map { try CalendarEntry($0) } + expected.map { try CalendarEntry(expected: $0) })
      .sorted { ($0.at, $0.sendoutId) < ($1.at, $1.sendoutId) }
    return CampaignCalendar(
      from: Wire.Timestamp(from), to: Wire.Timestamp(to), entries: Array(entries.prefix(CampaignCalendar.limit)),
      isMore: entries.count > CampaignCalendar.limit, waiting: try waiting.map { try WaitingSendout($0) })
  }

  func timeZone(of customer: CustomerID) async throws -> String {
    guard let customer = try await Customers(reading).find(customer) else {
      throw RegistryError.customerUnknown(customer)
    }
    return customer.settings.timeZone
  }
}

extension CalendarEntry {
  fileprivate init(_ row: Row) throws {
    let (at, event, sendout, name, state, local, series) = try row.decode(
      Date.self, String.self, Int64.self, String.self, String.self, Date?.self, Int64?.self)
    guard let event = CalendarEvent(rawValue: event), let state = SendoutState(rawValue: state) else {
      throw PostgresError.decoding(statement: "calendar", column: "event", .format("an unknown event or state"))
    }
    self.init(
      at: Wire.Timestamp(at), event: event, sendoutId: SendoutID(sendout), name: name, state: state,
      localTime: local.flatMap { WallTime(utc: $0) }, seriesId: series.map { SeriesID($0) })
  }

  /// A time of a series that is not made yet.
  init(expected row: Row) throws {
    let (at, sendout, name, local, series) = try row.decode(
      Date.self, Int64.self, String.self, Date?.self, Int64.self)
    self.init(
      at: Wire.Timestamp(at), event: .start, sendoutId: SendoutID(sendout), name: name, state: .scheduled,
      localTime: local.flatMap { WallTime(utc: $0) }, seriesId: SeriesID(series), isExpected: true)
  }
}

extension WaitingSendout {
  fileprivate init(_ row: Row) throws {
    let (sendout, name, state, since, reason) = try row.decode(
      Int64.self, String.self, String.self, Date.self, String?.self)
    guard let state = SendoutState(rawValue: state) else {
      throw PostgresError.decoding(statement: "calendar", column: "state", .format("an unknown state"))
    }
    self.init(
      sendoutId: SendoutID(sendout), name: name, state: state, since: Wire.Timestamp(since), haltReason: reason)
  }
}

/// Statements on what is due. `$1` is the customer. The time is from the moment `$2` on and before `$3`. `$4` is the customer's zone, and `$5` how
/// many lines there are at most.
enum CalendarQueries {
  static let all: [Statement] = [due, expected, waiting, times, series]

  /// What sendouts do that hubs have to look at. `next_at` is the first of a sendout's moments, or earlier; with a local time it may be some hours
  /// later than the moment in the customer's zone.
  static let due = Statement(
    "calendar.due", .read,
    """
    SELECT event.at, event.event, sendout.sendout_id, sendout.name, sendout.state,
           CASE WHEN event.event = '\(CalendarEvent.start.rawValue)' THEN sendout.local_time END, sendout.series_id
      FROM sendout
     CROSS JOIN LATERAL (
       SELECT '\(CalendarEvent.start.rawValue)' AS event,
              coalesce(sendout.start_at, local_moment(sendout.local_time, zone_or($4::text, 'UTC'))) AS at
        WHERE sendout.state = 'scheduled'
       UNION ALL
       SELECT '\(CalendarEvent.decision.rawValue)',
              CASE WHEN sendout.state = 'scheduled' THEN sendout.start_at + make_interval(mins => decision.after)
                   WHEN sendout.winner_at IS NULL AND (sendout.end_at IS NULL OR sendout.next_at < sendout.end_at) THEN sendout.next_at END
         FROM (SELECT (sendout.campaign -> 'winner' ->> 'afterMinutes')::int4 AS after) AS decision
        WHERE decision.after IS NOT NULL
       UNION ALL
       SELECT '\(CalendarEvent.end.rawValue)', sendout.end_at) AS event
     WHERE sendout.customer_id = $1::bigint AND sendout.next_at < $3::timestamptz + interval '2 days'
       AND sendout.state IN ('scheduled', 'running', 'paused')
       AND event.at >= $2::timestamptz AND event.at < $3::timestamptz
     ORDER BY event.at, sendout.sendout_id
     LIMIT $5::bigint
    """)

  /// Times of series that are not made yet, with the newest sendout of each; of the series `$6` alone unless that is NULL. The 200 newest series
  /// that have not ended are looked at.
  static let expected = Statement(
    "calendar.expected", .read,
    """
    SELECT moment.at, newest.sendout_id, newest.name, CASE WHEN newest.local_time IS NOT NULL THEN moment.wall END, one.series_id
      FROM (SELECT series_id, wall_time, repeat ->> 'every' AS every, (repeat ->> 'until')::timestamp AS until,
                   ARRAY(SELECT coalesce(array_position(\(weekdays), day), CASE WHEN day ~ '^[0-9]+$' THEN day::int4 END)
                           FROM json_array_elements_text(repeat -> 'on') AS day) AS days
              FROM series
             WHERE customer_id = $1::bigint AND ended_at IS NULL AND series_id = coalesce($6::bigint, series_id)
             ORDER BY series_id DESC
             LIMIT 200
            OFFSET 0) AS one
     CROSS JOIN LATERAL (
       SELECT sendout_id, name, local_time, coalesce(local_time, start_at AT TIME ZONE zone_or($4::text, 'UTC'))::date AS day
         FROM sendout
        WHERE customer_id = $1::bigint AND sendout.series_id = one.series_id
        ORDER BY series_no DESC LIMIT 1) AS newest
     CROSS JOIN LATERAL generate_series(
       greatest(newest.day + 1, ($2::timestamptz AT TIME ZONE zone_or($4::text, 'UTC'))::date)::timestamp,
       $3::timestamptz AT TIME ZONE zone_or($4::text, 'UTC'), interval '1 day') AS d (day)
     CROSS JOIN LATERAL (SELECT d.day::date + one.wall_time AS wall OFFSET 0) AS local
     CROSS JOIN LATERAL (SELECT local.wall, local_moment(local.wall, zone_or($4::text, 'UTC')) AS at OFFSET 0) AS moment
     WHERE \(SeriesQueries.isDay("d.day", every: "one.every", days: "one.days", until: "one.until"))
       AND moment.at >= $2::timestamptz AND moment.at < $3::timestamptz
     ORDER BY moment.at, one.series_id
     LIMIT $5::bigint
    """)

  /// Sendouts that go on only once a person has decided, at most `$2`: the hub has paused them, or has found no winner among their variants.
  static let waiting = Statement(
    "calendar.waiting", .read,
    """
    SELECT sendout_id, name, state, CASE WHEN halt_reason IS NULL THEN winner_at ELSE coalesce(changed_at, created_at) END AS since, halt_reason
      FROM sendout
     WHERE customer_id = $1::bigint
       AND (state = 'paused' AND halt_reason IS NOT NULL
            OR state IN ('running', 'paused') AND winner_at IS NOT NULL AND winner_by IS NULL)
     ORDER BY since, sendout_id
     LIMIT $2::bigint
    """)

  /// As JSON has them, at the place of their `isodow`.
  private static let weekdays = "ARRAY[\(Weekday.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "))]"
}

extension CalendarQueries {
  /// The sendouts of the series `$2`, the newest first, at most `$3`.
  static let times = Statement(
    "series.times", .read,
    """
    SELECT sendout_id, series_no, state, start_at, local_time FROM sendout
     WHERE customer_id = $1::bigint AND series_id = $2::bigint
     ORDER BY series_no DESC LIMIT $3::bigint
    """)

  /// How the series `$2` repeats, and when it ended.
  static let series = Statement(
    "series.shown", .read,
    "SELECT repeat, ended_at FROM series WHERE customer_id = $1::bigint AND series_id = $2::bigint")
}
