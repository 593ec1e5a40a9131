import Embedded
import Postgres

extension Migration {
  /// The schema that this release works on.
  static let embedded = EmbeddedFile.migrations.filter { $0.name.hasSuffix(".sql") }
    .map { Migration(name: String($0.name.dropLast(4)), sql: $0.text) }
}
