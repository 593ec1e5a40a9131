package import Wire

/// SQL of how often a contact was reached, from the ledger, over the row `contact`. `$1` is the customer.
///
/// Broadcasts and messages have an index each (`push_contact`, `push_contact_of_message`). The condition that is always true names both, so that the
/// planner can look up a contact in either.
package enum ActivitySQL {
  /// That the contact's pushes are as many as the filter wants.
  /// - Parameters:
  ///   - literal: gives the SQL of a number.
  ///   - now: SQL of the moment.
  package static func condition(_ activity: FilterActivity, now: String, _ literal: (Int64) -> String) -> String {
    // Whether there is one at all can be found out for all contacts at once, too.
    if activity.ofLast == nil, let isReached = activity.asksWhetherAny {
      let any = "EXISTS (SELECT FROM push WHERE \(pushes(of: activity, now: now, literal)))"
      return isReached ? any : "(NOT \(any))"
    }
    return "(\(count(activity, now: now, literal)) \(activity.op.sql) \(literal(Int64(activity.count))))"
  }

  /// How many they are.
  package static func count(_ activity: FilterActivity, now: String, _ literal: (Int64) -> String) -> String {
    guard let last = activity.ofLast else {
      return "(SELECT count(*) FROM push WHERE \(pushes(of: activity, now: now, literal)))"
    }
    var received = activity
    received.kind = .received
    let opened = activity.kind == .opened ? "WHERE latest.opened_at IS NOT NULL" : ""
    return """
      (SELECT count(*)
         FROM (SELECT push.opened_at FROM push WHERE \(pushes(of: received, now: now, literal))
                ORDER BY push.settled_at DESC, push.sendout_id DESC, push.push_no DESC
                LIMIT \(literal(Int64(last)))) AS latest \(opened))
      """
  }

  private static func pushes(of activity: FilterActivity, now: String, _ literal: (Int64) -> String) -> String {
    var conditions = [
      "push.customer_id = $1::bigint", "push.contact_id = contact.contact_id",
      "(push.message_no IS NULL OR push.message_no IS NOT NULL)",
    ]
    let at: String
    switch activity.kind {
    case .received:
      at = "push.settled_at"
      conditions.append("push.state = '\(PushState.accepted.rawValue)'")
    case .opened:
      at = "push.opened_at"
      conditions.append("push.opened_at IS NOT NULL")
    }
    if let sendout = activity.sendout { conditions.append("push.sendout_id = \(literal(sendout))") }
    if let span = activity.within {
      conditions.append("\(at) BETWEEN \(now) - make_interval(secs => \(literal(Int64(span.seconds)))) AND \(now)")
    }
    return conditions.joined(separator: " AND ")
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
}

extension FilterOperator {
  /// As SQL has it.
  package var sql: String { self == .notEqual ? "<>" : rawValue }
}
