import Postgres
import Wire

/// What statements do beside that change what a contact has received or opened.
///
/// These are: those that make a push accepted, as it stays so; those that write `opened_at`; and those that delete opened pushes. A test looks
/// for statements that do so without it.
enum ActivityChange {
  /// A data-modifying common table expression that notes the contacts of an earlier one, in one row: from this commit on, filters count
  /// them in the ledger, until a hub has counted them anew. It waits for nobody.
  /// - Parameters:
  ///   - rows: an expression that returns `contact_id`.
  ///   - condition: which of them, as SQL.
  static func note(_ rows: String, where condition: String) -> String {
    """
    INSERT INTO activity_change (customer_id, contact_ids)
      SELECT $1::bigint, array_agg(contact_id) FROM \(rows) WHERE \(condition) HAVING count(*) > 0
      RETURNING 1
    """
  }
}

/// Statements on `activity_change` and `contact_activity`. `$1` is the customer.
enum ActivityQueries {
  static let all: [Statement] = [due, oldest, turn, awaitTurn, unlimited, apply, recount]

  /// The customers whose contacts are to be counted anew, and how many seconds ago the first note of each was made. It looks for that note,
  /// however many there are, behind the numbers `$2` of the customers `$1`.
  static let due = Statement(
    "activity.due", .read,
    """
    SELECT customer.customer_id, extract(epoch FROM now() - first.noted_at)::float8
      FROM customer
      LEFT JOIN unnest($1::bigint[], $2::bigint[]) AS place (customer_id, change_no) ON place.customer_id = customer.customer_id
     CROSS JOIN LATERAL (
       SELECT noted_at FROM activity_change
        WHERE activity_change.customer_id = customer.customer_id AND activity_change.change_no > coalesce(place.change_no, 0)
        ORDER BY activity_change.change_no LIMIT 1) AS first
     ORDER BY customer.customer_id
    """)

  /// When the first note of the customer was made that is `$2` seconds old, or older, if it is.
  static let oldest = Statement(
    "activity.oldest", .read,
    """
    SELECT noted_at
      FROM (SELECT noted_at FROM activity_change WHERE customer_id = $1::bigint ORDER BY change_no LIMIT 1) AS first
     WHERE noted_at < now() - make_interval(secs => $2::float8)
    """)

  /// Locks the customer's activity until the transaction ends; false if another hub has it. Two that count the same contact at the same time
  /// could write the older count last. The next statement sees all that the one before has committed.
  static let turn = Statement("activity.turn", .write, "SELECT pg_try_advisory_xact_lock(\(lock))")

  /// As `turn`; waits for the other one.
  static let awaitTurn = Statement("activity.await_turn", .write, "SELECT pg_advisory_xact_lock(\(lock))")

  private static let lock = "hashtextextended('pushcart activity ' || $1::bigint, 0)"

  /// A contact may have any number of pushes. Each portion is planned anew: a plan that was made while there were few notes sorts all of them.
  static let unlimited = Statement(
    "activity.unlimited", .read,
    "SELECT set_config('statement_timeout', '0', true), set_config('plan_cache_mode', 'force_custom_plan', true)")

  /// Takes the oldest notes, of about `$2` contacts, and counts these anew. Returns how many notes it took, and the last one's number.
  ///
  /// Notes up to the number `$3` are not looked for. Those that were taken stand in the index until nobody sees them any more, and a transaction
  /// of ten minutes keeps them for as long: each portion would pass over all of them.
  static let apply = Statement(
    "activity.apply", .write,
    """
    WITH first AS (
      SELECT change_no, contact_ids, sum(cardinality(contact_ids)) OVER (ORDER BY change_no) - cardinality(contact_ids) AS before
        FROM (SELECT change_no, contact_ids FROM activity_change
               WHERE customer_id = $1::bigint AND change_no > $3::bigint ORDER BY change_no LIMIT $2::bigint) AS oldest),
    taken AS MATERIALIZED (SELECT change_no, contact_ids FROM first WHERE before < $2::bigint),
    gone AS (
      DELETE FROM activity_change
       WHERE customer_id = $1::bigint AND change_no = ANY (ARRAY(SELECT change_no FROM taken))
      RETURNING 1),
    concerned AS MATERIALIZED (SELECT DISTINCT unnest(contact_ids) AS contact_id FROM taken),
    \(count)
    SELECT (SELECT count(*) FROM gone), (SELECT max(change_no) FROM taken)
    """)

  /// Counts the next `$3` contacts behind the number `$2` anew. Returns the last one's number, NULL for none, and how many there were.
  static let recount = Statement(
    "activity.recount", .write,
    """
    WITH concerned AS MATERIALIZED (
      SELECT contact_id FROM contact
       WHERE customer_id = $1::bigint AND contact_id > $2::bigint ORDER BY contact_id LIMIT $3::bigint),
    \(count)
    SELECT max(contact_id), count(*) FROM concerned
    """)

  /// Counts the contacts in `concerned` from the ledger as it is in the statement's snapshot. Rows that stay as they are are not written.
  ///
  /// The planner may know nothing of the tables. OFFSET 0 forces look-ups by their keys, as the aggregate does of the pushes; those of
  /// sendouts and of messages have an index each.
  private static let count = """
    counted AS MATERIALIZED (
      SELECT c.contact_id, p.*
        FROM concerned AS c
       CROSS JOIN LATERAL (SELECT FROM contact
                            WHERE contact.customer_id = $1::bigint AND contact.contact_id = c.contact_id
                           OFFSET 0) AS known
       CROSS JOIN LATERAL (
         SELECT count(*) FILTER (WHERE \(received)) AS received, count(opened_at) AS opened,
                \(newest("settled_at", by: lastReceived, where: received)) AS received_at,
                \(newest("opened_at IS NOT NULL", by: lastReceived, where: received)) AS received_opened,
                \(newest("opened_at", by: "opened_at DESC", where: "opened_at IS NOT NULL")) AS opened_at
           FROM (\(pushes("IS NULL"))
                  UNION ALL
                 \(pushes("IS NOT NULL AND \(ActivitySQL.isNoTest)"))) AS push) AS p),
    written AS (
      INSERT INTO contact_activity AS a (customer_id, contact_id, received, opened, received_at, received_opened, opened_at)
      SELECT $1::bigint, contact_id, received, opened, received_at, received_opened, opened_at
        FROM counted WHERE received + opened > 0
      ON CONFLICT (customer_id, contact_id) DO UPDATE
        SET received = excluded.received, opened = excluded.opened, received_at = excluded.received_at,
            received_opened = excluded.received_opened, opened_at = excluded.opened_at
        WHERE (a.received, a.opened, a.received_at, a.received_opened, a.opened_at) IS DISTINCT FROM
              (excluded.received, excluded.opened, excluded.received_at, excluded.received_opened, excluded.opened_at)),
    left_empty AS (
      -- Of contacts that have nothing any more, and of those that were erased.
      DELETE FROM contact_activity
       WHERE customer_id = $1::bigint
         AND contact_id = ANY (ARRAY(SELECT contact_id FROM concerned
                                     EXCEPT SELECT contact_id FROM counted WHERE received + opened > 0)))
    """

  private static let received = "state = '\(PushState.accepted.rawValue)'"
  /// The order of `of last`, as `ActivitySQL` has it for the ledger.
  private static let lastReceived = ActivitySQL.lastReceived

  private static func newest(_ value: String, by order: String, where condition: String) -> String {
    "coalesce((array_agg(\(value) ORDER BY \(order)) FILTER (WHERE \(condition)))[1:\(ContactActivity.newest)], '{}')"
  }

  /// Pushes to the contact, but for those of tests, whose opens are not recorded either.
  private static func pushes(_ isOfMessage: String) -> String {
    """
    SELECT state, settled_at, opened_at, sendout_id, push_no FROM push
                  WHERE push.customer_id = $1::bigint AND push.contact_id = c.contact_id AND push.message_no \(isOfMessage)
    """
  }
}
