import Postgres

/// Statements about the hubs that serve a database.
enum HubQueries {
  /// What a hub that serves calls itself towards PostgreSQL, unless its address says otherwise.
  static let applicationName = "pushcart hub"

  /// A row if a hub that calls itself `$1` is connected.
  static let serving = Statement(
    "hub.serving", .read,
    """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1::text LIMIT 1
    """)

  static let all: [Statement] = [serving]
}
