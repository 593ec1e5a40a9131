public import Delivery
public import FoundationEssentials
public import Postgres
import Registry
public import Wire

/// What a phone says of messages that it got.
public struct MessageConfirmation: Sendable {
  /// Pushes and SMS. Some may be of another number, which are none of the phone's affair.
  public let updates: [UpdateID]
  public let status: HybridStatus
  /// When its user read them; nil if that is not said.
  public let readAt: Date?
}

/// The messages of a phone: those to its app and its number since it verified that, whether they came by push or by SMS.
public struct PhoneMessages: Sendable {
  /// Takes a confirmation of a phone of this app and number.
  public typealias Confirm =
    @Sendable (_ app: HybridApp, _ number: PhoneNumber, MessageConfirmation) async throws -> Void

  private let database: any Querying
  private let confirm: Confirm

  public init(_ pool: Pool, confirm: @escaping Confirm) {
    database = pool.limited(to: .seconds(4))
    self.confirm = confirm
  }

  /// - Returns: the messages in the order that was asked for, and how many the filter finds if that was.
  /// - Throws: `HybridError.deviceUnknown`, `.invalid`.
  public func list(
    _ app: HybridApp, _ device: UUID, _ query: ODataQuery
  ) async throws -> (messages: [PhoneMessageReply], count: Int64?) {
    do {
      let rows = try await database.run(PhoneMessageQueries.list(query), parameters(app, device, query))
      guard !rows.isEmpty else { throw HybridError.deviceUnknown }
      let messages = try rows.compactMap { try PhoneMessageReply($0) }
      guard query.wantsCount else { return (messages, nil) }
      let counted = try await database.run(PhoneMessageQueries.count(query), parameters(app, device, query))
      return (messages, try counted.first?.decode(Int64.self) ?? 0)
    } catch let error as PostgresError {
      // Class 22: a number that is too large, or a date that is not in PostgreSQL's calendar.
      guard case .server(let error) = error, error.sqlState.hasPrefix("22") else { throw error }
      throw HybridError.invalid(field: "$filter", problem: "has a value that cannot be computed with")
    }
  }

  private func parameters(_ app: HybridApp, _ device: UUID, _ query: ODataQuery) -> ParameterBuffer {
    var parameters = ParameterBuffer(
      app.customer.rawValue, device, app.appID, query.limit, query.offset, app.clockZone)
    for parameter in query.filter.parameters { parameters.append(parameter) }
    return parameters
  }

  /// Notes what a phone says of messages. What is not its own, or unknown, changes nothing.
  /// - Throws: `HybridError.deviceUnknown`, `.invalid`.
  public func update(_ app: HybridApp, _ device: UUID, _ body: MessageStatusBody) async throws {
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
      PhoneMessageQueries.phone, app.customer.rawValue, device, app.appID, moment?.sql,
      moment?.hasZone == true ? nil : app.clockZone)
    guard let row = rows.first else { throw HybridError.deviceUnknown }
    let (number, readAt) = try row.decode(String?.self, Date?.self)
    let updates = body.updateIDs.compactMap { UpdateID($0) }
    guard let number = number.flatMap({ PhoneNumber($0) }), !updates.isEmpty else { return }
    try await confirm(app, number, MessageConfirmation(updates: updates, status: status, readAt: readAt))
  }
}

/// Statements that read a phone's messages. `$1` is the customer, `$2` the registration and `$3` its app.
enum PhoneMessageQueries {
  /// The lists that have a filter are of one name: each text is a plan of its own.
  static let all: [Statement] = [sample.map(list), sample.map(count), phone].compactMap { $0 }

  /// One of every function and operator, so that tests prepare all SQL that a filter can become.
  private static let sample = try? ODataQuery([
    (
      "$filter",
      """
      (substringof('a',Body) or startswith(Sender,'b') and not endswith(trim(tolower(toupper(Body))),'c')) \
      and length(replace(concat(Body,Sender),'x','y')) add indexof(Body,'z') sub 1 gt -2 mul 3L div 4.5 mod 5 \
      and substring(substring(Body,1),1,2) ne null and DateTime gt datetime'2016-01-01T12:00' \
      and DateTime lt datetimeoffset'2036-01-01T12:00:00+01:00' and ID ne guid'00000000-0000-0000-0000-000000000000' \
      and year(DateTime) ge month(DateTime) add day(DateTime) add hour(DateTime) add minute(DateTime) \
      add second(DateTime) and round(1.5) eq floor(2.5) and ceiling(0.5) le 1 and UpdateID ne Status and Recipient ge ''
      """
    ), ("$orderby", "UpdateID desc"),
  ])

  /// The number of a filter's first parameter. The one before is the phones' clock zone.
  static let firstOfFilter = 7
  /// Of the columns `v`.
  static let updateID = "(v.sendout_id::numeric * 10000000000 + v.push_nos[1])::text"

  /// The phone's messages as `v`. Moments are cut to milliseconds, as replies show them.
  private static let messages = """
    SELECT h.message_guid, h.sendout_id, h.message_no, '00' || h.number AS recipient, h.sender, h.body,
           date_trunc('milliseconds', h.created_at) AS moment, h.status, h.push_nos
    FROM hybrid_message h
    WHERE h.customer_id = $1::bigint AND h.number = r.number AND h.app_id = $3::text AND h.created_at >= r.verified_at
    """
  private static let registration =
    "r.customer_id = $1::bigint AND r.registration_id = $2::uuid AND r.app_id = $3::text"

  /// One row without a message if there is none; no row if there is no such phone. `$4` and `$5` are the limit and what is skipped,
  /// `$6` is the clock zone.
  static func list(_ query: ODataQuery) -> Statement {
    Statement(
      "phone_message.list", .read,
      """
      SELECT v.message_guid, v.sendout_id, v.push_nos, v.recipient, v.sender, v.body, v.moment, v.status
      FROM hybrid_registration r
      LEFT JOIN LATERAL (
        SELECT * FROM (\(messages)) AS v WHERE \(query.filter.sql) AND $6::text IS NOT NULL
        ORDER BY \(query.order) LIMIT $4::bigint OFFSET $5::bigint
      ) AS v ON true
      WHERE \(registration)
      ORDER BY \(query.order)
      """)
  }

  /// How many messages the filter finds.
  static func count(_ query: ODataQuery) -> Statement {
    Statement(
      "phone_message.count", .read,
      """
      SELECT v.count FROM hybrid_registration r
      LEFT JOIN LATERAL (
        SELECT count(*) FROM (\(messages)) AS v
        WHERE \(query.filter.sql) AND $4::bigint IS NOT NULL AND $5::bigint IS NOT NULL AND $6::text IS NOT NULL
      ) AS v ON true
      WHERE \(registration)
      """)
  }

  /// The phone's number if it is verified, and the moment `$4`, which is in the clock zone `$5`, or says its own if that is NULL.
  static let phone = Statement(
    "phone_message.phone", .read,
    """
    SELECT CASE WHEN r.status = 'PinVerified' THEN r.number END,
           CASE WHEN $5::text IS NULL THEN $4::text::timestamptz ELSE $4::text::timestamp AT TIME ZONE $5::text END
    FROM hybrid_registration r WHERE \(registration)
    """)
}

extension PhoneMessageReply {
  /// - Returns: nil for a row without a message.
  fileprivate init?(_ row: Row) throws {
    guard let id = try row.column(0, as: UUID?.self) else { return nil }
    let sendout = SendoutID(try row.column(1))
    let pushes: [Int32] = try row.column(2)
    self.init(
      id: id.text, updateIDs: pushes.map { UpdateID(sendout, PushNumber(Int64($0))).description },
      recipient: try row.column(3), sender: try row.column(4), body: try row.column(5),
      dateTime: Timestamp(try row.column(6)), status: try row.column(7))
  }
}
