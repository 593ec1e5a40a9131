import Postgres
import Registry
import Wire

/// Statements of exports.
enum ExportQueries {
  /// COPY takes no parameters: the filter's literals `$1` and the names of properties `$2` travel as settings of the transaction.
  static let setTexts = Statement(
    "export.set_texts", .read,
    """
    SELECT set_config('pushcart.literals', $1::text[]::text, true), set_config('pushcart.names', $2::text[]::text, true),
           set_config('datestyle', 'ISO', true)
    """
  )
  /// In the SQL of a column: the property's name.
  static let name = "{name}"
  private static let literals = "(SELECT current_setting('pushcart.literals')::text[])"

  /// What stands between cells of NDJSON's rows, which JSON never has.
  static let delimiter: UInt8 = 2

  /// The names of the properties of contacts that meet the filter with the literals `$2`, at most `$3`: of those behind the number `$4`, up to
  /// the number `$5`.
  static func propertyNames(_ filter: FilterSQL) -> Statement {
    Statement(
      "export.property_names", .read,
      """
      SELECT DISTINCT json_object_keys(contact.properties) FROM contact \(filter.join)
       WHERE contact.customer_id = $1::bigint AND contact.contact_id > $4::bigint AND contact.contact_id <= $5::bigint
         AND contact.properties::text <> '{}' AND $2::text[] IS NOT NULL AND \(filter.sql(literals: "$2::text[]"))
       LIMIT $3::bigint
      """)
  }

  /// The contacts that `propertyNames` looks at.
  static let rangeOfNames = "BETWEEN $4::bigint + 1 AND $5::bigint"

  /// The key of the last row of a window. Its parameters are the key before the window, and one row less than the window has.
  static func windowEnd(_ subject: ExportRequest.Subject, ofSendout: Bool = false) -> Statement {
    switch (subject, ofSendout) {
    case (.contacts, _), (.devices, _):
      let (table, key) = subject == .contacts ? ("contact", "contact_id") : ("device", "device_id")
      return Statement(
        "export.window_of_\(subject.rawValue)", .read,
        """
        SELECT \(key) FROM \(table) WHERE customer_id = $1::bigint AND \(key) > $2::bigint
         ORDER BY \(key) OFFSET $3::bigint LIMIT 1
        """)
    case (.pushes, false):
      return Statement(
        "export.window_of_pushes", .read,
        """
        SELECT sendout_id, push_no FROM push
         WHERE customer_id = $1::bigint AND (sendout_id, push_no) > ($2::bigint, $3::bigint)
         ORDER BY sendout_id, push_no OFFSET $4::bigint LIMIT 1
        """)
    case (.pushes, true):
      return Statement(
        "export.window_of_sendout", .read,
        """
        SELECT sendout_id, push_no FROM push
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no > $3::bigint
         ORDER BY push_no OFFSET $4::bigint LIMIT 1
        """)
    }
  }

  /// The rows behind the key `last`, up to the key `end` if there is one, each with its key before its columns.
  static func copy(
    _ customer: CustomerID, _ request: ExportRequest, _ columns: [ExportColumn], _ filter: FilterSQL?,
    after last: [Int64], upTo end: [Int64]?, limit: Int
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
    if let end {
      conditions.append("(\(key.joined(separator: ", "))) <= (\(end.map(\.description).joined(separator: ", ")))")
    }
    // Numbers that get SMS are the hub's own, and no import or registration takes one.
    if request.subject == .devices {
      conditions.append("device.invalidated_at IS NULL AND app.app_type <> \(AppType.sms.rawValue)")
    }
    if let sendout = request.sendout { conditions.append("push.sendout_id = \(sendout)") }
    var join = ""
    if let filter {
      conditions.append("(\(filter.sql(literals: literals).replacing("$1", with: "\(customer)")))")
      join = filter.join.replacing("$1", with: "\(customer)")
    }
    let cells =
      switch request.format {
      case .csv: columns.enumerated().map { sql($1, $0) }
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
      COPY (SELECT \((key + cells).joined(separator: ", ")) FROM \(tables) \(join)
             WHERE \(conditions.joined(separator: " AND "))
             ORDER BY \(key.joined(separator: ", ")) LIMIT \(limit)) TO STDOUT (\(form))
      """
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

  static let all: [Statement] =
    [setTexts, propertyNames(.sample), windowEnd(.pushes, ofSendout: true)]
    + ExportRequest.Subject.allCases.map { windowEnd($0) }
}
