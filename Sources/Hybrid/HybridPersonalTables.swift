import Postgres
package import Registry

/// What this room's tables hold of a person: of telephone numbers, by their digits.
package enum HybridPersonalTables {
  package static let all: [PersonalTable] = [
    PersonalTable("hybrid_signature", .inPortions(deleteSignatures)),
    PersonalTable(
      "hybrid_registration",
      .inPortions(
        delete(
          "hybrid_registration", by: "registration_no",
          where: "(number = ANY ($3::text[]) OR device_number = ANY ($3::text[]))")),
      showing: """
        SELECT registration_no, app_id, platform, user_agent, number, status, verified_at, push_token, token_changed_at,
               token_changed_from, created_at, changed_at
          FROM hybrid_registration
         WHERE customer_id = $1::bigint AND (number = ANY ($3::text[]) OR device_number = ANY ($3::text[])) ORDER BY registration_no
        """),
    PersonalTable(
      "hybrid_pin_event",
      .inPortions(delete("hybrid_pin_event", by: "number, event_no", where: "number = ANY ($3::text[])")),
      showing: """
        SELECT app_id, kind, at FROM hybrid_pin_event
         WHERE customer_id = $1::bigint AND number = ANY ($3::text[]) ORDER BY number, event_no
        """),
    PersonalTable(
      "hybrid_rate",
      .inPortions(
        delete(
          "hybrid_rate", by: "subject",
          where: "substring(subject FROM '^(?:codes/)?(?:number|calls)/([0-9]+)$') = ANY ($3::text[])"))),
    PersonalTable("hybrid_app", .stays("It is about apps.")),
  ]

  static let statements = all.flatMap(\.statements)

  private static func delete(_ table: String, by key: String, where condition: String) -> Statement {
    Statement("erasure.\(table)", .write, PersonalTable.delete(from: table, by: key, where: condition))
  }

  /// Before the registrations, which lead to them.
  private static let deleteSignatures = delete(
    "hybrid_signature", by: "registration_no, signature",
    where: """
      registration_no IN (
             SELECT registration_no FROM hybrid_registration
              WHERE customer_id = $1::bigint AND (number = ANY ($3::text[]) OR device_number = ANY ($3::text[])))
      """)
}
