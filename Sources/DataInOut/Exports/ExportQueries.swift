import Postgres
import Registry
import Wire

/// Statements of exports.
enum ExportQueries {
  /// COPY takes no parameters: the filter's literals `$1` and the names of properties `$2` travel as settings of the transaction.
  static let setTexts = Statement(
    "export.set_texts", .read,
    "SELECT set_config('pushcart.literals', $1::text[]::text, true), set_config('pushcart.names', $2::text[]::text, true)"
  )
  /// In the SQL of a column: the property's name.
  static let name = "{name}"
  private static let literals = "(SELECT current_setting('pushcart.literals')::text[])"

  /// What stands between cells of NDJSON's rows, which JSON never has.
  static let delimiter: UInt8 = 2

  /// The names of the properties of all contacts that meet the filter with the literals `$2`, at most `$3`.
  static func propertyNames(_ filter: FilterSQL) -> Statement {
    Statement(
      "export.property_names", .read,
      """
      SELECT name FROM (
        SELECT DISTINCT json_object_keys(contact.properties) AS name FROM contact
         WHERE contact.customer_id = $1::bigint AND contact.properties::text <> '{}' AND $2::text[] IS NOT NULL
           AND \(filter.sql(literals: "$2::text[]"))) AS names
       ORDER BY name COLLATE "C" LIMIT $3::bigint
      """)
  }

  /// The rows behind the key `last`, each with its key before its columns.
  static func copy(
    _ customer: CustomerID, _ request: ExportRequest, _ columns: [ExportColumn], _ filter: FilterSQL?,
    after last: [Int64],
    limit: Int
  ) -> String {
    let (own, key, tables): (String, [String], String)
    let contact = "contact.customer_id = \(customer)"
    switch request.subject {
    case .contacts: (own, key, tables) = ("contact", ["contact.contact_id"], "contact")
    case .devices:
      (own, key) = ("device", ["device.device_id"])
      tables = """
        device
          JOIN contact ON \(contact) AND contact.contact_id = device.contact_id
          JOIN push_app AS app ON app.customer_id = \(customer) AND app.push_app_id = device.push_app_id
        """
    case .pushes:
      (own, key) = ("push", ["push.sendout_id", "push.push_no"])
      tables = "push LEFT JOIN contact ON \(contact) AND contact.contact_id = push.contact_id"
    }
    var conditions = [
      "\(own).customer_id = \(customer)",
      "(\(key.joined(separator: ", "))) > (\(last.map(\.description).joined(separator: ", ")))",
    ]
    if request.subject == .devices { conditions.append("device.invalidated_at IS NULL") }
    if let sendout = request.sendout { conditions.append("push.sendout_id = \(sendout)") }
    if let filter {
      conditions.append("(\(filter.sql(literals: literals).replacing("$1", with: "\(customer)")))")
    }
    let cells =
      switch request.format {
      case .csv: columns.enumerated().map { cell($1, $0, isExact: request.isExact) }
      case .ndjson:
        // A function has a hundred arguments at most.
        [
          "(SELECT json_object_agg(member.name, member.value) FROM (VALUES "
            + columns.enumerated().map { "(\(heading($1, $0)), to_json(\(sql($1, $0))))" }.joined(separator: ", ")
            + ") AS member (name, value) WHERE member.value IS NOT NULL)"
        ]
      }
    let form =
      request.format == .csv
      ? "FORMAT csv" : "FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01'"
    return """
      COPY (SELECT \((key + cells).joined(separator: ", ")) FROM \(tables)
             WHERE \(conditions.joined(separator: " AND "))
             ORDER BY \(key.joined(separator: ", ")) LIMIT \(limit)) TO STDOUT (\(form))
      """
  }

  /// With an apostrophe before what a spreadsheet would take for a formula, as `CSVCell` has it.
  private static func cell(_ column: ExportColumn, _ place: Int, isExact: Bool) -> String {
    let sql = sql(column, place)
    guard column.isText, !isExact else { return sql }
    return "CASE WHEN \(sql) ~ '^''*[=+@-]' THEN '''' || \(sql) ELSE \(sql) END"
  }

  private static func sql(_ column: ExportColumn, _ place: Int) -> String {
    column.sql.replacing(name, with: nameOfProperty(place))
  }

  private static func nameOfProperty(_ place: Int) -> String {
    "(SELECT (current_setting('pushcart.names')::text[])[\(place + 1)])"
  }

  private static func heading(_ column: ExportColumn, _ place: Int) -> String {
    column.property == nil ? "'\(column.name)'" : "'properties.' || \(nameOfProperty(place))"
  }

  static let all: [Statement] = [setTexts, propertyNames(.sample)]
}
