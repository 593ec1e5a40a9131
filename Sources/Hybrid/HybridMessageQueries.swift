import Postgres

/// Statements on messages to telephone numbers. `$1` is the customer.
enum HybridMessageQueries {
  static let all: [Statement] = [app]

  /// The app of the key `$2`: its app id, the type of messages that name none, and whether the customer is told of statuses.
  static let app = Statement(
    "hybrid.app_of_key", .read,
    """
    SELECT app_id, message_type, status_url IS NOT NULL
      FROM hybrid_app WHERE customer_id = $1::bigint AND app_key = $2::uuid
    """)
}
