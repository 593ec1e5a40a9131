/// Statements on `schema_migration`.
enum MigrationQueries {
  /// Locks out other migrators until the transaction ends. Neither the wait for them nor the migration has a time limit.
  static let lock = """
    SET LOCAL statement_timeout = 0;
    SELECT pg_advisory_xact_lock(5720180219);
    """

  static let createTable = """
    CREATE TABLE IF NOT EXISTS schema_migration (
      name       text        PRIMARY KEY,
      checksum   bytea       NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    );
    COMMENT ON TABLE  schema_migration            IS 'Which files of sql/migrations have been applied to this database.';
    COMMENT ON COLUMN schema_migration.name       IS 'The file''s name without its extension.';
    COMMENT ON COLUMN schema_migration.checksum   IS 'SHA-256 of the file as it was applied.';
    COMMENT ON COLUMN schema_migration.applied_at IS 'When it was applied.';
    """

  static let tableExists = Statement(
    "schema_migration.exists", .read, "SELECT to_regclass('schema_migration') IS NOT NULL")

  /// $1 names, $2 texts of the files. Gives each applied migration, and whether its file is unchanged (NULL: there is none).
  static let compare = Statement(
    "schema_migration.compare", .read,
    """
    SELECT applied.name, applied.checksum = sha256(convert_to(file.sql, 'UTF8'))
    FROM schema_migration AS applied
    LEFT JOIN unnest($1::text[], $2::text[]) AS file (name, sql) USING (name)
    ORDER BY applied.name
    """)

  static let record = Statement(
    "schema_migration.record", .write,
    "INSERT INTO schema_migration (name, checksum) VALUES ($1::text, sha256(convert_to($2::text, 'UTF8')))")

  static let all: [Statement] = [tableExists, compare, record]
}

/// Every statement of this module that PostgreSQL prepares, so that a test can do so on a real server. The others are commands
/// (BEGIN, LISTEN, CREATE DATABASE), most of which are built from a name.
package enum PostgresStatements {
  package static let all: [Statement] = MigrationQueries.all
}
