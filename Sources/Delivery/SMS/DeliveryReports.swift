import FoundationEssentials
public import Postgres
import Registry
public import Wire

/// A provider's last word on a push that it took: an SMS was delivered, or never will be.
public struct DeliveryReport: Sendable, Hashable {
  public var sendout: SendoutID
  public var push: PushNumber
  /// The app that the push has to be of.
  public var app: PushAppID
  public var isDelivered: Bool
  /// Why it was not delivered; nil if it was.
  public var reason: String?
  /// What the device is retired with; nil if it stays.
  public var retirement: InvalidationType?

  public init(
    sendout: SendoutID, push: PushNumber, app: PushAppID, isDelivered: Bool, reason: String? = nil,
    retirement: InvalidationType? = nil
  ) {
    self.sendout = sendout
    self.push = push
    self.app = app
    self.isDelivered = isDelivered
    self.reason = reason
    self.retirement = retirement
  }
}

/// Records delivery reports in the ledger.
///
/// Reports that arrive during a statement share the next one and its commit. A delivery is never taken back; a failure is, by a
/// delivery that is reported later.
public final class DeliveryReports: Sendable {
  private let batcher: Batcher<DeliveryReport, Bool>

  public init(_ database: any Querying) {
    batcher = Batcher(
      BatchLimits(batchWeight: 500, worthAnother: 128, items: 40_000), full: DeliveryError.reportsOverflow,
      on: database.executor
    ) { customer, reports in
      try await Self.record(reports, of: CustomerID(customer), in: database)
    }
  }

  /// Records reports, in any number of commits. Devices that they say are of no more use are retired first, so that a report that is
  /// repeated after a failure finds nothing left undone.
  /// - Returns: those that changed something: their pushes are now delivered, or failed for good.
  /// - Throws: `DeliveryError.reportsOverflow`, or an error that `DatabaseUnavailable` recognizes.
  public func record(_ customer: CustomerID, _ reports: [DeliveryReport]) async throws -> [DeliveryReport] {
    try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
      for (index, report) in reports.enumerated() {
        group.addTask { [batcher] in (index, try await batcher.answer(customer.rawValue, report)) }
      }
      return try await group.reduce(into: []) { if $1.1 { $0.append($1.0) } }.sorted().map { reports[$0] }
    }
  }

  /// - Returns: for each whether it changed something.
  private static func record(
    _ reports: [DeliveryReport], of customer: CustomerID, in database: any Querying
  ) async throws -> [Bool] {
    try await retire(reports.filter { $0.retirement != nil }, of: customer, in: database)
    let rows = try await database.query(
      DeliveryReportQueries.record, customer.rawValue, reports.map(\.sendout.rawValue), reports.map(\.push.rawValue),
      reports.map { $0.isDelivered ? "delivered" : "failed" }, reports.map { $0.reason?.forLedger },
      reports.map(\.app.rawValue))
    var areNew = [Bool](repeating: false, count: reports.count)
    var known: [DeliveryReport] = []
    for row in rows {
      let (place, isNew) = try row.decode(Int.self, Bool.self)
      areNew[place - 1] = isNew
      known.append(reports[place - 1])
    }
    // Also where nothing changed: a hub that stopped between the two commits was not done.
    let messages = TrackedMessages(database)
    for isDelivered in [true, false] {
      let ids = known.filter { $0.isDelivered == isDelivered }.map { UpdateID($0.sendout, $0.push) }
      if !ids.isEmpty { _ = try await messages.report(customer, ids, areDelivered: isDelivered) }
    }
    return areNew
  }

  private static func retire(
    _ reports: [DeliveryReport], of customer: CustomerID, in database: any Querying
  ) async throws {
    guard !reports.isEmpty else { return }
    let rows = try await database.query(
      DeliveryReportQueries.devices, customer.rawValue, reports.map(\.sendout.rawValue), reports.map(\.push.rawValue),
      reports.map(\.app.rawValue))
    let retirements = try rows.compactMap { row -> Retirement? in
      let (place, device, sentAt, isSandbox) = try row.decode(Int.self, Int64.self, Date.self, Bool.self)
      let report = reports[place - 1]
      return report.retirement.map {
        Retirement(
          // Of a number that was registered again since, an opt-out is still true.
          device: DeviceID(device), moment: $0 == .optedOut ? Date() : sentAt,
          reason: report.reason?.forLedger ?? "reported", type: $0,
          isSandbox: isSandbox)
      }
    }
    if !retirements.isEmpty { _ = try await Devices(database).retire(customer, retirements) }
  }
}

/// Statements on what providers report of pushes. `$1` is the customer.
enum DeliveryReportQueries {
  static let all: [Statement] = [record, devices]

  /// Records the reports `$4`, with reasons `$5`, of the pushes `$3` of sendouts `$2`, which have to be of the apps `$6`. Returns the
  /// places of those that are of these apps, and whether they changed something. Locks batches, then pushes, each in key order, as settlements do.
  static let record = Statement(
    "delivery_report.record", .write,
    """
    WITH reported AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[])
        WITH ORDINALITY AS reported (sendout_id, push_no, delivery, reason, app, place)),
    known AS MATERIALIZED (
      SELECT reported.*, push.batch_no
        FROM reported
       CROSS JOIN LATERAL
             -- OFFSET 0 forces a lookup by primary key, whatever table size the planner assumes.
             (SELECT batch_no
                FROM push
               WHERE push.customer_id = $1::bigint AND push.sendout_id = reported.sendout_id
                 AND push.push_no = reported.push_no
              OFFSET 0) AS push),
    batch AS MATERIALIZED (
      SELECT batch.sendout_id, batch.batch_no
        FROM (SELECT DISTINCT sendout_id, batch_no, app FROM known ORDER BY sendout_id, batch_no) AS wanted
       CROSS JOIN LATERAL
             (SELECT sendout_id, batch_no FROM push_batch
               WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = wanted.sendout_id
                 AND push_batch.batch_no = wanted.batch_no AND push_batch.push_app_id = wanted.app
               LIMIT 1 FOR NO KEY UPDATE) AS batch),
    best AS MATERIALIZED (
      -- Of several reports of one push a delivery counts, as it comes first in the alphabet.
      SELECT DISTINCT ON (known.sendout_id, known.push_no) known.sendout_id, known.push_no, known.delivery, known.reason, known.place
        FROM known
        JOIN batch ON batch.sendout_id = known.sendout_id AND batch.batch_no = known.batch_no
       ORDER BY known.sendout_id, known.push_no, known.delivery, known.place),
    changed AS (
      UPDATE push
         SET delivery = best.delivery, delivery_reason = best.reason, reported_at = now()
        FROM best
       WHERE push.customer_id = $1::bigint AND push.sendout_id = best.sendout_id AND push.push_no = best.push_no
         AND (push.delivery IS NULL OR push.delivery = 'failed' AND best.delivery = 'delivered')
      RETURNING best.place, best.sendout_id, best.push_no, best.delivery),
    told AS (\(EventSQL.notePushes(.messageDelivered, of: "changed", where: "delivery = 'delivered'", sendout: "sendout_id")))
    SELECT known.place, changed.place IS NOT NULL
      FROM known
      JOIN batch ON batch.sendout_id = known.sendout_id AND batch.batch_no = known.batch_no
      LEFT JOIN changed ON changed.place = known.place
    """)

  /// The devices of the pushes `$3` of sendouts `$2`, of the apps `$4`: place, device, when the push was sent, and its environment.
  static let devices = Statement(
    "delivery_report.devices", .read,
    """
    SELECT reported.place, push.device_id, coalesce(push.sent_at, now()), batch.sandbox
      FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])
        WITH ORDINALITY AS reported (sendout_id, push_no, app, place)
     CROSS JOIN LATERAL
           (SELECT batch_no, device_id, sent_at
              FROM push
             WHERE push.customer_id = $1::bigint AND push.sendout_id = reported.sendout_id
               AND push.push_no = reported.push_no
            OFFSET 0) AS push
     CROSS JOIN LATERAL
           (SELECT sandbox FROM push_batch
             WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = reported.sendout_id
               AND push_batch.batch_no = push.batch_no AND push_batch.push_app_id = reported.app
             LIMIT 1) AS batch
    """)
}
