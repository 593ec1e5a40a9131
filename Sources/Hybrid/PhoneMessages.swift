public import Delivery
public import FoundationEssentials
public import Postgres
import Registry
public import Wire

/// What a phone says of messages that it got.
public struct MessageConfirmation: Sendable {
  /// Pushes and SMS. Those of another number are ignored.
  public let updates: [UpdateID]
  public let status: HybridStatus
  /// When its user read them; nil if that is not said.
  public let readAt: Date?
}

/// The messages of a phone: those to its app and its number since it verified that, whether they came by push or by SMS.
public struct PhoneMessages: Sendable {
  /// Takes a confirmation of a phone of this app and number, as `HybridMessages.confirm` does. It is a closure, since `HybridMessages` needs all
  /// that sends messages, and reading them needs the database alone.
  public typealias Confirm =
    @Sendable (_ app: HybridApp, _ number: PhoneNumber, MessageConfirmation) async throws -> Void

  private let database: any Querying
  private let confirm: Confirm
  /// Lets one request of each phone at a time filter or order.
  private let turns = KeyedSemaphore<PhoneID>(1)

  /// - Parameter timeLimit: when a read ends at the latest.
  public init(_ pool: Pool, timeLimit: Duration = .seconds(4), confirm: @escaping Confirm) {
    database = pool.limited(to: timeLimit)
    self.confirm = confirm
  }

  /// Filters and orders choose among the newest messages (`ODataQuery.mostConsidered`), here, and in a limited number of steps.
  /// - Returns: the messages in the order that was asked for, and how many the filter finds if that was.
  /// - Throws: `HybridError.deviceUnknown`, `.invalid`.
  public func list(
    _ app: HybridApp, _ device: PhoneID, _ query: ODataQuery
  ) async throws -> (messages: [PhoneMessageReply], count: Int64?) {
    if query.filter.condition == nil, query.order.isEmpty {
      let (messages, _) = try await read(app, device, query, limit: query.limit, offset: query.offset)
      guard query.wantsCount else { return (messages.map(\.reply), nil) }
      let counted = try await database.query(
        PhoneMessageQueries.count, app.customer.rawValue, Bytes(device.hash), app.appID)
      return (messages.map(\.reply), try counted.first?.decode(Int64.self) ?? 0)
    }
    return try await turns.withPermit(device) {
      let found = try await chosen(app, device, query)
      return (
        found.dropFirst(query.offset).prefix(query.limit).map(\.reply), query.wantsCount ? Int64(found.count) : nil
      )
    }
  }

  /// What the filter finds, in the order that was asked for. Without an order and a count only as many are looked at as it takes.
  private func chosen(_ app: HybridApp, _ device: PhoneID, _ query: ODataQuery) async throws -> [PhoneMessage] {
    let most = ODataQuery.mostConsidered
    let wanted = query.order.isEmpty && !query.wantsCount ? min(query.offset + query.limit, most) : most
    var (messages, moments) = try await read(app, device, query, limit: wanted, offset: 0)
    var evaluation = ODataEvaluation(moments: moments)
    var found = try Self.found(query, messages, &evaluation)
    if wanted < most, messages.count == wanted, found.count < wanted {
      (messages, _) = try await read(app, device, query, limit: most, offset: 0)
      found = try Self.found(query, messages, &evaluation)
    }
    return query.order.isEmpty ? found : PhoneMessage.sorted(found, by: query.order)
  }

  private static func found(
    _ query: ODataQuery, _ messages: [PhoneMessage], _ evaluation: inout ODataEvaluation
  ) throws -> [PhoneMessage] {
    guard let condition = query.filter.condition else { return messages }
    do {
      return try messages.filter { try evaluation.finds(condition, $0) }
    } catch ODataFailure.tooMuchWork {
      throw HybridError.invalid(
        field: "$filter", problem: "takes too much work: use fewer functions, or name a DateTime after which to look")
    } catch ODataFailure.tooLarge {
      throw HybridError.invalid(field: "$filter", problem: "has a value that cannot be computed with")
    }
  }

  /// Reads messages, the newest first, and the moments of the filter.
  /// - Throws: `HybridError.deviceUnknown`.
  private func read(
    _ app: HybridApp, _ device: PhoneID, _ query: ODataQuery, limit: Int, offset: Int
  ) async throws -> ([PhoneMessage], [PostgresTimestamp]) {
    let moments = query.filter.moments
    let bounds = query.filter.condition?.bounds
    let (lower, upper) = (bounds?.lower.map { moments[$0] }, bounds?.upper.map { moments[$0] })
    let rows = try await database.query(
      PhoneMessageQueries.list, app.customer.rawValue, Bytes(device.hash), app.appID, Int64(limit), Int64(offset),
      app.clockZone,
      moments.map(\.sql), moments.map(\.hasZone), lower?.sql, lower?.hasZone, upper?.sql, upper?.hasZone)
    guard !rows.isEmpty else { throw HybridError.deviceUnknown }
    return (try rows.compactMap { try PhoneMessage($0) }, try rows[0].column(9, as: [PostgresTimestamp]?.self) ?? [])
  }

  /// Notes what a phone says of messages. What is not its own, or unknown, changes nothing.
  /// - Throws: `HybridError.deviceUnknown`, `.invalid`.
  public func update(_ app: HybridApp, _ device: PhoneID, _ body: MessageStatusBody) async throws {
    guard !body.updateIDs.isEmpty else { throw HybridError.invalid(field: "UpdateID", problem: "is missing") }
    guard let status = body.status.flatMap({ HybridStatus(rawValue: $0) }) else {
      throw HybridError.invalid(
        field: "Status",
        problem: "must be one of " + HybridStatus.allCases.map(\.rawValue).joined(separator: ", "))
    }
    let moment = try body.readByRecipient.map { text in
      guard let moment = PhoneMoment(text) else {
        throw HybridError.invalid(field: "ReadByRecipient", problem: "must be a moment such as 2016-05-22T23:41:28.563")
      }
      return moment
    }
    let rows = try await database.query(
      PhoneMessageQueries.phone, app.customer.rawValue, Bytes(device.hash), app.appID, moment?.sql,
      moment?.hasZone == true ? nil : app.clockZone)
    guard let row = rows.first else { throw HybridError.deviceUnknown }
    let (number, readAt) = try row.decode(String?.self, Date?.self)
    let updates = body.updateIDs.compactMap { UpdateID($0) }
    guard let number = number.flatMap({ PhoneNumber($0) }), !updates.isEmpty else { return }
    try await confirm(app, number, MessageConfirmation(updates: updates, status: status, readAt: readAt))
  }
}

/// Statements that read a phone's messages. `$1` is the customer, `$2` the hash of the phone's id and `$3` its app.
enum PhoneMessageQueries {
  static let all: [Statement] = [list, count, phone]

  private static let messages = """
    tracked_message h
    WHERE h.customer_id = $1::bigint AND h.recipient = r.number AND h.app_id = $3::text AND h.created_at >= r.verified_at
    """
  private static let registration =
    "r.customer_id = $1::bigint AND r.device_hash = $2::bytea AND r.app_id = $3::text"

  /// A moment as a phone writes it, in a clock zone unless it names its own. NULL for none. UTC where this server's tzdata does not have
  /// a zone that the hub's does.
  private static func moment(_ text: String, hasZone: String, zone: String) -> String {
    "CASE WHEN \(hasZone) THEN \(text)::timestamptz ELSE \(text)::timestamp AT TIME ZONE zone_or(\(zone), 'UTC') END"
  }

  /// The newest messages; one row without a message if there is none; no row if there is no such phone. `$4` and `$5` are the limit and
  /// what is skipped, `$6` is the clock zone. `$9` with `$10` and `$11` with `$12` are bounds of their moments. The rows have the
  /// moments `$7` with `$8`, too. Moments are cut to milliseconds, as replies show them.
  static let list = Statement(
    "phone_message.list", .read,
    """
    SELECT v.message_guid, v.sendout_id, v.message_no, v.push_nos, v.recipient, v.sender, v.body, v.moment, v.status,
           (SELECT array_agg(\(moment("literal.moment", hasZone: "literal.has_zone", zone: "$6::text")) ORDER BY literal.number)
              FROM unnest($7::text[], $8::bool[]) WITH ORDINALITY AS literal (moment, has_zone, number))
    FROM hybrid_registration r
    LEFT JOIN LATERAL (
      SELECT h.message_guid, h.sendout_id, h.message_no, '00' || h.recipient AS recipient, h.sender, h.body, h.created_at,
             date_trunc('milliseconds', h.created_at) AS moment, h.status, h.push_nos
      FROM \(messages)
        AND h.created_at >= coalesce(\(moment("$9::text", hasZone: "$10::bool", zone: "$6::text")), '-infinity')
        AND h.created_at < coalesce(
              \(moment("$11::text", hasZone: "$12::bool", zone: "$6::text")) + interval '1 millisecond', 'infinity')
      ORDER BY h.created_at DESC, h.sendout_id DESC, h.message_no DESC LIMIT $4::bigint OFFSET $5::bigint
    ) AS v ON true
    WHERE \(registration)
    ORDER BY v.created_at DESC, v.sendout_id DESC, v.message_no DESC
    """)

  /// How many messages there are.
  static let count = Statement(
    "phone_message.count", .read,
    """
    SELECT v.count FROM hybrid_registration r
    LEFT JOIN LATERAL (SELECT count(*) FROM \(messages)) AS v ON true
    WHERE \(registration)
    """)

  /// The phone's number if it is verified, and the moment `$4`, which is in the clock zone `$5`, or says its own if that is NULL.
  static let phone = Statement(
    "phone_message.phone", .read,
    """
    SELECT CASE WHEN r.status = 'PinVerified' THEN r.number END,
           \(moment("$4::text", hasZone: "$5::text IS NULL", zone: "$5::text"))
    FROM hybrid_registration r WHERE \(registration)
    """)
}

/// A message of a phone as filters and orders see it.
struct PhoneMessage: Sendable {
  let reply: PhoneMessageReply
  /// Microseconds since 2000, in whole milliseconds.
  let moment: Int64
  let sendout: SendoutID
  let number: Int32

  /// - Returns: nil for `DateTime`, and for the `UpdateID` of a message without pushes.
  func text(of property: PhoneMessageReply.Member) -> [UInt8]? {
    switch property {
    case .id: Array(reply.id.utf8)
    case .updateID: reply.updateIDs.first.map { Array($0.utf8) }
    case .recipient: Array(reply.recipient.utf8)
    case .sender: Array(reply.sender.utf8)
    case .body: Array(reply.body.utf8)
    case .status: Array(reply.status.utf8)
    case .dateTime, .updateIDs: nil
    }
  }

  /// Texts in the order of their bytes; what has no value comes last, and first where the order is descending.
  static func sorted(_ messages: [PhoneMessage], by order: [ODataQuery.Order]) -> [PhoneMessage] {
    struct Entry {
      let message: PhoneMessage
      let texts: [[UInt8]?]
    }
    let entries = messages.map { message in
      Entry(message: message, texts: order.map { message.text(of: $0.property) })
    }
    return entries.sorted { left, right in
      for (index, order) in order.enumerated() {
        if order.property == .dateTime {
          guard left.message.moment != right.message.moment else { continue }
          return (left.message.moment < right.message.moment) != order.isDescending
        }
        guard left.texts[index] != right.texts[index] else { continue }
        guard let one = left.texts[index], let other = right.texts[index] else {
          return (right.texts[index] == nil) != order.isDescending
        }
        return one.lexicographicallyPrecedes(other) != order.isDescending
      }
      return (left.message.sendout.rawValue, left.message.number) < (
        right.message.sendout.rawValue, right.message.number
      )
    }.map(\.message)
  }
}

extension PhoneMessage {
  /// - Returns: nil for a row without a message.
  init?(_ row: Row) throws {
    guard let id = try row.column(0, as: UUID?.self) else { return nil }
    let sendout = SendoutID(try row.column(1))
    let pushes: [Int32] = try row.column(3)
    let reply = PhoneMessageReply(
      id: id.text, updateIDs: pushes.map { UpdateID(sendout, PushNumber(Int64($0))).description },
      recipient: try row.column(4), sender: try row.column(5), body: try row.column(6),
      dateTime: Timestamp(try row.column(7)), status: try row.column(8))
    self.init(
      reply: reply, moment: try row.column(7, as: PostgresTimestamp.self).microseconds, sendout: sendout,
      number: try row.column(2))
  }
}
