import Content
package import Postgres
import Registry
package import Wire

/// What names a template for its page, and so keeps it from being removed.
package struct TemplateUse: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// - Throws: `ContentError.templateUnknown`.
  package func uses(_ customer: CustomerID, name: String) async throws -> TemplateUses {
    _ = try await Templates(database).get(customer, name: name)
    return try await found(customer, name)
  }

  private func found(_ customer: CustomerID, _ name: String) async throws -> TemplateUses {
    let triggers = try await database.query(TemplateUseQueries.triggers, customer.rawValue, name)
    let sendouts = try await database.query(TemplateUseQueries.sendouts, customer.rawValue, name)
    return TemplateUses(
      name: name,
      triggers: try triggers.map { row in
        let (id, name) = try row.decode(Int64.self, String.self)
        return TemplateTrigger(triggerId: TriggerID(id), name: name)
      },
      sendouts: try sendouts.map { row in
        let (id, name, state, version) = try row.decode(Int64.self, String.self, String.self, Int32.self)
        guard let state = SendoutState(rawValue: state) else {
          throw PostgresError.decoding(statement: "sendout.of_template", column: "state", .format("an unknown state"))
        }
        return TemplateSendout(sendoutId: SendoutID(id), name: name, state: state, version: version)
      })
  }

  /// Removes a template. Pages of what has ended stay. The caller has to run it in a transaction: whoever names the template meanwhile
  /// waits for it, and is refused then.
  /// - Throws: `ContentError.templateUnknown`; `SendoutError.templateInUse` while a trigger or a sendout that has not ended names it.
  package func remove(_ customer: CustomerID, name: String) async throws -> TemplateReply {
    let removed = try await Templates(database).remove(customer, name: name)
    // Another statement than the one that has waited, so that it sees what others have committed.
    let uses = try await found(customer, name)
    let users =
      uses.triggers.map { "trigger \($0.triggerId)" }
      + uses.sendouts.filter(\.needsTemplate).map { "sendout \($0.sendoutId)" }
    guard users.isEmpty else { throw SendoutError.templateInUse(by: users) }
    return removed
  }
}

/// Statements about what names the template `$2` of the customer `$1`.
enum TemplateUseQueries {
  static let all: [Statement] = [triggers, sendouts]

  static let triggers = Statement(
    "trigger.of_template", .read,
    """
    SELECT trigger_id, name FROM trigger
     WHERE customer_id = $1::bigint AND template = $2::text
     ORDER BY trigger_id LIMIT \(TemplateUses.most)
    """)

  /// The sendouts of the template, and those of which a variant has it; those first that have not ended. Before the freeze a variant has the
  /// newest version. Streams are left out: each of their messages has the version of its moment. Not by `jsonb`, as in `SendoutQueries`.
  static let sendouts = Statement(
    "sendout.of_template", .read,
    """
    SELECT sendout_id, name, state,
           coalesce(CASE WHEN template_name = $2::text THEN template_version END,
                    (SELECT max(template_version) FROM sendout_variant
                      WHERE customer_id = $1::bigint AND sendout_variant.sendout_id = sendout.sendout_id),
                    (\(TemplateQueries.newestVersion("$2::text"))))
      FROM sendout
     WHERE customer_id = $1::bigint AND kind = 'broadcast'
       AND (template_name = $2::text
            OR EXISTS (SELECT FROM json_array_elements(campaign -> 'variants') AS one (variant) WHERE one.variant ->> 'template' = $2::text))
     ORDER BY state IN ('finished', 'cancelled'), sendout_id DESC LIMIT \(TemplateUses.most)
    """)
}
