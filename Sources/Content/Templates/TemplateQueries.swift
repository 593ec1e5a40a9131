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

  static let get = Statement(
    "template.get", .read,
    """
    SELECT \(summary), body FROM template
    WHERE customer_id = $1::bigint AND name = $2::text AND version = $3::int4
    """)

  static let current = Statement(
    "template.current", .read,
    """
    SELECT \(summary), body FROM template
    WHERE customer_id = $1::bigint AND name = $2::text ORDER BY version DESC LIMIT 1
    """)

  static let list = Statement(
    "template.list", .read,
    """
    SELECT DISTINCT ON (name) \(summary) FROM template
    WHERE customer_id = $1::bigint ORDER BY name, version DESC
    """)

  static let versions = Statement(
    "template.versions", .read,
    """
    SELECT \(summary) FROM template
    WHERE customer_id = $1::bigint AND name = $2::text AND version < $3::int4 ORDER BY version DESC LIMIT $4::int8
    """)

  package static let all: [Statement] = [put, get, current, list, versions]
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
