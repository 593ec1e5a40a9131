import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

/// Sendouts that repeat: each time is a sendout of its own.
///
/// A series that has not ended has a scheduled sendout that is its newest. The next one is made in the commit that takes that one up, so that
/// none is left out and none made twice. Where somebody has cancelled the newest or made a draft of it, the hub's scan finds the
/// series and makes the next.
struct Series: Sendable {
  private let database: any Querying

  /// - Parameter database: a transaction.
  init(_ database: any Querying) { self.database = database }

  /// Makes a sendout that is about to be scheduled the first time of a new series. It goes on the first day that matches.
  /// - Throws: `SendoutError.invalid` if no day matches.
  func begin(with sendout: Sendout, _ repetition: Repetition) async throws {
    let (customer, number) = (sendout.key.customer.rawValue, sendout.key.sendout.rawValue)
    let zone = try await zone(of: sendout.key.customer)
    // Days that nobody has named are that of the first time, which later ones must not forget: February would make a 28th of a 31st.
    let repetition = repetition.onDays(or: try await day(of: sendout, zone))
    try await moveToFirst(sendout, repetition, zone)
    try await database.query(SeriesQueries.add, customer, number, try repetition.document, zone)
  }

  /// Takes over what a change of a scheduled time says of the days. Without days the series ends with this time.
  /// - Parameter before: the sendout as it was.
  func change(_ before: Sendout, to sendout: Sendout) async throws {
    let repetition = try sendout.campaign().repeat
    guard let series = sendout.series else { return }
    let customer = sendout.key.customer
    guard let repetition else { return try await close(customer, series.id) }
    guard let current = try await state(customer, series.id) else { throw SendoutError.seriesUnknown }
    let zone = try await zone(of: customer)
    // Days that nobody has named stay those of the first time.
    var days = current.repetition
    if try repetition != before.campaign().repeat { days = repetition.onDays(or: try await day(of: sendout, zone)) }
    // A time that clocks have made later stays what it was, unless it is changed.
    let hasMoved = sendout.startAt != before.startAt || sendout.localTime != before.localTime
    try await moveToFirst(sendout, days, zone)
    try await database.query(
      SeriesQueries.rewrite, customer.rawValue, series.id.rawValue, try days.document, zone,
      sendout.key.sendout.rawValue, hasMoved)
  }

  /// What a sendout says that repeats and is not scheduled yet, with the times of the first day that matches.
  /// - Throws: `SendoutError.invalid` if no day matches.
  func first(of campaign: CampaignFields, _ repetition: Repetition, _ zone: String) async throws -> CampaignFields {
    // Without days it is its own day, if that is not too late.
    let (every, days): (RepetitionUnit, [Int32]) =
      repetition.on == nil ? (.day, []) : (repetition.every, repetition.days)
    let rows = try await database.query(
      SeriesQueries.first, campaign.startAt?.date, campaign.localTime?.description, zone, every.rawValue, days,
      repetition.until?.description, campaign.endAt?.date)
    guard let row = rows.first else { throw Self.noDayMatches }
    let (start, wall, end) = try row.decode(Date?.self, Date?.self, Date?.self)
    var moved = campaign
    moved.startAt = start.map(Wire.Timestamp.init)
    moved.localTime = wall.flatMap { WallTime(utc: $0) }
    moved.endAt = end.map(Wire.Timestamp.init)
    return moved
  }

  private static let noDayMatches = SendoutError.invalid(
    field: "repeat.until", problem: "is before the first day that matches: give a later one")

  private func day(of sendout: Sendout, _ zone: String) async throws -> CalendarDay {
    let day = try await database.query(
      SeriesQueries.wallDay, sendout.key.customer.rawValue, sendout.key.sendout.rawValue, zone)[0].decode(String?.self)
    guard let day = day.flatMap({ CalendarDay($0) }) else {
      throw SendoutError.invalid(
        field: "repeat", problem: "needs startAt or localTime, which says when the first time is")
    }
    return day
  }

  /// Locks the series.
  /// - Returns: nil if there is none.
  private func state(
    _ customer: CustomerID, _ series: SeriesID
  ) async throws -> (repetition: Repetition, isEnded: Bool)? {
    try await database.query(SeriesQueries.lock, customer.rawValue, series.rawValue).first.map { row in
      let (json, isEnded) = try row.decode(JSONDocument.self, Bool.self)
      return (try JSONCoding.decode(Repetition.self, from: json.text.utf8), isEnded)
    }
  }

  private func moveToFirst(_ sendout: Sendout, _ repetition: Repetition, _ zone: String) async throws {
    let moved = try await database.query(
      SeriesQueries.moveToFirst, sendout.key.customer.rawValue, sendout.key.sendout.rawValue, zone,
      repetition.every.rawValue, repetition.days, repetition.until?.description)
    guard !moved.isEmpty else { throw Self.noDayMatches }
  }

  /// Makes the time after the newest one, unless that is still to come. After its last day the series ends.
  /// - Parameter leaving: a sendout that is about to leave the state in which it is scheduled.
  func makeNext(_ customer: CustomerID, _ series: SeriesID, leaving: SendoutID? = nil) async throws {
    guard let (repetition, isEnded) = try await state(customer, series), !isEnded,
      let row = try await database.query(SeriesQueries.newest, customer.rawValue, series.rawValue).first,
      case let (newest, isScheduled) = try row.decode(Int64.self, Bool.self),
      !isScheduled || newest == leaving?.rawValue
    else { return }
    let made = try await database.query(
      SeriesQueries.next, customer.rawValue, series.rawValue, try await zone(of: customer), repetition.every.rawValue,
      repetition.days, repetition.until?.description)
    guard let next = made.first else { return try await close(customer, series) }
    try await database.notify(.sendout, SendoutKey(customer, SendoutID(try next.decode(Int64.self))).description)
  }

  /// Nothing follows. Times that are made already stay.
  func close(_ customer: CustomerID, _ series: SeriesID) async throws {
    try await database.query(SeriesQueries.end, customer.rawValue, series.rawValue)
  }

  /// Forgets a series of one sendout, which is a draft again.
  func forget(_ sendout: Sendout) async throws {
    guard let series = sendout.series, series.number == 1 else { return }
    try await database.query(SeriesQueries.forget, sendout.key.customer.rawValue, series.id.rawValue)
  }

  /// The scheduled sendouts of a series, the first first.
  /// - Throws: `SendoutError.seriesUnknown`.
  func scheduled(_ customer: CustomerID, _ series: SeriesID) async throws -> [SendoutID] {
    guard try await !database.query(SeriesQueries.newest, customer.rawValue, series.rawValue).isEmpty else {
      throw SendoutError.seriesUnknown
    }
    return try await database.query(SeriesQueries.scheduled, customer.rawValue, series.rawValue).map {
      SendoutID(try $0.decode(Int64.self))
    }
  }

  private func zone(of customer: CustomerID) async throws -> String {
    guard let customer = try await Customers(database).find(customer) else {
      throw RegistryError.customerUnknown(customer)
    }
    return customer.settings.timeZone
  }
}

extension Repetition {
  /// These days, or where none are named those of the first time.
  fileprivate func onDays(or first: CalendarDay) -> Repetition {
    guard on == nil else { return self }
    var repetition = self
    switch every {
    case .day: break
    case .week: repetition.on = [.ofWeek(first.weekday)]
    case .month: repetition.on = [.ofMonth(first.dayOfMonth)]
    }
    return repetition
  }

  fileprivate var document: JSONDocument {
    get throws { JSONDocument(String(decoding: try JSONCoding.encode(self), as: UTF8.self)) }
  }

  /// For statements: days of the week by `isodow`, or of the month.
  fileprivate var days: [Int32] { (every == .week ? isoDays ?? [] : monthDays ?? []).map(Int32.init) }
}

extension CalendarDay {
  fileprivate var weekday: Weekday {
    // 1970-01-01 was a Thursday.
    let place = (number + 3) % 7
    return Weekday.allCases[place < 0 ? place + 7 : place]
  }

  /// From 1 to 31.
  fileprivate var dayOfMonth: Int { Int(description.suffix(2)) ?? 1 }
}

/// Statements on `series` and the sendouts in it. `$1` is the customer.
enum SeriesQueries {
  static let all: [Statement] = [
    wallDay, add, rewrite, moveToFirst, first, lock, newest, next, end, forget, scheduled, lacking,
  ]

  /// SQL of the customer's zone; UTC where this server's tzdata does not have what the hub's does, as in the calendar.
  private static func zone(_ parameter: String) -> String { "zone_or(\(parameter)::text, 'UTC')" }

  /// The day of the sendout `$2` by its own wall time, or by the clocks of the zone `$3`.
  static let wallDay = Statement(
    "series.wall_day", .read,
    """
    SELECT to_char(coalesce(local_time, start_at AT TIME ZONE \(zone("$3"))), 'YYYY-MM-DD') FROM sendout
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// Makes a series of the sendout `$2`, which repeats as `$3` says. Its time of day is by the clocks of the zone `$4`.
  static let add = Statement(
    "series.add", .write,
    """
    WITH added AS (
      INSERT INTO series (customer_id, repeat, wall_time)
      SELECT customer_id, $3::json, coalesce(local_time, start_at AT TIME ZONE \(zone("$4")))::time FROM sendout
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
      RETURNING series_id)
    UPDATE sendout SET series_id = added.series_id, series_no = 1
      FROM added
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// Writes on which days `$3` the series `$2` repeats from now on, and if `$6` that its time of day is that of the sendout `$5` by the clocks of
  /// the zone `$4`.
  static let rewrite = Statement(
    "series.rewrite", .write,
    """
    UPDATE series
       SET repeat = $3::json, wall_time = CASE WHEN $6::bool THEN own.wall_time ELSE series.wall_time END
      FROM (SELECT coalesce(local_time, start_at AT TIME ZONE \(zone("$4")))::time AS wall_time FROM sendout
             WHERE customer_id = $1::bigint AND sendout_id = $5::bigint OFFSET 0) AS own
     WHERE customer_id = $1::bigint AND series_id = $2::bigint
    """)

  /// SQL of the first day, from a day on, that `$4` (day, week or month) and the days `$5` name, `$6` being the last one; NULL for none. Of months
  /// that lack a day, it is the last day.
  private static func firstDay(from day: String) -> String {
    """
    (SELECT min(d.day)::date
       FROM generate_series((\(day))::timestamp, (\(day))::timestamp + interval '62 days', interval '1 day') AS d (day)
      WHERE \(isDay("d.day", every: "$4::text", days: "$5::int4[]", until: "$6::text::timestamp")))
    """
  }

  /// SQL of whether a series repeats on a day, a timestamp.
  /// - Parameters:
  ///   - every: SQL of day, week or month.
  ///   - days: SQL of the days by `isodow`, or of the month.
  ///   - until: SQL of the last day, which may be NULL.
  static func isDay(_ day: String, every: String, days: String, until: String) -> String {
    """
    \(day) <= coalesce(\(until), 'infinity')
        AND CASE WHEN \(every) = '\(RepetitionUnit.week.rawValue)' THEN extract(isodow FROM \(day))::int4 = ANY (\(days))
                 WHEN \(every) = '\(RepetitionUnit.month.rawValue)' THEN extract(day FROM \(day))::int4 = ANY (
                   SELECT least(n, extract(day FROM date_trunc('month', \(day)) + interval '1 month - 1 day')::int4)
                     FROM unnest(\(days)) AS n)
                 ELSE true END
    """
  }

  /// Moves the sendout `$2` to the first day that matches, its own at the earliest, at the same wall time. Moments are by the clocks of the zone `$3`.
  /// Returns nothing if no day matches. Its end moves with it.
  static let moveToFirst = Statement(
    "series.move_to_first", .write,
    """
    WITH own AS MATERIALIZED (
      SELECT coalesce(local_time, start_at AT TIME ZONE \(zone("$3"))) AS wall, end_at AT TIME ZONE \(zone("$3")) AS end_wall FROM sendout
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint),
    moved AS MATERIALIZED (
      SELECT first.day + own.wall::time AS wall, own.end_wall + (first.day - own.wall::date) * interval '1 day' AS end_wall,
             first.day <> own.wall::date AS is_later
        FROM own CROSS JOIN LATERAL (SELECT \(firstDay(from: "own.wall::date")) AS day OFFSET 0) AS first
       WHERE first.day IS NOT NULL),
    times AS MATERIALIZED (
      SELECT wall, local_moment(wall, \(zone("$3"))) AS start_at, local_moment(end_wall, \(zone("$3"))) AS end_at, is_later FROM moved)
    UPDATE sendout
       SET start_at = CASE WHEN sendout.start_at IS NOT NULL AND times.is_later THEN times.start_at ELSE sendout.start_at END,
           local_time = CASE WHEN sendout.local_time IS NOT NULL THEN times.wall END,
           end_at = CASE WHEN times.is_later THEN times.end_at ELSE sendout.end_at END
      FROM times
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING sendout_id
    """)

  /// The times of the first day that matches, for what begins at the moment `$1` or the wall time `$2`, and ends at `$7`. The others are as above.
  static let first = Statement(
    "series.first", .read,
    """
    WITH own AS MATERIALIZED (
      SELECT coalesce($2::text::timestamp, $1::timestamptz AT TIME ZONE $3::text) AS wall,
             $7::timestamptz AT TIME ZONE $3::text AS end_wall),
    moved AS MATERIALIZED (
      SELECT first.day + own.wall::time AS wall, own.end_wall + (first.day - own.wall::date) * interval '1 day' AS end_wall,
             first.day <> own.wall::date AS is_later
        FROM own CROSS JOIN LATERAL (SELECT \(firstDay(from: "own.wall::date")) AS day OFFSET 0) AS first
       WHERE first.day IS NOT NULL)
    SELECT CASE WHEN $1::timestamptz IS NOT NULL AND is_later THEN local_moment(wall, $3::text) ELSE $1::timestamptz END,
           CASE WHEN $2::text IS NOT NULL THEN wall END,
           CASE WHEN is_later THEN local_moment(end_wall, $3::text) ELSE $7::timestamptz END
      FROM moved
    """)

  /// Locks the series `$2`, and returns how it repeats and whether it has ended.
  static let lock = Statement(
    "series.lock", .write,
    """
    SELECT repeat, ended_at IS NOT NULL FROM series
     WHERE customer_id = $1::bigint AND series_id = $2::bigint FOR NO KEY UPDATE
    """)

  /// The last time of the series `$2` that was made, and whether it is still to come.
  static let newest = Statement(
    "series.newest", .read,
    """
    SELECT sendout_id, state = 'scheduled' FROM sendout
     WHERE customer_id = $1::bigint AND series_id = $2::bigint
     ORDER BY series_no DESC LIMIT 1
    """)

  /// Makes the time after the newest of the series `$2`: on the next day that matches, at the same wall time. Days are `$4` to `$6`, as above,
  /// and moments by the clocks of the zone `$3`. Its end is as long after it. A time that passed while hubs were away is scheduled as of when its turn was, so that
  /// it is late. Returns it; nothing if no day matches.
  static let next = Statement(
    "series.next", .write,
    """
    WITH newest AS MATERIALIZED (
      SELECT * FROM sendout
       WHERE customer_id = $1::bigint AND series_id = $2::bigint
       ORDER BY series_no DESC LIMIT 1),
    own AS MATERIALIZED (
      SELECT coalesce(newest.local_time, newest.start_at AT TIME ZONE \(zone("$3")))::date AS day, series.wall_time
        FROM newest, series
       WHERE series.customer_id = $1::bigint AND series.series_id = $2::bigint),
    moved AS MATERIALIZED (
      SELECT later.day + own.wall_time AS wall, local_moment(later.day + own.wall_time, \(zone("$3"))) AS at
        FROM own CROSS JOIN LATERAL (SELECT \(firstDay(from: "own.day + 1")) AS day OFFSET 0) AS later
       WHERE later.day IS NOT NULL)
    INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, template_name, template_version, purpose,
                         unknown_ids, on_uncertain, written_by, campaign, start_at, local_time, end_at, scheduled_at, changed_at,
                         next_at, series_id, series_no, maximum_contacts)
    SELECT $1::bigint, newest.push_app_ids, newest.name, 'scheduled', newest.audience, newest.message,
           newest.template_name, newest.template_version, newest.purpose, newest.unknown_ids, newest.on_uncertain,
           newest.written_by, newest.campaign,
           CASE WHEN newest.start_at IS NOT NULL THEN moved.at END,
           CASE WHEN newest.local_time IS NOT NULL THEN moved.wall END,
           moved.at + (newest.end_at - coalesce(newest.start_at, local_moment(newest.local_time, \(zone("$3"))))),
           least(now(), coalesce(newest.start_at, \(ScheduleQueries.firstLook("newest.local_time")))), now(),
           CASE WHEN newest.start_at IS NOT NULL THEN moved.at
                ELSE \(ScheduleQueries.firstLook("moved.wall")) END,
           newest.series_id, newest.series_no + 1, newest.maximum_contacts
      FROM newest, moved
    ON CONFLICT (series_id, customer_id, series_no) DO NOTHING
    RETURNING sendout_id
    """)

  /// Ends the series `$2`.
  static let end = Statement(
    "series.end", .write,
    """
    UPDATE series SET ended_at = now()
     WHERE customer_id = $1::bigint AND series_id = $2::bigint AND ended_at IS NULL
    """)

  /// Takes its only sendout out of the series `$2`, and deletes it. A series that has others stays as it is.
  static let forget = Statement(
    "series.forget", .write,
    """
    WITH freed AS (
      UPDATE sendout SET series_id = NULL, series_no = NULL
       WHERE customer_id = $1::bigint AND series_id = $2::bigint
         AND NOT EXISTS (SELECT FROM sendout AS other
                          WHERE other.customer_id = $1::bigint AND other.series_id = $2::bigint AND other.series_no > 1)
      RETURNING 1)
    DELETE FROM series WHERE customer_id = $1::bigint AND series_id = $2::bigint AND EXISTS (SELECT FROM freed)
    """)

  static let scheduled = Statement(
    "series.scheduled", .read,
    """
    SELECT sendout_id FROM sendout
     WHERE customer_id = $1::bigint AND series_id = $2::bigint AND state = 'scheduled'
     ORDER BY series_no
    """)

  /// The series of all customers that have not ended, and whose newest sendout is not scheduled.
  static let lacking = Statement(
    "series.lacking", .read,
    """
    SELECT series.customer_id, series.series_id FROM series
     CROSS JOIN LATERAL (SELECT state FROM sendout
                          WHERE sendout.series_id = series.series_id AND sendout.customer_id = series.customer_id
                          ORDER BY series_no DESC LIMIT 1) AS newest
     WHERE series.ended_at IS NULL AND newest.state <> 'scheduled'
    """)
}
