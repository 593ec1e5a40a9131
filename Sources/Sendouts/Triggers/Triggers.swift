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
  /// - Throws: `SendoutError.invalid`; `RegistryError.nameTaken`, `.appUnknown`;
  ///   `ContentError.invalid`, `.unparsable` with fields such as `message.alert`.
  public func add(_ customer: CustomerID, _ request: TriggerRequest) async throws -> TriggerReply {
    let rows = try await write(
      TriggerQueries.table.add, customer, nil, try request.applied(to: TriggerRequest(active: true)))
    return try rows[0].reply()
  }

  /// Changes a trigger; `nil` leaves a field as it is, and "" removes description and template. The caller has to run it in a
  /// transaction, as it locks the trigger's row.
  /// - Throws: `RegistryError.numberUnknown`; as `add`.
  public func change(
    _ customer: CustomerID, _ id: TriggerID, _ request: TriggerRequest
  ) async throws -> (before: TriggerReply, after: TriggerReply) {
    let before = try await row(TriggerQueries.table.lock, customer, id)
    var trigger = try request.applied(to: before)
    if request.appId != nil { trigger.appIds = request.appIds }
    let rows = try await write(TriggerQueries.table.change, customer, id, trigger)
    return (before, try rows.first?.reply() ?? before)
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
      TriggerQueries.table.list, customer.rawValue, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { (try $0.reply(TriggerReply.self), try $0.isBeyondPage) }, cursor: \.triggerId)
  }

  /// - Throws: `RegistryError.numberUnknown`.
  public func find(_ customer: CustomerID, _ id: TriggerID) async throws -> TriggerReply {
    try await row(TriggerQueries.table.find, customer, id)
  }

  private func row(_ statement: Statement, _ customer: CustomerID, _ id: TriggerID) async throws -> TriggerReply {
    guard let row = try await database.query(statement, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown("trigger")
    }
    return try row.reply()
  }

  /// Checks a trigger and writes it.
  /// - Parameter id: `nil` for one that is added.
  private func write(
    _ statement: Statement, _ customer: CustomerID, _ id: TriggerID?, _ trigger: TriggerRequest
  ) async throws -> Rows {
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
      return try await database.query(
        statement, customer.rawValue, id?.rawValue, name, trigger.description, appIDs, JSONDocument(body.json),
        trigger.template, trigger.active)
    } catch let error as PostgresError where error.constraint == "trigger_name_key" {
      throw RegistryError.nameTaken("trigger")
    }
  }
}

/// Statements on `trigger`, whose columns have the names of the reply's fields.
enum TriggerQueries {
  static let table = NumberedTable(
    "trigger",
    columns: [
      "name": "text", "description": "text", "app_ids": "text[]", "message": "json", "template": "text",
      "active": "bool",
    ], size: "octet_length(message::text)")
  static let all = table.all
}
