package import FoundationEssentials
public import Postgres
public import Wire

/// The store of suppressions: who gets no marketing, or nothing at all.
///
/// A suppression names an original id, a number or a token by a keyed hash. It needs no contact or device of that name, and stays when that is
/// removed. The statement that reads the recipients of pushes looks it up (`SuppressionSQL`).
public struct Suppressions: Sendable {
  private let database: any Querying
  private let key: SuppressionKey

  public init(_ database: any Querying, key: SuppressionKey) {
    self.database = database
    self.key = key
  }

  /// Reads what a request names: an original id, a number, or a token of an app.
  /// - Throws: `RegistryError.invalid`, `.appUnknown`, `.appAmbiguous`.
  package func suppressed(_ customer: CustomerID, _ request: SuppressionRequest) async throws -> Suppressed {
    let given = [request.originalId != nil, request.number != nil, request.deviceToken != nil].count { $0 }
    guard given == 1 else {
      throw RegistryError.invalid(
        field: "originalId",
        problem: given == 0
          ? "is missing: give originalId, number, or deviceToken with appId"
          : "is not alone: give one of originalId, number, and deviceToken with appId")
    }
    guard let token = request.deviceToken?.text else {
      guard request.appId == nil, request.appType == nil else {
        throw RegistryError.invalid(field: "appId", problem: "is there without deviceToken, whose app it is")
      }
      if let text = request.number {
        guard let number = PhoneNumber(text) else {
          throw RegistryError.invalid(field: "number", problem: "is no telephone number \(PhoneNumber.form)")
        }
        return .number(number)
      }
      return .contact(originalID: try Registration.originalID(request.originalId))
    }
    guard let appID = request.appId else {
      throw RegistryError.invalid(field: "appId", problem: "is missing: it says whose deviceToken it is")
    }
    let app = try await PushApps(database).resolve(customer, appID: appID, type: request.appType)
    return .device(app.id, try DeviceToken(token, type: app.type, field: "deviceToken"))
  }

  /// Adds a suppression. One that is in force ends no earlier than it did. What the customer wants too, the person cannot lift on the page.
  /// - Parameters:
  ///   - until: when it ends; `nil` for never.
  ///   - byPage: whether the person asked for it on the page of an `unsubscribeUrl`.
  /// - Returns: the suppression, and before it the one that was in force; `nil` if there was none.
  package func add(
    _ customer: CustomerID, _ suppressed: Suppressed, _ scope: SuppressionScope, reason: String? = nil,
    until: Date? = nil, byPage: Bool = false
  ) async throws -> (before: SuppressionReply?, after: SuppressionReply) {
    let hash = Bytes(key.hash(suppressed, of: customer))
    try await database.query(SuppressionQueries.removeEnded, customer.rawValue, hash)
    let before = try await find(customer, [suppressed]).first { $0.scope == scope }
    let rows = try await database.mapViolations(["suppression_customer_id_fkey": .customerUnknown(customer)]) {
      try await $0.query(
        SuppressionQueries.add, customer.rawValue, suppressed.kind.rawValue, hash, scope.rawValue, byPage, reason,
        until, before == nil, suppressed.originalID, suppressed.device.map { Bytes($0.token.key) },
        suppressed.device?.app.rawValue)
    }
    return (before, try rows[0].reply())
  }

  /// Suppressions in force, by number.
  package func list(
    _ customer: CustomerID, _ page: PageRequest<SuppressionID>
  ) async throws -> Page<SuppressionReply, SuppressionID> {
    let rows = try await database.query(
      SuppressionQueries.list, customer.rawValue, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { try $0.reply() }, cursor: \.suppressionId)
  }

  /// The suppressions in force that name one of these.
  package func find(_ customer: CustomerID, _ suppressed: [Suppressed]) async throws -> [SuppressionReply] {
    try await database.query(
      SuppressionQueries.find, customer.rawValue, suppressed.map { Bytes(key.hash($0, of: customer)) }
    ).map { try $0.reply() }
  }

  /// Lifts the suppression of this number.
  /// - Returns: the suppression as it was.
  /// - Throws: `RegistryError.numberUnknown`.
  package func remove(_ customer: CustomerID, _ number: SuppressionID) async throws -> SuppressionReply {
    let rows = try await database.query(SuppressionQueries.remove, customer.rawValue, number.rawValue)
    guard let row = rows.first else { throw RegistryError.numberUnknown("suppression") }
    return try row.reply()
  }

  /// Lifts the suppressions that name this.
  /// - Parameters:
  ///   - scope: `nil` for both.
  ///   - byPage: whether only what the person made on the page of an `unsubscribeUrl`.
  /// - Returns: the suppressions as they were.
  package func lift(
    _ customer: CustomerID, _ suppressed: Suppressed, _ scope: SuppressionScope?, byPage: Bool = false
  ) async throws -> [SuppressionReply] {
    try await database.query(
      SuppressionQueries.lift, customer.rawValue, Bytes(key.hash(suppressed, of: customer)), scope?.rawValue, byPage
    ).map { try $0.reply() }
  }

  /// The indices of those tokens of an app to which nothing is sent at all, whether they are devices or not.
  package func stopped(_ customer: CustomerID, _ app: PushAppID, _ tokens: [DeviceToken]) async throws -> Set<Int> {
    guard !tokens.isEmpty else { return [] }
    return Set(
      try await database.query(
        SuppressionQueries.stopped, customer.rawValue, tokens.map { Bytes($0.key) }, app.rawValue, key.inner, key.outer
      ).map { try $0.decode(Int.self) })
  }

  /// Deletes a customer's suppressions that have ended.
  public static func forgetEnded(_ customer: CustomerID, in database: any Querying) async throws {
    try await database.deleteInPortions(SuppressionQueries.forgetEnded, customer.rawValue)
  }
}

// MARK: - The page of an unsubscribeUrl

extension Suppressions {
  /// What the page of an `unsubscribeUrl` shows.
  public enum Subscription: Sendable, Equatable {
    /// The contact gets marketing.
    case subscribed
    /// It gets none.
    /// - canReturn: whether it ended that itself on the page, and nobody else did.
    case unsubscribed(canReturn: Bool)
    /// There is no such contact any more.
    case gone
  }

  /// The reason of what people suppress on the page.
  package static let pageReason = "unsubscribed"

  /// Whether the contact gets marketing.
  public func subscription(of contact: ContactID, _ customer: CustomerID) async throws -> Subscription {
    guard let originalID = try await originalID(of: contact, customer) else { return .gone }
    let found = try await find(customer, Self.concerning(originalID))
    guard !found.isEmpty else { return .subscribed }
    return .unsubscribed(canReturn: found.allSatisfy { $0.byPage && $0.scope == .marketing })
  }

  /// Ends marketing for the contact, or begins it again if it was ended here.
  /// - Returns: what the contact gets from now on.
  public func change(
    _ contact: ContactID, _ customer: CustomerID, isSubscribed: Bool
  ) async throws -> Subscription {
    guard let originalID = try await originalID(of: contact, customer) else { return .gone }
    if isSubscribed {
      _ = try await lift(customer, .contact(originalID: originalID), .marketing, byPage: true)
    } else {
      _ = try await add(
        customer, .contact(originalID: originalID), .marketing, reason: Self.pageReason, byPage: true)
    }
    return try await subscription(of: contact, customer)
  }

  private func originalID(of contact: ContactID, _ customer: CustomerID) async throws -> String? {
    try await database.query(SuppressionQueries.originalID, customer.rawValue, contact.rawValue).first?.decode(
      String.self)
  }

  /// All suppressions that may stop a contact on all its devices.
  package static func concerning(_ originalID: String) -> [Suppressed] {
    let number = PhoneNumber(originalID).flatMap { $0.international.utf8.elementsEqual(originalID.utf8) ? $0 : nil }
    return [.contact(originalID: originalID)] + (number.map { [.number($0)] } ?? [])
  }
}

/// Statements on `suppression`. `$1` is the customer.
package enum SuppressionQueries {
  static let all: [Statement] = [add, removeEnded, list, find, remove, lift, stopped, originalID, forgetEnded]

  private static let columns = "suppression_id, kind, scope, by_page, reason, at, until"

  /// Merges into a suppression that is there already, behind `INSERT INTO suppression AS s`: it ends no earlier than it did, and the page of an
  /// `unsubscribeUrl` changes nothing of what the customer wants.
  package static let merging = """
    ON CONFLICT (customer_id, kind, hash, scope) DO UPDATE
       SET by_page = s.by_page AND excluded.by_page,
           reason = CASE WHEN excluded.by_page THEN s.reason ELSE coalesce(excluded.reason, s.reason) END,
           until = CASE WHEN s.until IS NULL OR excluded.until IS NULL THEN NULL ELSE greatest(s.until, excluded.until) END
    """

  /// Adds one. `$8` says whether none was in force, so that it is told: of the contact whose original id is `$9`, or that has the token of the
  /// key `$10` in the app `$11`; NULL for what it does not name.
  static let add = Statement(
    "suppression.add", .write,
    """
    WITH added AS (
      INSERT INTO suppression AS s (customer_id, kind, hash, scope, by_page, reason, until)
      VALUES ($1::bigint, $2::text, $3::bytea, $4::text, $5::bool, $6::text, $7::timestamptz)
      \(merging)
      RETURNING \(columns)),
    told AS (\(EventSQL.note(.contactSuppressed, of: "added", where: "$8::bool", contact: contact, subject: "suppression_id", reason: "scope")))
    SELECT \(columns) FROM added
    """)

  private static let contact = """
    coalesce((SELECT contact_id FROM contact WHERE customer_id = $1::bigint AND original_id = $9::text),
                              (SELECT contact_id FROM device
                                WHERE customer_id = $1::bigint AND push_app_id = $11::bigint AND token_key = $10::bytea))
    """

  /// Deletes the ended suppressions of the hash `$2`, so that an added one is not merged into them.
  static let removeEnded = Statement(
    "suppression.remove_ended", .write,
    "DELETE FROM suppression WHERE customer_id = $1::bigint AND hash = $2::bytea AND until <= now()")

  static let list = Statement(
    "suppression.list", .read,
    """
    SELECT \(columns) FROM suppression
     WHERE customer_id = $1::bigint AND suppression_id > $2::bigint AND \(SuppressionSQL.isInForce)
     ORDER BY suppression_id
     LIMIT $3::bigint
    """)

  static let find = Statement(
    "suppression.find", .read,
    """
    SELECT \(columns) FROM suppression
     WHERE customer_id = $1::bigint AND hash = ANY ($2::bytea[]) AND \(SuppressionSQL.isInForce)
     ORDER BY suppression_id
    """)

  static let remove = Statement(
    "suppression.remove", .write,
    """
    DELETE FROM suppression WHERE customer_id = $1::bigint AND suppression_id = $2::bigint
    RETURNING \(columns)
    """)

  /// Removes those of the hash `$2`, of the scope `$3` unless that is NULL, and with `$4` only what was made on the page.
  static let lift = Statement(
    "suppression.lift", .write,
    """
    DELETE FROM suppression
     WHERE customer_id = $1::bigint AND hash = $2::bytea AND ($3::text IS NULL OR scope = $3::text) AND (by_page OR NOT $4::bool)
    RETURNING \(columns)
    """)

  /// The places, from 0, of those of the token keys `$2` of the app `$3` to which nothing goes. `$4` and `$5` are the pads of the key.
  static let stopped = Statement(
    "suppression.stopped", .read,
    """
    SELECT t.place - 1
      FROM unnest($2::bytea[]) WITH ORDINALITY AS t (token_key, place)
     WHERE \(SuppressionSQL.scope(ofToken: "t.token_key", app: "$3::bigint", key: 4)) = 'all'
        OR (SELECT \(SuppressionSQL.scope(ofDevice: "device", key: 4)) FROM device
             WHERE device.customer_id = $1::bigint AND device.push_app_id = $3::bigint AND device.token_key = t.token_key
             LIMIT 1) = 'all'
    """)

  static let originalID = Statement(
    "suppression.original_id", .read,
    "SELECT original_id FROM contact WHERE customer_id = $1::bigint AND contact_id = $2::bigint")

  static let forgetEnded = Statement(
    "suppression.forget_ended", .write, Portions.delete(from: "suppression", by: "until", before: "now()"))
}
