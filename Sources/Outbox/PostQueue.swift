public import FoundationEssentials
public import Postgres
import Retrying
public import Wire

/// Events that are yet to be posted to customers, a row each.
///
/// A row is committed together with its event, and deleted once its address has taken it. Its kind makes the content when
/// it is posted. A hub that begins to post one moves its next attempt ahead (`RetryPolicy.lostPosts`). If the hub is killed, another posts it
/// then: it can come twice, and none is lost.
public struct PostQueue: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// A receiver of a customer, as its kind names it.
  public struct Lane: DueLane {
    public let customer: CustomerID
    let kind: String
    public let receiver: String

    /// - Parameter kind: as `OutboxKind.name`.
    public init(customer: CustomerID, kind: String, receiver: String) {
      self.customer = customer
      self.kind = kind
      self.receiver = receiver
    }
  }

  /// An event, by reference.
  public struct Entry: Sendable {
    public let sendout: Int64
    public let item: Int32
    public let event: String
    /// When it happened.
    public let at: Date
    /// How often its receiver was asked, this time included.
    let attempts: Int
  }

  /// Most that is posted to a receiver at a time: a customer has 128 places at its addresses, and the others are to find some free.
  static let most: Int64 = 16

  /// Begins some that are due; no other hub posts them before `RetryPolicy.lostPosts`.
  func begin(_ lane: Lane) async throws -> [Entry] {
    try await database.query(PostQueries.begin, lane.customer.rawValue, lane.kind, lane.receiver, Self.most).map {
      row in
      let (sendout, item, event, at, attempts) = try row.decode(
        Int64.self, Int32.self, String.self, Date.self, Int32.self)
      return Entry(sendout: sendout, item: item, event: event, at: at, attempts: Int(attempts))
    }
  }

  /// One was taken.
  func end(_ entry: Entry, of lane: Lane) async throws {
    try await database.query(
      PostQueries.end, lane.customer.rawValue, lane.kind, lane.receiver, entry.sendout, entry.item, entry.event)
  }

  /// One was not taken: it is posted again after `delay`.
  /// - Parameter isAsked: whether its receiver was asked, so that it counts as an attempt.
  func postpone(_ entry: Entry, of lane: Lane, for delay: Duration, isAsked: Bool) async throws {
    try await database.query(
      PostQueries.postpone, lane.customer.rawValue, lane.kind, lane.receiver, entry.sendout, entry.item, entry.event,
      delay / .seconds(1), Int32(isAsked ? 0 : 1))
  }

  /// Deletes all that waits for a receiver.
  package func delete(_ lane: Lane) async throws {
    try await database.query(PostQueries.delete, lane.customer.rawValue, lane.kind, lane.receiver)
  }

  /// Deletes a customer's rows that are given up (`RetryPolicy.posts`), whether or not there is an address for them.
  public func forgetExpired(_ customer: CustomerID) async throws {
    try await database.deleteInPortions(PostQueries.deleteExpired, customer.rawValue)
  }
}

/// Statements on `outbox` from the claim on. `$1` is the customer, `$2` the kind and `$3` the receiver; of one row `$4` is the sendout, `$5`
/// the item and `$6` the event. Which receivers have something due is asked by each kind, as it knows which of them have an address.
///
/// Single rows are found by the primary key. Their kind and receiver are compared together, as no index has them: otherwise the planner takes
/// the index of what is due for as good, and reads all that waits for the receiver.
package enum PostQueries {
  package static let all: [Statement] = [begin, end, postpone, delete, deleteExpired]

  /// Begins up to `$4` rows. Skips those that others have locked.
  static let begin = Statement(
    "outbox.begin", .write,
    """
    WITH due AS MATERIALIZED (
      SELECT sendout_id, item_no, event, now() + interval '\(RetryPolicy.lostPosts.components.seconds) seconds' AS until
        FROM outbox
       WHERE customer_id = $1::bigint AND kind = $2::text AND receiver = $3::text AND not_before <= now()
       ORDER BY not_before
       LIMIT $4::bigint
         FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE outbox AS o
       SET attempts = o.attempts + 1, not_before = due.until
      FROM due
     WHERE o.customer_id = $1::bigint AND o.sendout_id = due.sendout_id AND o.item_no = due.item_no AND o.event = due.event
       AND o.kind || o.receiver = $2::text || $3::text
    RETURNING o.sendout_id, o.item_no, o.event, o.created_at, o.attempts
    """)

  private static let one = """
    customer_id = $1::bigint AND sendout_id = $4::bigint AND item_no = $5::int4 AND event = $6::text
       AND kind || receiver = $2::text || $3::text
    """

  static let end = Statement("outbox.end", .write, "DELETE FROM outbox WHERE \(one)")

  /// Posts a row again in `$7` seconds, and takes back `$8` attempts.
  static let postpone = Statement(
    "outbox.postpone", .write,
    """
    UPDATE outbox SET not_before = now() + make_interval(secs => $7::float8), attempts = attempts - $8::int4
     WHERE \(one)
    """)

  static let delete = Statement(
    "outbox.delete", .write,
    "DELETE FROM outbox WHERE customer_id = $1::bigint AND kind = $2::text AND receiver = $3::text")

  static let deleteExpired = Statement(
    "outbox.delete_expired", .write,
    Portions.delete(
      from: "outbox", by: "created_at",
      before: "now() - interval '\(RetryPolicy.posts.giveUpAfter.components.seconds) seconds'"))
}
