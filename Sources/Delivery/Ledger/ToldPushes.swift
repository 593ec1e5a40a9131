package import FoundationEssentials
package import Postgres
import Registry
package import Wire

/// A push as webhooks are told of it: as it is now.
package struct ToldPush: Sendable {
  package let sendout: SendoutID
  package let number: PushNumber
  /// nil for one of a sendout.
  package let message: MessageID?
  package let contact: ContactID
  /// nil for a contact that has been erased.
  package let originalID: String?
  package let device: DeviceID
  package let app: PushAppID
  package let reason: String?
  package let settledAt: Date?
  package let openedAt: Date?
  /// When its provider said that it was delivered.
  package let reportedAt: Date?
}

/// Reads the pushes that webhooks are told of.
package struct ToldPushes: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// The pushes of these numbers by sendout, in their order; nil for those that are gone.
  /// - Parameter areLastFailures: only those of single messages none of whose pushes was accepted or can be any more; of each message the one
  ///   that failed last. nil for others.
  package func find(
    _ customer: CustomerID, _ pushes: [(sendout: SendoutID, number: Int32)], areLastFailures: Bool = false
  ) async throws -> [ToldPush?] {
    guard !pushes.isEmpty else { return [] }
    let statement = areLastFailures ? ToldPushQueries.lastFailures : ToldPushQueries.find
    let rows = try await database.query(
      statement, customer.rawValue, pushes.map(\.sendout.rawValue), pushes.map(\.number))
    func place(_ row: Row) throws -> Int { Int(try row.column(0, as: Int64.self)) - 1 }
    func batch(_ row: Row) throws -> Batch {
      Batch(sendout: pushes[try place(row)].sendout, number: try row.column(1))
    }
    let apps = try await apps(customer, of: Set(try rows.map(batch)))
    var found: [ToldPush?] = Array(repeating: nil, count: pushes.count)
    for row in rows {
      guard let app = apps[try batch(row)] else { continue }
      let place = try place(row)
      let (sendout, number) = pushes[place]
      found[place] = ToldPush(
        sendout: sendout, number: PushNumber(Int64(number)),
        message: try row.column(2, as: Int32?.self).map { MessageID(sendout, $0) },
        contact: ContactID(try row.column(3)), originalID: try row.column(4), device: DeviceID(try row.column(5)),
        app: app, reason: try row.column(6), settledAt: try row.column(7), openedAt: try row.column(8),
        reportedAt: try row.column(9))
    }
    return found
  }

  private struct Batch: Hashable {
    let sendout: SendoutID
    let number: Int32
  }

  /// The apps whose pushes these batches have. Thousands of pushes are of a few batches.
  private func apps(_ customer: CustomerID, of batches: Set<Batch>) async throws -> [Batch: PushAppID] {
    let rows = try await database.query(
      ToldPushQueries.apps, customer.rawValue, batches.map(\.sendout.rawValue), batches.map(\.number))
    return Dictionary(
      try rows.map { row in
        let (sendout, number, app) = try row.decode(Int64.self, Int32.self, Int64.self)
        return (Batch(sendout: SendoutID(sendout), number: number), PushAppID(app))
      }, uniquingKeysWith: { first, _ in first })
  }
}

/// Statements on pushes that webhooks are told of. `$1` is the customer; `$2` are sendouts and `$3` the pushes of each.
enum ToldPushQueries {
  static let all: [Statement] = [find, lastFailures, apps]

  static let find = told("told.pushes")

  /// Only those of messages that have failed on all devices, each with the push that was settled last.
  static let lastFailures = told(
    "told.last_failures",
    where: """
      WHERE p.state = 'failed'
        AND NOT EXISTS (
          SELECT FROM (SELECT push_nos FROM message
                        WHERE customer_id = $1::bigint AND sendout_id = told.sendout_id AND message_no = p.message_no LIMIT 1) AS m
           CROSS JOIN LATERAL unnest(m.push_nos) AS other (push_no)
           CROSS JOIN LATERAL (SELECT state, settled_at FROM push
                                WHERE customer_id = $1::bigint AND sendout_id = told.sendout_id AND push_no = other.push_no
                               OFFSET 0) AS o
           WHERE o.state IN ('queued', 'waiting', 'accepted', 'uncertain')
              OR o.state = 'failed' AND (o.settled_at, other.push_no) > (p.settled_at, told.push_no))
      """)

  /// OFFSET 0 forces lookups by primary keys, whatever table sizes the planner assumes.
  private static func told(_ name: String, where condition: String = "") -> Statement {
    Statement(
      name, .read,
      """
      SELECT told.place, p.batch_no, p.message_no, p.contact_id, c.original_id, p.device_id, p.reason, p.settled_at, p.opened_at, p.reported_at
        FROM unnest($2::bigint[], $3::int4[]) WITH ORDINALITY AS told (sendout_id, push_no, place)
       CROSS JOIN LATERAL (SELECT * FROM push
                            WHERE customer_id = $1::bigint AND sendout_id = told.sendout_id AND push_no = told.push_no
                           OFFSET 0) AS p
        LEFT JOIN LATERAL (SELECT original_id FROM contact WHERE customer_id = $1::bigint AND contact_id = p.contact_id OFFSET 0) AS c
               ON true
       \(condition)
      """)
  }

  /// The apps of batches; here `$3` are the batches of each sendout.
  static let apps = Statement(
    "told.apps_of_batches", .read,
    """
    SELECT told.sendout_id, told.batch_no, b.push_app_id
      FROM unnest($2::bigint[], $3::int4[]) AS told (sendout_id, batch_no)
     CROSS JOIN LATERAL (SELECT push_app_id FROM push_batch
                          WHERE customer_id = $1::bigint AND sendout_id = told.sendout_id AND batch_no = told.batch_no
                          LIMIT 1) AS b
    """)
}
