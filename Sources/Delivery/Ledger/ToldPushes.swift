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

  /// The pushes of these numbers by sendout, those that are still there.
  /// - Parameter areLastFailures: only those of single messages none of whose pushes was accepted or can be any more; of each message the one
  ///   that failed last.
  package func find(
    _ customer: CustomerID, _ pushes: [(sendout: SendoutID, number: Int32)], areLastFailures: Bool = false
  ) async throws -> [ToldPush] {
    let statement = areLastFailures ? ToldPushQueries.lastFailures : ToldPushQueries.find
    let rows = try await database.query(
      statement, customer.rawValue, pushes.map(\.sendout.rawValue), pushes.map(\.number))
    return try rows.map { row in
      let (sendout, number, message, contact, device, app, reason, settledAt, openedAt, reportedAt) = try row.decode(
        Int64.self, Int64.self, Int32?.self, Int64.self, Int64.self, Int64.self, String?.self, Date?.self, Date?.self,
        Date?.self)
      let key = SendoutID(sendout)
      return ToldPush(
        sendout: key, number: PushNumber(number), message: message.map { MessageID(key, $0) },
        contact: ContactID(contact), device: DeviceID(device), app: PushAppID(app), reason: reason,
        settledAt: settledAt, openedAt: openedAt, reportedAt: reportedAt)
    }
  }
}

/// Statements on pushes that webhooks are told of. `$1` is the customer; `$2` are sendouts and `$3` the pushes of each.
enum ToldPushQueries {
  static let all: [Statement] = [find, lastFailures]

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

  /// OFFSET 0 forces a lookup by primary key, whatever table size the planner assumes.
  private static func told(_ name: String, where condition: String = "") -> Statement {
    Statement(
      name, .read,
      """
      SELECT told.sendout_id, told.push_no::bigint, p.message_no, p.contact_id, p.device_id, b.push_app_id, p.reason, p.settled_at,
             p.opened_at, p.reported_at
        FROM unnest($2::bigint[], $3::int4[]) WITH ORDINALITY AS told (sendout_id, push_no, place)
       CROSS JOIN LATERAL (SELECT * FROM push
                            WHERE customer_id = $1::bigint AND sendout_id = told.sendout_id AND push_no = told.push_no
                           OFFSET 0) AS p
       CROSS JOIN LATERAL (SELECT push_app_id FROM push_batch
                            WHERE customer_id = $1::bigint AND sendout_id = told.sendout_id AND batch_no = p.batch_no
                            LIMIT 1) AS b
       \(condition)
       ORDER BY told.place
      """)
  }
}
