import FoundationEssentials
package import Postgres
import Wire

/// Statements on `template`, the only table of this room.
package enum TemplateQueries {
  private static let summary = "name, version, content_type, created_at"

  /// Gives no row when another transaction saved the same version first; then it has to be run again. Waits for that transaction.
  static let put = Statement(
    "template.put", .write,
    """
    INSERT INTO template (customer_id, name, version, content_type, body)
    SELECT $1::bigint, $2::text, coalesce(max(version), 0) + 1, $3::text, $4::text
    FROM template WHERE customer_id = $1::bigint AND name = $2::text
    ON CONFLICT (customer_id, name, version) DO NOTHING
    RETURNING \(summary), body
    """)

  /// Leaves out the versions of removed templates.
  private static let isThere = "removed_at IS NULL"

  private static let version = """
    SELECT \(summary), body FROM template
    WHERE customer_id = $1::bigint AND name = $2::text AND version = $3::int4
    """

  static let get = Statement("template.get", .read, "\(version) AND \(isThere)")

  /// A version for the pages of messages that were sent, even if the template is removed.
  static let ofPage = Statement("template.of_page", .read, version)

  /// The number of a template's newest version, removed or not. `$1` is the customer.
  package static func newestVersion(_ name: String) -> String {
    "SELECT max(version) FROM template WHERE customer_id = $1::bigint AND template.name = \(name)"
  }

  private static let newest = """
    SELECT \(summary), body FROM template
    WHERE customer_id = $1::bigint AND name = $2::text AND \(isThere) ORDER BY version DESC LIMIT 1
    """

  static let current = Statement("template.current", .read, newest)

  /// The current version. The template cannot be removed until the transaction ends.
  static let hold = Statement("template.hold", .write, "\(newest) FOR SHARE")

  /// Marks all versions as removed. Waits for transactions that hold the template.
  static let remove = Statement(
    "template.remove", .write,
    """
    WITH removed AS (
      UPDATE template SET removed_at = now()
       WHERE customer_id = $1::bigint AND name = $2::text AND \(isThere)
      RETURNING \(summary))
    SELECT \(summary) FROM removed ORDER BY version DESC LIMIT 1
    """)

  static let list = Statement(
    "template.list", .read,
    """
    SELECT DISTINCT ON (name) \(summary) FROM template
    WHERE customer_id = $1::bigint AND \(isThere) ORDER BY name, version DESC
    """)

  static let versions = Statement(
    "template.versions", .read,
    """
    SELECT \(summary) FROM template
    WHERE customer_id = $1::bigint AND name = $2::text AND version < $3::int4 AND \(isThere)
    ORDER BY version DESC LIMIT $4::int8
    """)

  package static let all: [Statement] = [put, get, ofPage, current, hold, remove, list, versions]
}

extension Template {
  init(_ row: Row) throws {
    let (name, version, type, createdAt, body) = try row.decode(
      String.self, Int32.self, String.self, Date.self, String.self)
    self.init(
      name: name, version: version, format: try TemplateFormat(contentType: type), body: body, createdAt: createdAt)
  }
}

extension TemplateReply {
  /// Without its text.
  init(_ row: Row) throws {
    let (name, version, type, createdAt) = try row.decode(String.self, Int32.self, String.self, Date.self)
    self.init(name: name, version: version, contentType: type, createdAt: Timestamp(createdAt))
  }

  package init(_ template: Template) {
    self.init(
      name: template.name, version: template.version, contentType: template.format.contentType,
      createdAt: Timestamp(template.createdAt), body: template.body)
  }
}
