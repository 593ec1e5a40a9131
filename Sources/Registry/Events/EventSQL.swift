package import Wire

/// SQL of events: what is told to webhooks is noted by the statement that makes it, and so in the same commit.
///
/// Each function returns a data-modifying common table expression, for the customer `$1`. A customer without a webhook for the event pays a
/// look at the index of its webhooks, and its rows are not read again. With some, a statement adds one row for each of them, and not for each push.
package enum EventSQL {
  /// Notes one event for each of these rows.
  /// - Parameters:
  ///   - name: SQL of the event's name, where there are several.
  ///   - rows: what stands behind FROM, such as an earlier expression.
  ///   - condition: which of the rows, as SQL.
  ///   - sendout, contact, subject, reason: SQL of the columns of `webhook_event`, from the rows.
  package static func note(
    _ events: WebhookEvent..., named name: String? = nil, of rows: String, where condition: String = "true",
    sendout: String = "NULL::bigint", contact: String = "NULL::bigint", subject: String = "NULL::bigint",
    reason: String = "NULL::text"
  ) -> String {
    """
    INSERT INTO webhook_event (customer_id, webhook_id, event, sendout_id, contact_id, subject_id, reason)
      SELECT $1::bigint, w.webhook_id, told.event, told.sendout_id, told.contact_id, told.subject_id, told.reason
        FROM (SELECT \(name ?? literal(events)) AS event, \(sendout) AS sendout_id, \(contact) AS contact_id, \(subject) AS subject_id,
                     \(reason) AS reason
                FROM \(rows) WHERE \(condition) AND \(isWanted(events))) AS told
        JOIN \(wanting)
    """
  }

  /// Notes what has become of pushes, up to `WebhookEvent.mostItems` of them in a row.
  /// - Parameters:
  ///   - name: SQL of the event's name, where there are several.
  ///   - rows: what stands behind FROM; with the column `push_no`.
  ///   - sendout: SQL of their sendout.
  package static func notePushes(
    _ events: WebhookEvent..., named name: String? = nil, of rows: String, where condition: String = "true",
    sendout: String = "$2::bigint"
  ) -> String {
    notePushes(events, named: name ?? literal(events), of: rows, where: condition, sendout: sendout)
  }

  /// Notes the pushes of an earlier expression that were accepted or failed now. It returns `push_no`, `message_no` and the new `state`.
  ///
  /// A failed push of a message may be the last one of a trigger's message. Whether it is, is known when that is told (`EventBodies`).
  package static func noteOutcomes(of rows: String) -> String {
    let kinds: [(state: String, event: WebhookEvent, isOfMessages: Bool)] = [
      ("accepted", .pushAccepted, false), ("failed", .pushFailed, false), ("failed", .triggerFailed, true),
    ]
    let values = kinds.map { "('\($0.state)', '\($0.event.rawValue)', \($0.isOfMessages))" }
    return notePushes(
      kinds.map(\.event), named: "kind.event",
      of: """
        \(rows) JOIN (VALUES \(values.joined(separator: ", "))) AS kind (state, event, of_messages)
                          ON kind.state = \(rows).state AND (\(rows).message_no IS NOT NULL OR NOT kind.of_messages)
        """, where: "true", sendout: "$2::bigint")
  }

  /// Arrays are cut into pieces: a window over the pushes would take longer than all else here.
  private static func notePushes(
    _ events: [WebhookEvent], named name: String, of rows: String, where condition: String, sendout: String
  ) -> String {
    let most = WebhookEvent.mostItems
    return """
      INSERT INTO webhook_event (customer_id, webhook_id, event, sendout_id, push_nos)
        SELECT $1::bigint, w.webhook_id, told.event, told.sendout_id, told.push_nos[piece.first:piece.first + \(most - 1)]
          FROM (SELECT event, sendout_id, array_agg(push_no ORDER BY push_no) AS push_nos
                  FROM (SELECT \(name) AS event, \(sendout) AS sendout_id, push_no::int4 AS push_no
                          FROM \(rows) WHERE \(condition) AND \(isWanted(events))) AS one
                 GROUP BY event, sendout_id) AS told
         CROSS JOIN LATERAL generate_series(1, cardinality(told.push_nos), \(most)) AS piece (first)
          JOIN \(wanting)
      """
  }

  /// That the customer has a webhook for one of these. It is asked once a statement, before the rows are read.
  private static func isWanted(_ events: [WebhookEvent]) -> String {
    """
    EXISTS (SELECT FROM webhook WHERE customer_id = $1::bigint AND enabled
                                         AND events && ARRAY[\(events.map { "'\($0.rawValue)'" }.joined(separator: ", "))])
    """
  }

  private static let wanting = """
    webhook AS w ON w.customer_id = $1::bigint AND w.enabled AND told.event = ANY (w.events)
    """

  private static func literal(_ events: [WebhookEvent]) -> String {
    precondition(events.count == 1, "several events need SQL of their name")
    return "'\(events[0].rawValue)'::text"
  }
}
