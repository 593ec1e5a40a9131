package import FoundationEssentials
import Postgres
import Registry
package import Wire

/// What is stored of a single message.
package struct StoredMessage: Sendable {
  package let contact: ContactID
  /// `nil` if the contact is gone.
  package let originalID: String?
  package let reference: String?
  package let createdAt: Date
  package let deliverAt: Date?
  package let expiresAt: Date?
  /// Whether the moment has come at which it is due.
  package let isDue: Bool
  package let body: MessageBody
  /// When a device or a provider first confirmed it; of a message to a telephone number.
  package let confirmedAt: Date?
  package let readAt: Date?
  package let pushes: [PushReply]
}

extension Messages {
  /// Single messages by stream and number, the highest first.
  /// - Parameter after: the message behind which to begin; `nil` for the first one.
  package func newest(_ customer: CustomerID, after: MessageID?, limit: Int) async throws -> [ListedMessage] {
    let rows = try await database.query(
      MessageHistoryQueries.newest, customer.rawValue, after?.sendout.rawValue ?? .max, after?.number ?? .max,
      Int64(limit))
    return try rows.map { row in
      let states: [String]? = try row.get("states")
      return ListedMessage(
        messageId: MessageID(SendoutID(try row.get("sendout_id")), try row.get("message_no")),
        state: MessageState(of: (states ?? []).compactMap(PushState.init(rawValue:)), isDue: try row.get("is_due")),
        contactId: ContactID(try row.get("contact_id")), originalId: try row.get("original_id"),
        reference: try row.get("reference"), alert: try row.get("alert"),
        createdAt: Wire.Timestamp(try row.get("created_at", as: Date.self)),
        deliverAt: try row.get("deliver_at", as: Date?.self).map { Wire.Timestamp($0) },
        testOf: try row.get("test_of", as: Int64?.self).map { SendoutID($0) })
    }
  }

  /// How many messages each stream has; one without messages is left out.
  package func counts(_ customer: CustomerID, of streams: [SendoutID]) async throws -> [SendoutID: Int] {
    let rows = try await database.query(MessageHistoryQueries.counts, customer.rawValue, streams.map(\.rawValue))
    return Dictionary(
      try rows.map { row in
        let (stream, count) = try row.decode(Int64.self, Int.self)
        return (SendoutID(stream), count)
      }, uniquingKeysWith: { $1 })
  }

  /// The message with its pushes; `nil` if there is no such message.
  package func stored(_ customer: CustomerID, _ id: MessageID) async throws -> StoredMessage? {
    let rows = try await database.query(
      MessageHistoryQueries.show, customer.rawValue, id.sendout.rawValue, id.number)
    guard let row = rows.first else { return nil }
    let numbers: [Int32] = try row.get("push_nos")
    let pushes = try await database.query(
      MessageHistoryQueries.pushes, customer.rawValue, id.sendout.rawValue, numbers)
    let body: JSONDocument = try row.get("body")
    return StoredMessage(
      contact: ContactID(try row.get("contact_id")), originalID: try row.get("original_id"),
      reference: try row.get("reference"), createdAt: try row.get("created_at"), deliverAt: try row.get("deliver_at"),
      expiresAt: try row.get("expires_at"), isDue: try row.get("is_due"),
      body: try JSONCoding.decode(MessageBody.self, from: body.text.utf8, rules: .own),
      confirmedAt: try row.get("delivered_at"), readAt: try row.get("read_at"), pushes: try pushes.map(PushReply.init))
  }
}

/// Statements that show single messages. `$1` is the customer.
enum MessageHistoryQueries {
  static let all: [Statement] = [newest, show, pushes, counts]

  /// How many messages each of the streams `$2` has.
  static let counts = Statement(
    "message.counts", .read,
    """
    SELECT sendout_id, count(*) FROM message
     WHERE customer_id = $1::bigint AND sendout_id = ANY ($2::bigint[])
     GROUP BY sendout_id
    """)

  /// Most characters of an alert in a list.
  private static let shownAlert = 200

  /// By stream and number, the highest first, from behind the message `$2`, `$3`, at most `$4`.
  static let newest = Statement(
    "message.newest", .read,
    """
    SELECT m.sendout_id, m.message_no, m.contact_id, c.original_id, m.reference,
           left(m.body ->> 'alert', \(shownAlert)) AS alert, m.created_at, m.deliver_at,
           coalesce(m.deliver_at <= now(), true) AS is_due, p.states, s.test_of
      FROM (SELECT * FROM message
             WHERE customer_id = $1::bigint AND (sendout_id, message_no) < ($2::bigint, $3::int4)
             ORDER BY sendout_id DESC, message_no DESC LIMIT $4::bigint) AS m
      LEFT JOIN LATERAL (SELECT original_id FROM contact
                          WHERE customer_id = $1::bigint AND contact_id = m.contact_id LIMIT 1) AS c ON true
      LEFT JOIN LATERAL (SELECT array_agg(push.state) AS states
                           FROM unnest(m.push_nos) AS number
                          CROSS JOIN LATERAL (SELECT state FROM push
                                               WHERE customer_id = $1::bigint AND sendout_id = m.sendout_id
                                                 AND push_no = number LIMIT 1) AS push) AS p ON true
      LEFT JOIN LATERAL (SELECT test_of FROM sendout
                          WHERE customer_id = $1::bigint AND sendout_id = m.sendout_id LIMIT 1) AS s ON true
     ORDER BY m.sendout_id DESC, m.message_no DESC
    """)

  /// The message `$3` of the stream `$2`.
  static let show = Statement(
    "message.show", .read,
    """
    SELECT m.contact_id, c.original_id, m.push_nos, m.reference, m.body, m.created_at, m.deliver_at, m.expires_at,
           coalesce(m.deliver_at <= now(), true) AS is_due, t.delivered_at, t.read_at
      FROM message m
      LEFT JOIN LATERAL (SELECT original_id FROM contact
                          WHERE customer_id = $1::bigint AND contact_id = m.contact_id LIMIT 1) AS c ON true
      LEFT JOIN LATERAL (SELECT delivered_at, read_at FROM tracked_message
                          WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND message_no = m.message_no
                          LIMIT 1) AS t ON true
     WHERE m.customer_id = $1::bigint AND m.sendout_id = $2::bigint AND m.message_no = $3::int4
    """)

  /// The pushes `$3` of the stream `$2`.
  static let pushes = Statement(
    "message.pushes", .read,
    """
    SELECT push_no, device_id, contact_id, state, attempts, reason, resent_because, sent_at, settled_at,
           nullif(not_before, 'infinity') AS not_before, opened_at, delivery, delivery_reason, reported_at
      FROM push
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no = ANY ($3::int4[])
     ORDER BY push_no
     LIMIT \(Device.maximumOfContact)
    """)
}
