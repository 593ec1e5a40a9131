package import Postgres
package import Wire

/// The sessions of the console. One ends 12 hours after its last request, 14 days after it began, or when its user ends it or
/// belongs to no customer any more. A change of their password, or of their authenticator app, ends all but the one where it is made. One that
/// an OpenID provider began ends after 12 hours.
package struct Sessions: Sendable {
  private let database: any Querying
  /// Whether a session that began with a password has ended.
  package var isByProviderOnly = false

  package init(_ database: any Querying) { self.database = database }

  /// Whose session it is, and what they may do. It notes the use, once a minute at most.
  /// - Parameter token: of the browser's cookie.
  /// - Returns: `nil` for a text that is no token of a session. Where passwords open nothing, a session that began with one ends here.
  package func find(_ token: String) async throws -> SignedIn? {
    guard let token = ConsoleToken(token),
      let row = try await database.query(SessionQueries.find, Bytes(token.hash)).first
    else { return nil }
    let (session, user, email, name, customer, role, seesPersonal, needsCode, isByProvider, isOld) = try row.decode(
      Int64.self, Int64.self, String.self, String.self, Int64?.self, String?.self, Bool.self, Bool.self, Bool.self,
      Bool.self)
    guard isByProvider || !isByProviderOnly else {
      try await end(SessionID(session), of: UserID(user))
      return nil
    }
    if isOld { try await database.query(SessionQueries.touch, Bytes(token.hash)) }
    return SignedIn(
      user: UserID(user), email: email, name: name, customer: customer.map { CustomerID($0) },
      role: role.flatMap(Role.init), seesPersonal: seesPersonal, session: SessionID(session), csrfToken: token.csrf,
      needsCode: needsCode)
  }

  /// The customers that a user of this session can choose, by number.
  package func customers(_ session: SignedIn) async throws -> [CustomerChoice] {
    try await database.query(SessionQueries.customers, [session.user.rawValue]).map { row in
      let (customer, name, role) = try row.decode(Int64.self, String.self, String.self)
      return CustomerChoice(customer: CustomerID(customer), name: name, role: Role(rawValue: role) ?? .analyst)
    }
  }

  /// Chooses the customer that the session shows.
  /// - Throws: `RegistryError.customerUnknown` if the user does not belong to it.
  package func choose(_ customer: CustomerID, in session: SignedIn) async throws {
    let chosen = try await database.query(
      SessionQueries.choose, customer.rawValue, session.session.rawValue, session.user.rawValue)
    if chosen.isEmpty { throw RegistryError.customerUnknown(customer) }
  }

  /// Every session of the user that has not ended, the one used last first.
  package func list(_ user: UserID) async throws -> [SessionReply] {
    try await database.query(SessionQueries.list, user.rawValue).map { try $0.reply() }
  }

  /// Ends a session of the user. Ending it again changes nothing.
  package func end(_ session: SessionID, of user: UserID) async throws {
    try await database.query(SessionQueries.end, user.rawValue, session.rawValue)
  }

  /// Deletes sessions that have ended by themselves, links that were not used, and old attempts to sign in; a portion at a time. Where
  /// passwords open nothing, it deletes sessions that began with one, too.
  package func forgetExpired(portion: Int64 = 10_000) async throws {
    while try await database.query(SessionQueries.forget, portion, isByProviderOnly).affected == Int(portion) {
      try Task.checkCancellation()
    }
    for statement in [UserQueries.forgetLinks, SignInQueries.forget] {
      while try await database.query(statement, portion).affected == Int(portion) { try Task.checkCancellation() }
    }
  }
}

/// A customer that a user can choose.
package struct CustomerChoice: Sendable, Equatable {
  package let customer: CustomerID
  package let name: String
  package let role: Role
}

/// Statements on `console_session`, a reference table.
enum SessionQueries {
  /// Whether a session has not ended by itself, nor by a change of what its user signs in with. A statement that makes such a change does not
  /// see a session that is being begun. But both lock the user, so that session has the number of before.
  private static let isValid = """
    console_session.credential_no = (SELECT person.credential_no FROM console_user AS person WHERE person.user_id = console_session.user_id)
    AND seen_at > now() - interval '12 hours' AND console_session.created_at > now() - interval '14 days'
    AND (NOT needs_code OR console_session.created_at > now() - interval '10 minutes')
    AND (NOT by_provider OR console_session.created_at > now() - interval '12 hours')
    """

  /// Begins a session with the token `$1`, if the user `$2` has the password `$3`. The only customer of a user is chosen.
  ///
  /// Locks the user, so it waits for a change of the password that is under way. Then the user has another password, and nothing begins.
  static let begin = Statement(
    "console_session.begin", .write,
    beginning(
      of: """
        SELECT user_id, credential_no, totp_secret IS NOT NULL AS needs_code, false AS by_provider FROM console_user
        WHERE user_id = $2::bigint AND password_hash = $3::text FOR SHARE
        """))

  /// As `begin`, if the OpenID provider `$3` calls the user `$6`. Whether a second factor is needed, the provider decides.
  static let beginBySubject = Statement(
    "console_session.begin_by_subject", .write,
    beginning(
      of: """
        SELECT user_id, credential_no, false AS needs_code, true AS by_provider FROM console_user
        WHERE user_id = $2::bigint AND oidc_issuer = $3::text AND oidc_subject = $6::text FOR SHARE
        """))

  private static func beginning(of person: String) -> String {
    """
    WITH person AS (\(person))
    INSERT INTO console_session (
      token_hash, user_id, credential_no, customer_id, needs_code, by_provider, address, user_agent)
    SELECT $1::bytea, user_id, credential_no,
      (SELECT CASE WHEN count(*) = 1 THEN min(customer_id) END FROM membership
       WHERE membership.user_id = person.user_id AND disabled_at IS NULL),
      needs_code, by_provider, $4::text, $5::text
    FROM person
    RETURNING needs_code
    """
  }

  /// Ends the sessions of the user `$1` but for the 50 that were used last.
  static let trim = Statement(
    "console_session.trim", .write,
    """
    DELETE FROM console_session WHERE session_id IN
      (SELECT session_id FROM console_session WHERE user_id = $1::bigint ORDER BY seen_at DESC, session_id DESC OFFSET 50)
    """)

  /// Role and customer are those of this moment: NULL if the user does not belong to it any more. No row if they belong to none.
  static let find = Statement(
    "console_session.find", .read,
    """
    SELECT session_id, console_user.user_id, email, name, chosen.customer_id, role, coalesce(sees_personal, false),
      needs_code, by_provider, seen_at < now() - interval '1 minute'
    FROM console_session JOIN console_user USING (user_id)
    LEFT JOIN membership AS chosen ON chosen.customer_id = console_session.customer_id
      AND chosen.user_id = console_session.user_id AND chosen.disabled_at IS NULL
    WHERE token_hash = $1::bytea AND \(isValid)
      AND EXISTS (SELECT FROM membership WHERE membership.user_id = console_user.user_id AND disabled_at IS NULL)
    """)

  static let touch = Statement(
    "console_session.touch", .write,
    """
    UPDATE console_session SET seen_at = now() WHERE token_hash = $1::bytea AND seen_at < now() - interval '1 minute'
    """)

  /// The code was right.
  static let complete = Statement(
    "console_session.complete", .write,
    "UPDATE console_session SET needs_code = false WHERE session_id = $1::bigint")

  /// Of the only user in `$1`.
  static let customers = Statement(
    "console_session.customers", .read,
    """
    SELECT customer_id, name, role FROM membership JOIN customer USING (customer_id)
    WHERE user_id = ANY ($1::bigint[]) AND disabled_at IS NULL ORDER BY customer_id
    """)

  static let choose = Statement(
    "console_session.choose", .write,
    """
    UPDATE console_session SET customer_id = membership.customer_id FROM membership
    WHERE membership.customer_id = $1::bigint AND session_id = $2::bigint AND console_session.user_id = $3::bigint
      AND membership.user_id = $3::bigint AND disabled_at IS NULL AND NOT needs_code
    RETURNING 1
    """)

  static let list = Statement(
    "console_session.list", .read,
    """
    SELECT session_id, created_at, seen_at, address, user_agent FROM console_session
    WHERE user_id = $1::bigint AND NOT needs_code AND \(isValid) ORDER BY seen_at DESC, session_id DESC
    """)

  static let end = Statement(
    "console_session.end", .write,
    "DELETE FROM console_session WHERE user_id = $1::bigint AND session_id = $2::bigint")

  static let forget = Statement(
    "console_session.forget", .write,
    """
    DELETE FROM console_session WHERE session_id IN
      (SELECT session_id FROM console_session WHERE NOT (\(isValid)) OR $2::bool AND NOT by_provider LIMIT $1::bigint)
    """)

  static let all: [Statement] = [
    begin, beginBySubject, trim, find, touch, complete, customers, choose, list, end, forget,
  ]
}
