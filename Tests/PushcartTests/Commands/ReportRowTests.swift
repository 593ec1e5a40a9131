import Foundation
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

/// The rows of every report, in API, command line and view.
@Suite struct ReportRowTests {
  @Test func `Every report has the expected rows in API, command line and view`() async throws {
    try await withSendingBench { bench in
      try await bench.database.query("UPDATE push_app SET created_at = '2026-01-01'")
      for statement in Self.story { try await bench.database.query(statement) }
      try await bench.database.recountBatches()
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "reports", scope: .admin).token
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: "")
      let customer = ["--customer", "\(bench.customer)", "--json"]
      #expect(Set(Self.expected.keys) == Set(Report.allCases))
      try await withTestWebServer(try WholeWebServer(bench).routes) { server in
        for (report, text) in Self.expected {
          let rows = try JSONValue(parsing: text.utf8)
          let isTimeline = report == .timeline
          let path = "/api/v1/reports/\(report.rawValue)" + (isTimeline ? "?contact=a@example.com" : "")
          let api = try await server.send("GET", path, key: key).json
          #expect(api["rows"] == rows, "\(report): \(api)")
          let command = ["report", report.rawValue] + (isTimeline ? ["--contact", "a@example.com"] : [])
          let line = try await pushcart.run(command + customer)
          #expect(try line.json["rows"] == rows, "\(report): \(line.errors)")
          #expect(try await view(bench, report) == Self.plain(rows), "\(report)")
        }
      }
    }
  }

  /// The view's rows, in the form of `plain`.
  private func view(_ bench: SendingBench, _ report: Report) async throws -> [String] {
    let columns = ReportView.of(report).columns.map(\.name)
    let rows = try await bench.database.query(
      "SELECT to_jsonb(v) FROM report.\(Self.views[report] ?? "") AS v WHERE customer_id = $1::bigint\(report == .timeline ? " AND original_id = 'a@example.com'" : "")",
      bench.customer.rawValue)
    return try rows.map { row in
      let members = try JSONValue(parsing: row.decode(JSONB.self).text.utf8)
      return Self.plain(columns.map { ($0, members[Self.snake($0)]) })
    }.sorted()
  }

  private static func plain(_ rows: JSONValue) -> [String] {
    guard case .array(let rows) = rows else { return [] }
    return rows.map { row in
      guard case .object(let members) = row else { return "" }
      return plain(members.map { ($0.text, $1) })
    }.sorted()
  }

  /// Moments to the second, since psql and JSON write fractions differently. So they do with numbers.
  private static func plain(_ members: [(String, JSONValue?)]) -> String {
    members.sorted { $0.0 < $1.0 }.map { name, value in
      if case .string(let text) = value, text.wholeMatch(of: #/\d{4}-\d\d-\d\dT.*/#) != nil {
        return "\(name)=\(text.prefix(19))"
      }
      if case .number(let number) = value { return "\(name)=\(number.double)" }
      return "\(name)=\(value ?? .null)"
    }.joined(separator: " ")
  }

  /// `first_opens` for `firstOpens`.
  private static func snake(_ name: String) -> String {
    name.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
  }

  private static let views: [Report: String] = [
    .devices: "devices", .registrations: "registrations_by_day", .invalidations: "invalidations_by_day",
    .sendouts: "sendout_totals", .funnel: "funnel", .failures: "failures", .opens: "opens_by_hour",
    .timeline: "contact_timeline", .subscriptions: "subscriptions", .notifications: "notifications_by_day",
    .hybrid: "hybrid_share", .suppressions: "suppressions", .campaigns: "campaigns", .variants: "variants",
    .localTimes: "local_times", .leftOut: "left_out", .caps: "caps",
  ]

  /// Two contacts with phones on two platforms, a sendout with pushes in every final state, and a draft.
  private static let story = [
    """
    INSERT INTO push_app (customer_id, push_app_id, app_id, app_type, name)
    VALUES (1, 102, 'com.acme.app', 2, 'Acme for Android')
    """,
    """
    INSERT INTO contact (customer_id, contact_id, original_id) VALUES (1, 11, 'a@example.com'), (1, 12, 'b@example.com')
    """,
    """
    INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key, sandbox, invalidated_at,
                        invalidation_type, invalidation_reason)
    VALUES (1, 21, 1, 11, 'aa', '\\xaa', false, NULL, 0, NULL), (1, 22, 1, 11, 'bb', '\\xbb', false, NULL, 0, NULL),
           (1, 23, 1, 12, 'cc', '\\xcc', true, '2026-11-02 12:00Z', 2, 'Unregistered'),
           (1, 24, 102, 12, 'dd', '\\xdd', false, '2026-11-02 13:00Z', 1, 'app'),
           (1, 25, 1, 12, 'ee', '\\xee', false, NULL, 0, NULL), (1, 26, 1, 12, 'ff', '\\xff', false, NULL, 0, NULL)
    """,
    "SELECT make_event_month('2026-11-01 00:00Z')",
    """
    INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason, at)
    VALUES (1, 21, 11, 'registered', NULL, '2026-11-01 08:00Z'), (1, 22, 12, 'registered', NULL, '2026-11-01 23:59:59Z'),
           (1, 22, 11, 'moved', NULL, '2026-11-02 00:00Z'), (1, 23, 12, 'registered', NULL, '2026-11-02 09:00Z'),
           (1, 23, 12, 'environment', NULL, '2026-11-02 10:00Z'),
           (1, 21, 11, 'invalidated', 'app', '2026-11-02 11:00Z'), (1, 21, 11, 'revived', NULL, '2026-11-02 11:30Z'),
           (1, 23, 12, 'invalidated', 'Unregistered', '2026-11-02 12:00Z'),
           (1, 25, 12, 'invalidated', 'Unregistered', '2026-11-02 12:10Z'),
           (1, 24, 12, 'registered', NULL, '2026-11-02 12:30Z'), (1, 24, 12, 'invalidated', 'app', '2026-11-02 13:00Z')
    """,
    """
    INSERT INTO sendout (customer_id, sendout_id, push_app_ids, name, state, audience, message, created_at, started_at,
                         frozen_at, finished_at)
    VALUES (1, 31, '{1}', 'Friday', 'finished', '{"all":true}', '{"alert":"x"}', '2026-11-03 10:00Z', '2026-11-03 10:01Z',
            '2026-11-03 10:01Z', '2026-11-03 10:02Z'),
           (1, 32, '{102,1}', 'Draft', 'draft', '{"all":true}', '{"alert":"x"}', '2026-11-04 10:00Z', NULL, NULL, NULL)
    """,
    """
    INSERT INTO push (customer_id, sendout_id, push_no, device_id, contact_id, batch_no, state, attempts, reason, sent_at,
                      settled_at, opened_at)
    VALUES (1, 31, 1, 21, 11, 0, 'accepted', 1, NULL, '2026-11-03 10:01:01Z', '2026-11-03 10:01:02Z', '2026-11-03 10:30Z'),
           (1, 31, 2, 22, 11, 0, 'accepted', 2, NULL, '2026-11-03 10:01:01Z', '2026-11-03 10:01:03Z', NULL),
           (1, 31, 3, 23, 12, 0, 'skipped', 0, 'device_invalidated', NULL, '2026-11-03 10:01:00Z', NULL),
           (1, 31, 4, 25, 12, 0, 'failed', 1, 'BadDeviceToken', '2026-11-03 10:01:01Z', '2026-11-03 10:01:04Z', NULL),
           (1, 31, 5, 26, 12, 0, 'failed', 1, 'BadDeviceToken', '2026-11-03 10:01:01Z', '2026-11-03 10:01:04Z', NULL)
    """,
    """
    INSERT INTO open_event (customer_id, sendout_id, push_no, via, reader, at)
    VALUES (1, 31, 1, 'page', 'machine', '2026-11-03 10:05Z'), (1, 31, 1, 'page', 'person', '2026-11-03 10:30Z'),
           (1, 31, 1, 'page', 'person', '2026-11-03 10:59Z'), (1, 31, 1, 'pushreadurl', 'person', '2026-11-03 11:00Z'),
           (1, 31, 2, 'page', 'machine', '2026-11-03 11:10Z'), (1, 31, 2, 'page', 'machine', '2026-11-03 11:11Z')
    """,
    """
    INSERT INTO data_tree_notification (customer_id, at, app_id, subscription_id, service, event, outcome, reason)
    VALUES (1, '2026-11-03 12:00Z', 'com.acme.app', 41, 'fcm', 'Value.Changed', 'accepted', NULL),
           (1, '2026-11-03 12:01Z', 'com.acme.app', 41, 'fcm', 'Value.Changed', 'accepted', NULL),
           (1, '2026-11-03 12:02Z', 'com.acme.app', 42, 'hms', 'Children.Updated', 'revoked', '80300007')
    """,
    """
    INSERT INTO tracked_message (customer_id, sendout_id, message_no, app_id, recipient, sender, body, kind, parts, created_at,
                                status, delivered_at, read_at, fallback_no, fallback_reason)
    VALUES (1, 31, 1, 'com.acme.app', '31612345678', 'Acme', 'x', 'default', 1, '2026-11-03 12:00Z', 'Delivered',
            '2026-11-03 12:00:02Z', '2026-11-03 12:00:05Z', NULL, NULL),
           (1, 31, 2, 'com.acme.app', '31612345679', 'Acme', 'x', 'default', 2, '2026-11-03 12:00Z', 'Accepted', NULL, NULL, 2,
            'no_device'),
           (1, 31, 3, NULL, '31612345678', 'Acme', 'x', 'otp', 1, '2026-11-03 12:00Z', 'Cancelled', NULL, NULL, NULL, NULL)
    """,
    """
    INSERT INTO suppression (customer_id, kind, hash, scope, by_page, reason, at, until)
    VALUES (1, 'contact', sha256('a'), 'marketing', true, 'unsubscribed', '2026-11-03 13:00Z', NULL),
           (1, 'contact', sha256('b'), 'marketing', true, 'unsubscribed', '2026-11-03 14:00Z', NULL),
           (1, 'number', sha256('c'), 'all', false, NULL, '2026-11-03 15:00Z', 'infinity'),
           (1, 'device', sha256('d'), 'all', false, 'holiday', '2025-11-03 13:00Z', '2025-12-03 13:00Z')
    """,
    """
    UPDATE sendout SET campaign = '{"localTime":"2026-11-03T11:00","variants":[]}', local_time = '2026-11-03 11:00', everyone = 4, people = 2
     WHERE sendout_id = 31
    """,
    "UPDATE push SET variant = contact_id - 10, zone_no = contact_id - 10 WHERE sendout_id = 31",
    """
    INSERT INTO sendout_variant (customer_id, sendout_id, variant_no, name, share, contacts)
    VALUES (1, 31, 1, 'A', 50, 1), (1, 31, 2, 'B', 50, 1)
    """,
    """
    INSERT INTO sendout_zone (customer_id, sendout_id, zone_no, zone, source, planned_at, contacts)
    VALUES (1, 31, 1, 'Europe/Stockholm', 'contact', '2026-11-03 10:00Z', 1), (1, 31, 2, 'UTC', 'customer', '2026-11-03 11:00Z', 3)
    """,
    "INSERT INTO sendout_left_out (customer_id, sendout_id, reason, contacts) VALUES (1, 31, 'excluded', 1), (1, 31, 'no_device', 1)",
    """
    INSERT INTO cap_day (customer_id, rule, day, slot, contacts, capped)
    VALUES (1, '3/24h marketing', '2026-11-03', 0, 5, 1), (1, '3/24h marketing', '2026-11-03', 7, 2, 0),
           (1, '3/24h marketing', '2026-11-02', 0, 4, 0), (1, '1/1h', '2026-11-03', 3, 1, 6)
    """,
  ]

  private static let app = #""appId":"com.acme.app","appType":1"#
  private static let android = #""appId":"com.acme.app","appType":2"#

  private static let expected: [Report: String] = [
    .devices: """
    [{\(app),"platform":"iOS","environment":"production","state":"valid","devices":4,"contacts":2},
     {\(app),"platform":"iOS","environment":"sandbox","state":"invalidated","devices":1,"contacts":1},
     {\(android),"platform":"Android","environment":"production","state":"invalidated","devices":1,"contacts":1}]
    """,
    .registrations: """
    [{"day":"2026-11-02",\(app),"registered":1,"moved":1,"revived":1,"environment":1},
     {"day":"2026-11-02",\(android),"registered":1,"moved":0,"revived":0,"environment":0},
     {"day":"2026-11-01",\(app),"registered":2,"moved":0,"revived":0,"environment":0}]
    """,
    .invalidations: """
    [{"day":"2026-11-02",\(app),"reason":"Unregistered","devices":2},
     {"day":"2026-11-02",\(app),"reason":"app","devices":1},
     {"day":"2026-11-02",\(android),"reason":"app","devices":1}]
    """,
    .sendouts: """
    [{"sendoutId":32,"name":"Draft","appId":"com.acme.app","platform":"Android, iOS","state":"draft","audience":0,"queued":0,"sending":0,"waiting":0,"sent":0,
      "accepted":0,"failed":0,"uncertain":0,"skipped":0,"cancelled":0,"opened":0,"openRate":null,
      "createdAt":"2026-11-04T10:00:00.000Z","startedAt":null,"finishedAt":null},
     {"sendoutId":31,"name":"Friday","appId":"com.acme.app","platform":"iOS","state":"finished","audience":5,"queued":0,"sending":0,"waiting":0,"sent":4,
      "accepted":2,"failed":2,"uncertain":0,"skipped":1,"cancelled":0,"opened":1,"openRate":0.5,
      "createdAt":"2026-11-03T10:00:00.000Z","startedAt":"2026-11-03T10:01:00.000Z",
      "finishedAt":"2026-11-03T10:02:00.000Z"}]
    """,
    .funnel: """
    [{"sendoutId":32,"name":"Draft","stage":"audience","pushes":0,"ofAudience":null,"ofPrevious":null},
     {"sendoutId":32,"name":"Draft","stage":"sent","pushes":0,"ofAudience":null,"ofPrevious":null},
     {"sendoutId":32,"name":"Draft","stage":"accepted","pushes":0,"ofAudience":null,"ofPrevious":null},
     {"sendoutId":32,"name":"Draft","stage":"opened","pushes":0,"ofAudience":null,"ofPrevious":null},
     {"sendoutId":31,"name":"Friday","stage":"audience","pushes":5,"ofAudience":1,"ofPrevious":1},
     {"sendoutId":31,"name":"Friday","stage":"sent","pushes":4,"ofAudience":0.8,"ofPrevious":0.8},
     {"sendoutId":31,"name":"Friday","stage":"accepted","pushes":2,"ofAudience":0.4,"ofPrevious":0.5},
     {"sendoutId":31,"name":"Friday","stage":"opened","pushes":1,"ofAudience":0.2,"ofPrevious":0.5}]
    """,
    .failures: """
    [{"sendoutId":31,"state":"failed","reason":"BadDeviceToken","pushes":2},
     {"sendoutId":31,"state":"skipped","reason":"device_invalidated","pushes":1}]
    """,
    .opens: """
    [{"hour":"2026-11-03T11:00:00.000Z","sendoutId":31,"opens":1,"firstOpens":0,"byMachines":2},
     {"hour":"2026-11-03T10:00:00.000Z","sendoutId":31,"opens":2,"firstOpens":1,"byMachines":1}]
    """,
    .timeline: """
    [{"at":"2026-11-03T11:11:00.000Z","event":"push fetched by a machine","detail":"page","deviceId":22,"sendoutId":31},
     {"at":"2026-11-03T11:10:00.000Z","event":"push fetched by a machine","detail":"page","deviceId":22,"sendoutId":31},
     {"at":"2026-11-03T11:00:00.000Z","event":"push opened","detail":"pushreadurl","deviceId":21,"sendoutId":31},
     {"at":"2026-11-03T10:59:00.000Z","event":"push opened","detail":"page","deviceId":21,"sendoutId":31},
     {"at":"2026-11-03T10:30:00.000Z","event":"push opened","detail":"page","deviceId":21,"sendoutId":31},
     {"at":"2026-11-03T10:05:00.000Z","event":"push fetched by a machine","detail":"page","deviceId":21,"sendoutId":31},
     {"at":"2026-11-03T10:01:03.000Z","event":"push accepted","detail":null,"deviceId":22,"sendoutId":31},
     {"at":"2026-11-03T10:01:02.000Z","event":"push accepted","detail":null,"deviceId":21,"sendoutId":31},
     {"at":"2026-11-02T11:30:00.000Z","event":"device revived","detail":null,"deviceId":21,"sendoutId":null},
     {"at":"2026-11-02T11:00:00.000Z","event":"device invalidated","detail":"app","deviceId":21,"sendoutId":null},
     {"at":"2026-11-02T00:00:00.000Z","event":"device moved","detail":null,"deviceId":22,"sendoutId":null},
     {"at":"2026-11-01T08:00:00.000Z","event":"device registered","detail":null,"deviceId":21,"sendoutId":null}]
    """,
    .subscriptions: "[]",
    .suppressions: """
    [{"kind":"contact","scope":"marketing","reason":"unsubscribed","byPage":true,"suppressions":2,
      "firstAt":"2026-11-03T13:00:00.000Z","lastAt":"2026-11-03T14:00:00.000Z"},
     {"kind":"number","scope":"all","reason":null,"byPage":false,"suppressions":1,
      "firstAt":"2026-11-03T15:00:00.000Z","lastAt":"2026-11-03T15:00:00.000Z"}]
    """,
    .notifications: """
    [{"day":"2026-11-03","appId":"com.acme.app","service":"fcm","event":"Value.Changed","outcome":"accepted","reason":null,"notifications":2},
     {"day":"2026-11-03","appId":"com.acme.app","service":"hms","event":"Children.Updated","outcome":"revoked","reason":"80300007",
      "notifications":1}]
    """,
    .hybrid: """
    [{"day":"2026-11-03","appId":"com.acme.app","kind":"default","messages":2,"byPush":1,"bySms":1,"smsOnly":0,"noDevice":1,
      "pushFailed":0,"unconfirmed":0,"smsParts":2,"delivered":1,"read":1,"failed":0,"withdrawn":0,"medianSeconds":2,
      "slowestSeconds":2},
     {"day":"2026-11-03","appId":null,"kind":"otp","messages":1,"byPush":0,"bySms":0,"smsOnly":0,"noDevice":0,"pushFailed":0,
      "unconfirmed":0,"smsParts":0,"delivered":0,"read":0,"failed":0,"withdrawn":1,"medianSeconds":null,"slowestSeconds":null}]
    """,
    .campaigns: """
    [{"sendoutId":32,"name":"Draft","kind":"broadcast","state":"draft","seriesId":null,"seriesNo":null,"startedAt":null,"finishedAt":null,
      "everyone":null,"left":null,"accepted":0,"failed":0,"opened":0,"openRate":null,"leftOut":null},
     {"sendoutId":31,"name":"Friday","kind":"broadcast","state":"finished","seriesId":null,"seriesNo":null,
      "startedAt":"2026-11-03T10:01:00.000Z","finishedAt":"2026-11-03T10:02:00.000Z","everyone":4,"left":2,"accepted":2,"failed":2,
      "opened":1,"openRate":0.5,"leftOut":2}]
    """,
    .variants: """
    [{"sendoutId":31,"variantNo":1,"variant":"A","share":50,"contacts":1,"accepted":1,"opened":1,"rate":1,"low":0.2065,"high":1,
      "acceptedAtDecision":null,"openedAtDecision":null,"pAdjusted":null,"fitsShare":true,"decision":null},
     {"sendoutId":31,"variantNo":2,"variant":"B","share":50,"contacts":1,"accepted":0,"opened":0,"rate":null,"low":0,"high":1,
      "acceptedAtDecision":null,"openedAtDecision":null,"pAdjusted":null,"fitsShare":true,"decision":null}]
    """,
    .localTimes: """
    [{"sendoutId":31,"zone":"Europe/Stockholm","source":"contact","plannedAt":"2026-11-03T10:00:00.000Z","contacts":1,"accepted":1,
      "opened":1},
     {"sendoutId":31,"zone":"UTC","source":"customer","plannedAt":"2026-11-03T11:00:00.000Z","contacts":3,"accepted":0,"opened":0}]
    """,
    .leftOut: """
    [{"sendoutId":31,"reason":"excluded","contacts":1},{"sendoutId":31,"reason":"no_device","contacts":1}]
    """,
    .caps: """
    [{"day":"2026-11-03","rule":"1/1h","contacts":1,"capped":6},{"day":"2026-11-03","rule":"3/24h marketing","contacts":7,"capped":1},
     {"day":"2026-11-02","rule":"3/24h marketing","contacts":4,"capped":0}]
    """,
  ]
}
