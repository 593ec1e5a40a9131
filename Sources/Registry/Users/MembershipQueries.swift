import Postgres

/// Statements on `membership`. `$1` is the customer.
enum MembershipQueries {
  /// Locks the user's membership until the transaction ends, if it has one of the roles `$3`.
  static let holdRole = Statement(
    "membership.hold_role", .write,
    """
    SELECT 1 FROM membership
    WHERE customer_id = $1::bigint AND user_id = $2::bigint AND role = ANY ($3::text[]) AND disabled_at IS NULL
    FOR SHARE
    """)

  static let all: [Statement] = [holdRole]
}
