import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

/// Campaigns beside the model of them. Zones are all of the time zone database, and days those of clock changes.
@Suite struct CampaignModelTests {
  /// The two years that begin next January, so that cases are the same all year.
  private static let span: Range<Int> = {
    let year = Int(Timestamp(Date()).description.prefix(4)) ?? 2026
    func start(of year: Int) -> Int { (CalendarDay("\(year)-01-01")?.number ?? 0) * 86_400 }
    return start(of: year + 1)..<start(of: year + 3)
  }()
  private static let week = 604_800
  /// In which cases play, and what happens before and after them.
  private static let wholeSpan = span.lowerBound - 9 * week..<span.upperBound + 9 * week

  /// Databases at a time.
  private static let databases = 2
  /// Cases in a database, whose tables nobody analyzes.
  private static let casesInDatabase = 250

  @Test func `Each contact gets a campaign when the model says, or nothing for its reason`() async throws {
    let count = isSoak ? 10_000 : 200
    let size = min(Self.casesInDatabase, count / Self.databases)
    let model = try await withDatabase { try await self.model($0) }
    let sent = try await withThrowingTaskGroup(of: Int.self) { group in
      var waiting = stride(from: 1, through: count, by: size).map { $0...min($0 + size - 1, count) }[...]
      for seeds in waiting.prefix(Self.databases) { group.addTask { try await compare(seeds, model) } }
      waiting = waiting.dropFirst(Self.databases)
      var sent = 0
      while let some = try await group.next() {
        sent += some
        if let seeds = waiting.popFirst() { group.addTask { try await compare(seeds, model) } }
      }
      return sent
    }
    // Cases in which nothing leaves would prove little.
    #expect(sent > count)
  }

  /// Runs the cases of these seeds.
  /// - Returns: how many pushes left.
  private func compare(_ seeds: ClosedRange<Int>, _ model: CampaignModel) async throws -> Int {
    try await withSendingBench { bench in
      try await bench.withMovedClock { bench, clock in
        var sent = 0
        for seed in seeds {
          var generator = CampaignGenerator(model, span: Self.span, seed: UInt64(seed))
          let made = generator.campaign()
          do {
            let (given, found) = try await CampaignRun.outcomes(of: made, bench, clock)
            let expected = model.outcomes(of: given)
            let differences = Self.differences(found, expected)
            #expect(differences.isEmpty, "case \(seed): \(differences.joined(separator: "\n"))\n\(given)")
            sent += found.reduce(0) { sum, outcome in
              sum + outcome.pushes.values.count { if case .sent = $0 { true } else { false } }
            }
          } catch {
            Issue.record("case \(seed): \(error)\n\(made)")
          }
        }
        return sent
      }
    }
  }

  private static func differences(_ found: [CampaignOutcome], _ expected: [CampaignOutcome]) -> [String] {
    zip(found, expected).enumerated().flatMap { index, pair in
      let (found, expected) = pair
      var differences: [String] = []
      func compare<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) {
        if found != expected { differences.append("sendout \(index), \(what): \(found) instead of \(expected)") }
      }
      compare(found.frozenAt, expected.frozenAt, "frozen")
      compare(found.steps, expected.steps, "steps")
      for device in Set(found.pushes.keys).union(expected.pushes.keys).sorted() {
        compare(found.pushes[device], expected.pushes[device], "device \(device)")
      }
      return differences
    }
  }

  @Test func `Local times and quiet hours are those of the clocks of all zones, when these change, too`() async throws {
    try await withDatabase { database in
      let clocks = try await model(database).clocks
      var random = SeededGenerator(seed: 34)
      var asked: [(zone: String, clock: ZoneClock, at: Int, hours: QuietHours)] = []
      for (zone, clock) in clocks.sorted(by: { $0.key < $1.key }) {
        for change in clock.changes.isEmpty ? [Self.span.lowerBound] : clock.changes {
          let at = change + 60 * Int.random(in: -1600...400, using: &random)
          // One of the two is near what the clock shows at the change.
          let near = clock.minute(at: change - 60) + Int.random(in: -90...90, using: &random)
          let other = near + Int.random(in: 1...1439, using: &random)
          let hours = try Bool.random(using: &random) ? Self.hours(near, other) : Self.hours(other, near)
          asked.append((zone, clock, at, hours))
        }
      }
      let rows = try await database.query(
        """
        SELECT extract(epoch FROM local_moment(to_timestamp(wall) AT TIME ZONE 'UTC', zone))::bigint,
               extract(epoch FROM quiet_end(at, zone, starts, ends))::bigint,
               extract(epoch FROM quiet_start(at, zone, starts, ends))::bigint
          FROM (SELECT zone, to_timestamp(at) AS at, starts::time, ends::time, wall, number
                  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
                         WITH ORDINALITY AS asked (zone, at, starts, ends, wall, number)) AS asked
         ORDER BY number
        """, asked.map(\.zone), asked.map { Int64($0.at) }, asked.map { "\($0.hours.start)" },
        asked.map { "\($0.hours.end)" }, asked.map { Int64(Self.wall($0.at, $0.hours, $0.clock)) })
      for (row, asked) in zip(rows, asked) {
        let (moment, end, start) = try row.decode(Int64.self, Int64?.self, Int64.self)
        let place = "\(asked.zone) at \(asked.at), \(asked.hours.start)-\(asked.hours.end)"
        let wall = Self.wall(asked.at, asked.hours, asked.clock)
        #expect(Int(moment) == asked.clock.moment(showing: wall), "\(wall) in \(place)")
        #expect(end.map { Int($0) } == asked.hours.end(after: asked.at, asked.clock), "\(place)")
        #expect(Int(start) == asked.hours.start(from: asked.at, asked.clock), "\(place)")
      }
      #expect(rows.count == asked.count && rows.count > 500)
    }
  }

  private static func hours(_ start: Int, _ end: Int) throws -> QuietHours {
    func text(_ minute: Int) -> String {
      let minute = (minute % 1440 + 1440) % 1440
      return String(format: "%02d:%02d", minute / 60, minute % 60)
    }
    return try #require(QuietHours("\(text(start))-\(text(end))"))
  }

  /// A wall time on the day of a moment.
  private static func wall(_ moment: Int, _ hours: QuietHours, _ clock: ZoneClock) -> Int {
    clock.wall(at: moment) / 86_400 * 86_400 + hours.end.minutes * 60
  }

  // MARK: Zones

  /// The model with the zones that this machine and the database know in the same way. The others are few.
  private func model(_ database: TestDatabase) async throws -> CampaignModel {
    let span = Self.wholeSpan
    let rows = try await database.query(
      """
      SELECT zone.name, extract(epoch FROM at)::bigint,
             extract(epoch FROM (at AT TIME ZONE zone.name) - (at AT TIME ZONE 'UTC'))::bigint
        FROM pg_timezone_names AS zone
       CROSS JOIN generate_series(to_timestamp($1::bigint), to_timestamp($2::bigint), interval '168 hours') AS at
       WHERE zone.name ~ '/' AND zone.name !~ '^(posix|right|SystemV)/' OR zone.name = 'UTC'
       ORDER BY 1, 2
      """, Int64(span.lowerBound), Int64(span.upperBound))
    var offsets: [String: [Int64: Int64]] = [:]
    for row in rows {
      let (name, at, offset) = try row.decode(String.self, Int64.self, Int64.self)
      offsets[name, default: [:]][at] = offset
    }
    var clocks: [String: ZoneClock] = [:]
    for (name, known) in offsets {
      guard let clock = ZoneClock(name, in: span),
        known.allSatisfy({ clock.offset(at: Int($0.key)) == Int($0.value) })
      else { continue }
      clocks[name] = clock
    }
    // To the second: clocks change at the same moment.
    let changes = clocks.flatMap { name, clock in clock.changes.map { (name: name, at: $0) } }
    let unlike = try await database.query(
      """
      SELECT DISTINCT name FROM unnest($1::text[], $2::bigint[]) AS change (name, at)
       WHERE (to_timestamp(at) AT TIME ZONE name) - (to_timestamp(at) AT TIME ZONE 'UTC')
           = (to_timestamp(at - 1) AT TIME ZONE name) - (to_timestamp(at - 1) AT TIME ZONE 'UTC')
      """, changes.map(\.name), changes.map { Int64($0.at) })
    for row in unlike { clocks[try row.decode(String.self)] = nil }
    #expect(clocks.count * 20 >= offsets.count * 19, "\(clocks.count) of \(offsets.count)")
    let table = try String(contentsOfFile: "/usr/share/zoneinfo/zone.tab", encoding: .utf8)
    return CampaignModel(clocks: clocks, zoneTab: table)
  }
}
