import FoundationEssentials
public import Outbox
public import Postgres
public import Providers
import Wire

/// Tells customers what became of their messages.
///
/// Each status is posted to the address of its app, in the form of CM's status reports, until the answer is 200 to 299 or the outbox gives it
/// up. Delivery writes reports into the outbox together with the statuses. A message's app is the receiver, the message is the item and the
/// status is the event.
public struct StatusReports: OutboxKind {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  public let name = Self.kind

  private static let kind = "message_status"

  static func lane(_ customer: CustomerID, _ appID: String) -> PostQueue.Lane {
    PostQueue.Lane(customer: customer, kind: kind, receiver: appID)
  }

  public func due() async throws -> [PostQueue.Lane] {
    try await database.query(StatusReportQueries.due).map { row in
      let (customer, appID) = try row.decode(Int64.self, String.self)
      return Self.lane(CustomerID(customer), appID)
    }
  }

  public func posts(of entries: [PostQueue.Entry], to lane: PostQueue.Lane) async throws -> [JSONPost?] {
    var posts = [JSONPost?](repeating: nil, count: entries.count)
    let rows = try await database.query(
      StatusReportQueries.contents, lane.customer.rawValue, lane.receiver, entries.map(\.sendout), entries.map(\.item),
      entries.map(\.event))
    for row in rows {
      let (place, url, number, reference, reason) = try row.decode(
        Int64.self, String.self, String.self, String?.self, String?.self)
      guard let number = PhoneNumber(number) else { continue }
      let entry = entries[Int(place) - 1]
      posts[Int(place) - 1] = JSONPost(
        to: url,
        Self.json(status: entry.event, at: entry.at, number: number, reference: reference, reason: reason))
    }
    return posts
  }

  /// CM's status report. Reasons of providers begin with their code, as in `23 bad number`.
  /// - Parameter reason: why it was not delivered, as the provider or push service said; nil if that is not known.
  static func json(status: String, at moment: Date, number: PhoneNumber, reference: String?, reason: String?) -> [UInt8]
  {
    let reason = reason ?? ""
    let digits = reason.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let hasCode = !digits.isEmpty && [nil, UInt8(ascii: " ")].contains(reason.utf8.dropFirst(digits.count).first)
    let code = hasCode ? String(decoding: digits, as: UTF8.self) : ""
    let description = hasCode ? String(decoding: reason.utf8.dropFirst(digits.count + 1), as: UTF8.self) : reason
    let value: JSONValue = [
      "messages": [
        "msg": [
          "received": .string(moment.formatted(.iso8601)), "to": .string(number.international),
          "reference": .string(reference ?? ""),
          "status": [
            "code": .string("\(Self.code(of: status))"), "errorCode": .string(code),
            "errorDescription": .string(description.isEmpty ? status : description),
          ], "operator": "",
        ]
      ]
    ]
    return Array(value.json)
  }

  /// 0 accepted, 1 rejected, 2 delivered, 3 failed, 4 read. A withdrawn message failed.
  private static func code(of status: String) -> Int {
    ["Accepted": 0, "Rejected": 1, "Delivered": 2, "Read": 4][status] ?? 3
  }
}

/// What is read of status reports that are due.
enum StatusReportQueries {
  static let all: [Statement] = [due, contents, failing]

  /// Apps of all customers that have an address and reports that are due.
  static let due = Statement(
    "hybrid.due_reports", .read,
    """
    SELECT a.customer_id, a.app_id
      FROM hybrid_app a
     CROSS JOIN LATERAL (SELECT FROM outbox o
                          WHERE o.customer_id = a.customer_id AND o.kind = 'message_status' AND o.receiver = a.app_id
                            AND o.not_before <= now()
                          LIMIT 1) AS due
     WHERE a.status_url IS NOT NULL
    """)

  /// Apps whose address has not taken a report in three attempts: how many of the first \(failingLooked) that wait are so, and since when.
  static let failing = Statement(
    "hybrid.failing_reports", .read,
    """
    SELECT a.app_id, o.waiting, o.since
      FROM hybrid_app a
     CROSS JOIN LATERAL (SELECT count(*) AS waiting, min(created_at) AS since
                           FROM (SELECT created_at, attempts FROM outbox
                                  WHERE customer_id = $1::bigint AND kind = 'message_status' AND receiver = a.app_id
                                  ORDER BY not_before LIMIT \(failingLooked)) AS first
                          WHERE attempts >= 3) AS o
     WHERE a.customer_id = $1::bigint AND a.status_url IS NOT NULL AND o.waiting > 0
     ORDER BY a.app_id
    """)

  private static let failingLooked = 1000

  /// Where the statuses `$5` of the messages `$4` of the streams `$3` go, and what they say, if the app `$2` has an address. The last column
  /// says why a message was not delivered: by its SMS, or without one by its first push.
  static let contents = Statement(
    "hybrid.reports", .read,
    """
    SELECT r.place, a.status_url, h.recipient, h.reference, p.reason
      FROM unnest($3::bigint[], $4::int4[], $5::text[]) WITH ORDINALITY AS r (sendout_id, message_no, status, place)
      JOIN hybrid_app a ON a.customer_id = $1::bigint AND a.app_id = $2::text AND a.status_url IS NOT NULL
     CROSS JOIN LATERAL (SELECT recipient, reference, coalesce(fallback_no, push_nos[1]) AS push_no FROM tracked_message
                          WHERE customer_id = $1::bigint AND sendout_id = r.sendout_id AND message_no = r.message_no
                         OFFSET 0) AS h
      LEFT JOIN LATERAL (SELECT coalesce(push.delivery_reason, push.reason) AS reason FROM push
                          WHERE push.customer_id = $1::bigint AND push.sendout_id = r.sendout_id
                            AND push.push_no = h.push_no AND r.status IN ('Rejected', 'Failed')
                         OFFSET 0) AS p ON true
    """)
}
