import Postgres

/// Statements of `pushcart check`.
enum DiagnosticsQueries {
  static let all: [Statement] = [version]

  /// The server's version as a number, as in 150008, and in words.
  static let version = Statement(
    "checkup.version", .read, "SELECT current_setting('server_version_num')::int4, current_setting('server_version')")
}
