import Content
import Delivery
import FoundationEssentials
public import Postgres
import Registry
public import Wire

/// The store of triggers: named messages that back ends send to one contact at a time, through `MessageService`.
public struct Triggers: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Adds an active trigger. Its apps and its template must exist, and its texts must compile.
  /// - Throws: `SendoutError.invalid`, `.triggerNameTaken`; `RegistryError.appUnknown`;
  ///   `ContentError.invalid`, `.unparsable` with fields such as `message.alert`.
  public func add(_ customer: CustomerID, _ request: TriggerRequest) async throws -> TriggerReply {
    let trigger = try await checked(request, of: customer)
    return try await write(trigger) { message in
      try await database.query(
        TriggerQueries.add, customer.rawValue, trigger.name, trigger.description, trigger.appIds, message,
        trigger.template)
    }
  }

  /// Changes a trigger; `nil` leaves a field as it is, and "" removes description and template. The caller has to run it in a
  /// transaction, as it locks the trigger's row.
  /// - Throws: `SendoutError.triggerUnknown`; as `add`.
  public func change(
    _ customer: CustomerID, _ id: TriggerID, _ request: TriggerChangeRequest
  ) async throws -> (before: TriggerReply, after: TriggerReply) {
    guard let row = try await database.query(TriggerQueries.lock, customer.rawValue, id.rawValue).first else {
      throw SendoutError.triggerUnknown(id)
    }
    let before = try TriggerReply(row)
    let current = TriggerRequest(
      name: before.name, description: before.description, appIds: before.appIds, message: before.message,
      template: before.template)
    let namesApps = request.appId != nil || request.appIds != nil
    let trigger = try await checked(
      TriggerRequest(
        name: request.name ?? current.name, description: request.description ?? current.description,
        appId: request.appId, appIds: namesApps ? request.appIds : current.appIds,
        message: request.message ?? current.message, template: request.template ?? current.template), of: customer)
    let isActive = request.active ?? before.active
    guard trigger != current || isActive != before.active else { return (before, before) }
    let after = try await write(trigger) { message in
      try await database.query(
        TriggerQueries.change, customer.rawValue, id.rawValue, trigger.name, trigger.description, trigger.appIds,
        message, trigger.template, isActive)
    }
    return (before, after)
  }

  /// Every trigger of the customer, in the order of their numbers.
  public func all(_ customer: CustomerID) async throws -> [TriggerReply] {
    var all: [TriggerReply] = []
    try await forEach(customer) { all.append($0) }
    return all
  }

  /// Reads every trigger of the customer, in the order of their numbers, a page at a time.
  public func forEach(_ customer: CustomerID, _ body: (TriggerReply) async throws -> Void) async throws {
    var page = PageRequest<TriggerID>(limit: PageRequest<TriggerID>.limits.upperBound)
    repeat {
      let found = try await list(customer, page)
      for trigger in found.items { try await body(trigger) }
      page.after = found.next
    } while page.after != nil
  }

  /// Triggers in the order of their numbers. A page ends with 2 MiB of them: each message can have 64 KiB.
  public func list(
    _ customer: CustomerID, _ page: PageRequest<TriggerID>
  ) async throws -> Page<TriggerReply, TriggerID> {
    let rows = try await database.query(
      TriggerQueries.list, customer.rawValue, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { (try TriggerReply($0), try $0.isBeyondPage) }, cursor: \.triggerId)
  }

  /// - Throws: `SendoutError.triggerUnknown`.
  public func find(_ customer: CustomerID, _ id: TriggerID) async throws -> TriggerReply {
    guard let row = try await database.query(TriggerQueries.find, customer.rawValue, id.rawValue).first else {
      throw SendoutError.triggerUnknown(id)
    }
    return try TriggerReply(row)
  }

  /// The request with its apps in `appIds`, and without empty texts.
  private func checked(_ request: TriggerRequest, of customer: CustomerID) async throws -> TriggerRequest {
    var trigger = request
    trigger.appIds = try SendoutRules.appIDs(request.appId, request.appIds)
    trigger.appId = nil
    try SendoutRules.check("name", trigger.name, maximum: SendoutRules.longestName)
    if trigger.description?.isEmpty == true { trigger.description = nil }
    if let description = trigger.description {
      try SendoutRules.check("description", description, maximum: TriggerRequest.longestDescription)
    }
    if trigger.template?.isEmpty == true { trigger.template = nil }
    let message = try MessageTemplate(trigger.message)
    try SendoutRules.checkLink(message, beside: trigger.template)
    let apps = try await PushApps(database).resolveAll(customer, appIDs: trigger.appIds ?? [], type: nil)
    try message.checkForm(for: apps.map(\.type))
    _ = try await SendoutRules.currentTemplate(customer, trigger.template, in: database)
    return trigger
  }

  private func write(
    _ trigger: TriggerRequest, _ write: (JSONDocument) async throws -> Rows
  ) async throws -> TriggerReply {
    do {
      return try TriggerReply(try await write(JSONDocument(trigger.message.json))[0])
    } catch let error as PostgresError where error.constraint == "trigger_name_key" {
      throw SendoutError.triggerNameTaken(trigger.name)
    }
  }
}

/// Statements on `trigger`. `$1` is the customer; where one trigger is meant, `$2` is its number.
enum TriggerQueries {
  static let all: [Statement] = [add, change, lock, list, find]

  private static let columns =
    "trigger_id, name, description, app_ids, message, template_name, active, created_at, updated_at"

  static let add = Statement(
    "trigger.add", .write,
    """
    INSERT INTO trigger (customer_id, name, description, app_ids, message, template_name)
    VALUES ($1::bigint, $2::text, $3::text, $4::text[], $5::json, $6::text)
    RETURNING \(columns)
    """)

  static let change = Statement(
    "trigger.change", .write,
    """
    UPDATE trigger
       SET name = $3::text, description = $4::text, app_ids = $5::text[], message = $6::json, template_name = $7::text,
           active = $8::bool, updated_at = now()
     WHERE customer_id = $1::bigint AND trigger_id = $2::bigint
    RETURNING \(columns)
    """)

  /// Locks the trigger until the transaction ends.
  static let lock = Statement(
    "trigger.lock", .write,
    "SELECT \(columns) FROM trigger WHERE customer_id = $1::bigint AND trigger_id = $2::bigint FOR NO KEY UPDATE")

  /// From behind `$2`, at most `$3`.
  static let list = Statement(
    "trigger.list", .read,
    BoundedPage.rows(
      of: """
        SELECT \(columns) FROM trigger
         WHERE customer_id = $1::bigint AND trigger_id > $2::bigint
         ORDER BY trigger_id LIMIT $3::bigint
        """, size: "octet_length(message::text)", order: "trigger_id"))

  static let find = Statement(
    "trigger.find", .read, "SELECT \(columns) FROM trigger WHERE customer_id = $1::bigint AND trigger_id = $2::bigint")
}

extension TriggerReply {
  init(_ row: Row) throws {
    let (id, name, description, apps, message, template, isActive, createdAt, updatedAt) = try row.decode(
      Int64.self, String.self, String?.self, [String].self, JSONDocument.self, String?.self, Bool.self, Date.self,
      Date.self)
    self.init(
      triggerId: TriggerID(id), name: name, description: description, appIds: apps,
      message: try JSONCoding.decode(MessageBody.self, from: message.text.utf8, rules: .own), template: template,
      active: isActive, createdAt: Wire.Timestamp(createdAt), updatedAt: Wire.Timestamp(updatedAt))
  }
}
