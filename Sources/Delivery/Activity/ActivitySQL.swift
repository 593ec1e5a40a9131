package import Wire

/// SQL of how often a contact was reached, over the row `contact`, and the row `activity` that `join` puts beside it. `$1` is the customer.
///
/// Most contacts' numbers follow from their row in `contact_activity`. The ledger is read in three cases: the row lacks changes (`hasChanged`),
/// it has too few moments, or it has one after the moment that is asked about. So the answer is that of the ledger in every
/// snapshot. Conditions that name a sendout are about the ledger alone. Tests of sendouts count only where their stream is named.
package enum ActivitySQL {
  /// What stands behind `contact` in FROM. A contact has one such row or none. Where no condition names it, the planner leaves the join out.
  /// - Parameter range: what the contact's number meets in any case, as in `BETWEEN 1 AND 9`.
  package static func join(within range: String? = nil) -> String {
    """
    LEFT JOIN contact_activity AS activity ON activity.customer_id = $1::bigint AND activity.contact_id = contact.contact_id \
    \(range.map { "AND activity.contact_id \($0)" } ?? "")
    """
  }

  /// As `join`, where few contacts are looked at and the planner expects many: each is looked up by its key.
  package static let lookUp = """
    LEFT JOIN LATERAL (SELECT * FROM contact_activity
                        WHERE contact_activity.customer_id = $1::bigint AND contact_activity.contact_id = contact.contact_id
                       OFFSET 0) AS activity ON true
    """

  /// That the contact's pushes are as many as the filter wants, by the roll-up where it names no sendout. It is never NULL, and right for
  /// contacts without notes, which `hasChanged` tells: others are counted by `conditionOfOne`.
  /// - Parameters:
  ///   - now: SQL of the moment.
  ///   - range: what the contact's number meets in any case, as in `BETWEEN 1 AND 9`. Of a named sendout, pushes to others are not read.
  ///   - literal: gives the SQL of a number.
  package static func condition(
    _ activity: FilterActivity, now: String, within range: String? = nil, _ literal: (Int64) -> String
  ) -> String {
    guard activity.sendout == nil else { return ofSendout(activity, now: now, within: range, literal) }
    let rolledUp = RolledUp(activity, now: now, literal)
    guard !rolledUp.lacking.isEmpty else { return "(\(rolledUp.condition))" }
    return """
      (CASE WHEN \(rolledUp.lacking.joined(separator: " OR "))
            THEN \(conditionOfOne(activity, now: now, literal))
            ELSE \(rolledUp.condition) END)
      """
  }

  /// That the contact's row is older than the ledger.
  ///
  /// The planner takes an array that is put together and taken apart again for ten contacts, whatever it knows of the table. Were it to expect
  /// more than fit into work_mem, it would not hash them, and look through all of them for each contact. So it stands once in a statement.
  package static let hasChanged = """
    contact.contact_id IN (
      SELECT unnest(changed.contact_ids)
        FROM (SELECT array_agg(one.contact_id) AS contact_ids
                FROM (SELECT unnest(activity_change.contact_ids) AS contact_id FROM activity_change
                       WHERE activity_change.customer_id = $1::bigint) AS one) AS changed)
    """

  /// Whether there is any push, the planner finds out for all contacts at once or for one. Those of other numbers are counted together, by
  /// reading the sendout once: those that meet the condition, or those that have pushes and do not where contacts without any meet it.
  private static func ofSendout(
    _ activity: FilterActivity, now: String, within range: String?, _ literal: (Int64) -> String
  ) -> String {
    if activity.ofLast == nil, let isReached = activity.asksWhetherAny {
      let any = "EXISTS (SELECT FROM push WHERE \(ofContact(activity, now: now, literal))\(within(range)))"
      return isReached ? any : "(NOT \(any))"
    }
    var received = activity
    if activity.ofLast != nil { received.kind = .received }
    let indexed = range == nil ? "" : "\(within(range)) AND \(ofAnyKind)"
    var (rows, number) = ("push WHERE \(pushes(of: received, now: now, literal))\(indexed)", "count(*)")
    if let last = activity.ofLast, activity.kind == .received {
      number = "least(count(*), \(literal(Int64(last))))"
    } else if let last = activity.ofLast {
      rows = """
        (SELECT push.contact_id, push.opened_at, row_number() OVER (PARTITION BY push.contact_id ORDER BY \(lastReceived)) AS place
                          FROM \(rows)) AS latest
                 WHERE latest.place <= \(literal(Int64(last)))
        """
      number = "count(latest.opened_at)"
    }
    let isMet = "\(number) \(activity.op.sql) \(literal(Int64(activity.count)))"
    return """
      (contact.contact_id \(activity.isMetByNone ? "NOT IN" : "IN") (
        SELECT unnest(counted.contact_ids)
          FROM (SELECT array_agg(one.contact_id) AS contact_ids
                  FROM (SELECT contact_id FROM \(rows)
                         GROUP BY contact_id HAVING \(activity.isMetByNone ? "NOT " : "")(\(isMet))) AS one) AS counted))
      """
  }

  /// As `condition`, for statements about one contact: by the ledger alone, without `join`.
  package static func conditionOfOne(_ activity: FilterActivity, now: String, _ literal: (Int64) -> String) -> String {
    "(\(count(activity, now: now, literal)) \(activity.op.sql) \(literal(Int64(activity.count))))"
  }

  /// How many they are, by the ledger.
  package static func count(_ activity: FilterActivity, now: String, _ literal: (Int64) -> String) -> String {
    guard let last = activity.ofLast else {
      return "(SELECT count(*) FROM push WHERE \(ofContact(activity, now: now, literal)))"
    }
    var received = activity
    received.kind = .received
    let opened = activity.kind == .opened ? "WHERE latest.opened_at IS NOT NULL" : ""
    return """
      (SELECT count(*)
         FROM (SELECT push.opened_at FROM push WHERE \(ofContact(received, now: now, literal))
                ORDER BY \(lastReceived)
                LIMIT \(literal(Int64(last)))) AS latest \(opened))
      """
  }

  /// What became of a sendout for the contact, by the ledger. It is never NULL.
  ///
  /// The planner finds it out for all contacts at once or for one, as whether there is any push.
  /// - Parameters:
  ///   - isByContact: whether it has to look at one contact after the other, as few are looked at. OFFSET 0 keeps it from a join.
  ///   - range: what the contact's number meets in any case.
  ///   - literal: gives the SQL of a number.
  package static func condition(
    _ outcome: FilterOutcome, byContact isByContact: Bool = false, within range: String? = nil,
    _ literal: (Int64) -> String
  ) -> String {
    func any(_ condition: String) -> String {
      """
      EXISTS (SELECT FROM push
               WHERE push.customer_id = $1::bigint AND push.sendout_id = \(literal(outcome.sendout)) AND \(ofContact)\(within(range))\(condition)
              \(isByContact ? "OFFSET 0" : ""))
      """
    }
    func isState(_ states: PushState...) -> String {
      "push.state IN (\(states.map { "'\($0.rawValue)'" }.joined(separator: ", ")))"
    }
    let isOpened = "push.opened_at IS NOT NULL"
    let unsent = isState(.skipped, .cancelled)
    func best(_ state: PushState, worse states: String) -> String {
      "(\(any(" AND \(isState(state))")) AND NOT \(any(" AND (NOT \(states) OR \(isOpened))")))"
    }
    return switch outcome.kind {
    case .any: any("")
    case .opened: any(" AND \(isOpened)")
    case .notOpened: "(\(any(" AND \(isState(.accepted))")) AND NOT \(any(" AND \(isOpened)")))"
    case .uncertain: best(.uncertain, worse: isState(.uncertain, .failed, .skipped, .cancelled))
    case .failed: best(.failed, worse: isState(.failed, .skipped, .cancelled))
    case .skipped: best(.skipped, worse: isState(.skipped, .cancelled))
    case .suppressed, .heldOut, .capped, .quiet, .missed, .expired, .noWinner:
      // Behind a cap's reason stands its rule.
      """
      (\(any(" AND \(unsent) AND split_part(push.reason, ' ', 1) = '\(outcome.kind.reason?.rawValue ?? "")'"))
               AND NOT \(any(" AND (NOT \(unsent) OR \(isOpened))")))
      """
    }
  }

  /// Of a push of a message, that it is none of a test, which nothing counts. OFFSET 0 keeps it from a join.
  static let isNoTest = """
    NOT EXISTS (SELECT FROM sendout
                 WHERE sendout.customer_id = $1::bigint AND sendout.sendout_id = push.sendout_id AND sendout.test_of IS NOT NULL
                OFFSET 0)
    """

  /// The order of `of last`.
  static let lastReceived = "push.settled_at DESC, push.sendout_id DESC, push.push_no DESC"

  /// Broadcasts and messages have an index each (`push_contact`, `push_contact_of_message`). The condition that is always true names both, so
  /// that the planner can look up a contact in either.
  private static func ofContact(_ activity: FilterActivity, now: String, _ literal: (Int64) -> String) -> String {
    "\(pushes(of: activity, now: now, literal)) AND \(ofContact)"
  }

  private static let ofContact = "push.contact_id = contact.contact_id AND \(ofAnyKind)"
  private static let ofAnyKind = "(push.message_no IS NULL OR push.message_no IS NOT NULL)"

  private static func within(_ range: String?) -> String { range.map { " AND push.contact_id \($0)" } ?? "" }

  private static func pushes(of activity: FilterActivity, now: String, _ literal: (Int64) -> String) -> String {
    var conditions = ["push.customer_id = $1::bigint"]
    let at: String
    switch activity.kind {
    case .received:
      at = "push.settled_at"
      conditions.append("push.state = '\(PushState.accepted.rawValue)'")
      if activity.sendout == nil { conditions.append("(push.message_no IS NULL OR \(isNoTest))") }
    case .opened:
      at = "push.opened_at"
      conditions.append("push.opened_at IS NOT NULL")
    }
    if let sendout = activity.sendout { conditions.append("push.sendout_id = \(literal(sendout))") }
    if let span = activity.within {
      conditions.append("\(at) BETWEEN \(start(of: span, now: now, literal)) AND \(now)")
    }
    return conditions.joined(separator: " AND ")
  }

  fileprivate static func start(of span: FilterSpan, now: String, _ literal: (Int64) -> String) -> String {
    "\(now) - make_interval(secs => \(literal(Int64(span.seconds))))"
  }
}

/// A condition on the row `activity`, all of whose columns are NULL for a contact that has none.
private struct RolledUp {
  /// Never NULL. It is right where none of `lacking` is true.
  let condition: String
  /// Where the row does not have enough; each may be NULL, which is false.
  private(set) var lacking: [String] = []

  init(_ activity: FilterActivity, now: String, _ literal: (Int64) -> String) {
    let (op, count, newest) = (activity.op, activity.count, ContactActivity.newest)
    let total = "coalesce(activity.\(activity.kind == .received ? "received" : "opened"), 0)"
    switch (activity.within, activity.ofLast, activity.kind) {
    case (nil, nil, _):
      condition = "\(total) \(op.sql) \(literal(Int64(count)))"
    case (nil, let last?, .received):
      condition = "least(\(total), \(literal(Int64(last)))) \(op.sql) \(literal(Int64(count)))"
    case (nil, let last?, .opened):
      if last > newest { lacking.append("activity.received > \(newest)") }
      let opened = "array_positions(activity.received_opened[1:\(literal(Int64(last)))::int], true)"
      condition = "coalesce(cardinality(\(opened)), 0) \(op.sql) \(literal(Int64(count)))"
    case (let span?, _, let kind):
      let moments = kind == .received ? "activity.received_at" : "activity.opened_at"
      let start = ActivitySQL.start(of: span, now: now, literal)
      lacking.append("\(moments)[1] > \(now)")
      /// That so many moments or more are in the span: then it has the last one of these, as the newest come first.
      func has(_ number: Int) -> String {
        if number <= 0 { return "true" }
        return number > newest ? "false" : "(\(moments)[\(literal(Int64(number)))::int] >= \(start)) IS TRUE"
      }
      let (atLeast, more) = (has(count), has(count + 1))
      if op.comparesMore ? count + 1 > newest : count > newest { lacking.append("\(moments)[\(newest)] >= \(start)") }
      condition =
        switch op {
        case .greaterOrEqual: atLeast
        case .less: "NOT \(atLeast)"
        case .greater: more
        case .lessOrEqual: "NOT \(more)"
        case .equal: "\(atLeast) AND NOT \(more)"
        case .notEqual: "NOT \(atLeast) OR \(more)"
        }
    }
  }
}

extension FilterActivity {
  /// Whether it asks for one push at least (true), or for none (false); nil for anything else.
  fileprivate var asksWhetherAny: Bool? {
    switch (op, count) {
    case (.greaterOrEqual, 1), (.greater, 0), (.notEqual, 0): true
    case (.less, 1), (.equal, 0), (.lessOrEqual, 0): false
    default: nil
    }
  }

  /// Whether a contact without any push meets it.
  fileprivate var isMetByNone: Bool {
    switch op {
    case .equal: count == 0
    case .notEqual: count != 0
    case .less: count > 0
    case .lessOrEqual: true
    case .greater: false
    case .greaterOrEqual: count == 0
    }
  }
}

extension FilterOperator {
  /// As SQL has it.
  package var sql: String { self == .notEqual ? "<>" : rawValue }

  /// Whether one more than the number makes a difference.
  fileprivate var comparesMore: Bool {
    switch self {
    case .greater, .lessOrEqual, .equal, .notEqual: true
    case .less, .greaterOrEqual: false
    }
  }
}
