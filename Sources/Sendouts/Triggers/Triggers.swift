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
    let trigger = try request.applied(to: TriggerRequest())
    return try await write(trigger, of: customer) { apps, message in
      try await database.query(
        TriggerQueries.add, customer.rawValue, trigger.name, trigger.description, apps, message, trigger.template)
    }
  }

  /// Changes a trigger; `nil` leaves a field as it is, and "" removes description and template. The caller has to run it in a
  /// transaction, as it locks the trigger's row.
  /// - Throws: `SendoutError.triggerUnknown`; as `add`.
  public func change(
    _ customer: CustomerID, _ id: TriggerID, _ request: TriggerRequest
  ) async throws -> (before: TriggerReply, after: TriggerReply) {
    let before = try await row(TriggerQueries.lock, customer, id)
    var trigger = try request.applied(to: before)
    if request.appId != nil, request.appIds == nil { trigger.appIds = nil }
    guard try trigger != TriggerRequest().applied(to: before) else { return (before, before) }
    let after = try await write(trigger, of: customer) { [trigger] apps, message in
      try await database.query(
        TriggerQueries.change, customer.rawValue, id.rawValue, trigger.name, trigger.description, apps, message,
        trigger.template, trigger.active)
    }
    return (before, after)
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
    return page.page(of: try rows.map { (try $0.reply(TriggerReply.self), try $0.isBeyondPage) }, cursor: \.triggerId)
  }

  /// - Throws: `SendoutError.triggerUnknown`.
  public func find(_ customer: CustomerID, _ id: TriggerID) async throws -> TriggerReply {
    try await row(TriggerQueries.find, customer, id)
  }

  private func row(_ statement: Statement, _ customer: CustomerID, _ id: TriggerID) async throws -> TriggerReply {
    guard let row = try await database.query(statement, customer.rawValue, id.rawValue).first else {
      throw SendoutError.triggerUnknown(id)
    }
    return try row.reply()
  }

  /// Checks a trigger and writes it.
  /// - Parameter write: takes the ids of its apps, each once, and its message.
  private func write(
    _ trigger: TriggerRequest, of customer: CustomerID, _ write: ([String], JSONDocument) async throws -> Rows
  ) async throws -> TriggerReply {
    let (name, body) = (trigger.name ?? "", trigger.message ?? MessageBody())
    for (field, text) in [("name", name), ("description", trigger.description)] {
      if let text { try SendoutRules.check(field, text, maximum: TriggerRequest.fieldTable.maximum(of: field)) }
    }
    let appIDs = try SendoutRules.appIDs(trigger.appId, trigger.appIds)
    let message = try MessageTemplate(body)
    try SendoutRules.checkLink(message, beside: trigger.template)
    let apps = try await PushApps(database).resolveAll(customer, appIDs: appIDs, type: nil)
    try message.checkForm(for: apps.map(\.type))
    _ = try await SendoutRules.currentTemplate(customer, trigger.template, in: database)
    do {
      return try await write(appIDs, JSONDocument(body.json))[0].reply()
    } catch let error as PostgresError where error.constraint == "trigger_name_key" {
      throw SendoutError.triggerNameTaken(name)
    }
  }
}

/// Statements on `trigger`. `$1` is the customer; where one trigger is meant, `$2` is its number. Columns have the names of the reply's
/// fields.
enum TriggerQueries {
  static let all: [Statement] = [add, change, lock, list, find]

  private static let columns =
    "trigger_id, name, description, app_ids, message, template_name AS template, active, created_at, updated_at"

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
