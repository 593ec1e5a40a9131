import Postgres

/// Statements on `hub_secret`, a reference table: they need no customer_id to be routed by.
enum HubSecretQueries {
  /// Adds nothing when another hub was quicker; `find` then gives what that one made.
  static let add = Statement(
    "hub_secret.add", .write,
    """
    INSERT INTO hub_secret (name, sealed, master_key_id) VALUES ($1::text, $2::bytea, $3::text)
    ON CONFLICT (name) DO NOTHING
    """)

  static let find = Statement(
    "hub_secret.find", .read, "SELECT sealed, master_key_id FROM hub_secret WHERE name = $1::text")

  static let all: [Statement] = [add, find]
}
