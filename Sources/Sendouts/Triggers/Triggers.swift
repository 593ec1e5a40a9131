import Content
import Delivery
import FoundationEssentials
public import Postgres
public import Registry
package import Wire

/// The store of triggers: named messages that back ends send to one contact at a time, through `MessageService`.
public struct Triggers: NumberedStore {
  package typealias Reply = TriggerReply
  package let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Its columns have the names of the reply's fields.
  package static let table = NumberedTable(
    "trigger",
    columns: [
      "name": "text", "description": "text", "app_ids": "text[]", "message": "json", "purpose": "text",
      "template": "text",
      "active": "bool",
    ], size: "octet_length(message::text)")
  package static let erasure = PersonalTable.Erasure.stays("It has the customer's own texts, which are for everybody.")
  package static let queries = [TriggerQueries.ofApp]

  package static let initial = TriggerRequest(purpose: .transactional, active: true)

  /// The first trigger that goes to the app, active or not; `nil` if there is none.
  package func first(naming appID: String, of customer: CustomerID) async throws -> TriggerID? {
    try await database.query(TriggerQueries.ofApp, customer.rawValue, appID).first.map {
      TriggerID(try $0.decode(Int64.self))
    }
  }

  package func applied(_ request: TriggerRequest, to before: TriggerReply) throws -> TriggerRequest {
    var trigger = try request.applied(to: before)
    // Either of them replaces the apps that there were.
    if request.appId != nil { trigger.appIds = request.appIds }
    return trigger
  }

  /// Its apps and its template must exist, and its texts must compile.
  /// - Throws: `RegistryError.invalid`, `.appUnknown`; `SendoutError.invalid`; `ContentError.invalid`, `.unparsable` with fields such as
  ///   `message.alert`.
  package func values(
    _ customer: CustomerID, _ trigger: TriggerRequest
  ) async throws -> [String: any PostgresEncodable] {
    let (name, body) = (trigger.name ?? "", trigger.message ?? MessageBody())
    let appIDs = try SendoutRules.appIDs(trigger.appId, trigger.appIds)
    let message = try MessageTemplate(body)
    try SendoutRules.checkLink(message, beside: trigger.template)
    let apps = try await PushApps(database).resolveAll(customer, appIDs: appIDs, type: nil)
    try message.checkForm(for: apps.map(\.type))
    _ = try await SendoutRules.currentTemplate(customer, trigger.template, in: database, isHeld: true)
    return [
      "name": name, "description": trigger.description, "app_ids": appIDs, "message": JSONDocument(body.json),
      "purpose": (trigger.purpose ?? .transactional).rawValue, "template": trigger.template, "active": trigger.active,
    ]
  }
}

/// Statements on `trigger` beside those that all numbered things have. `$1` is the customer.
enum TriggerQueries {
  /// The first that goes to the app `$2`.
  static let ofApp = Statement(
    "trigger.of_app", .read,
    """
    SELECT trigger_id FROM trigger WHERE customer_id = $1::bigint AND $2::text = ANY (app_ids) ORDER BY trigger_id LIMIT 1
    """)
}
