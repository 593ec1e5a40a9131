package import Wire

/// How statements of the customer `$1` look suppressions up. All arguments are SQL, and `key` is the number of the first of two parameters:
/// the pads `SuppressionKey.inner` and `.outer`.
///
/// For a customer without suppressions a statement looks at an index once, and computes no hash.
package enum SuppressionSQL {
  /// The hash of a text, which is an original id, or a number in 00 form.
  package static func hash(_ kind: SuppressionKind, _ text: String, key: Int) -> String {
    """
    sha256($\(key + 1)::bytea || sha256($\(key)::bytea || convert_to(($1::bigint)::text || '/\(kind.rawValue)/' || \(text), 'UTF8')))
    """
  }

  /// What concerns a push to a device: `all`, `marketing`, or NULL for nothing.
  /// - Parameters:
  ///   - device: the alias of a row of `device`.
  ///   - originalID: of its contact, where the statement has it; `nil` to look it up. Two look-ups less make a statement that accepts messages
  ///     about 1.5 % cheaper, whether the customer has suppressions or not.
  package static func scope(ofDevice device: String, originalID: String? = nil, key: Int) -> String {
    func contact(_ kind: SuppressionKind, _ condition: String = "") -> String {
      """
      (SELECT \(hash(kind, "contact.original_id", key: key)) FROM contact
                             WHERE contact.customer_id = $1::bigint AND contact.contact_id = \(device).contact_id \(condition) LIMIT 1)
      """
    }
    // An SMS goes to the number that is the device's token, whoever its contact is.
    return scope(
      among: """
        \(originalID.map { hashes(ofContact: $0, key: key) }
          ?? "\(contact(.contact)), \(contact(.number, "AND starts_with(contact.original_id, '00')"))"),
                             CASE WHEN starts_with(\(device).token, '+')
                                  THEN \(hash(.number, "'00' || substr(\(device).token, 2)", key: key)) END,
                             \(hash(ofToken: "\(device).token_key", app: "\(device).push_app_id", key: key))
        """)
  }

  /// The hash of a token of an app, by its key.
  private static func hash(ofToken tokenKey: String, app: String, key: Int) -> String {
    hash(.device, "(\(app))::text || '/' || encode(\(tokenKey), 'hex')", key: key)
  }

  /// What is suppressed of pushes to a token of an app, whoever has it: `all`, `marketing`, or NULL for nothing.
  package static func scope(ofToken tokenKey: String, app: String, key: Int) -> String {
    scope(among: hash(ofToken: tokenKey, app: app, key: key))
  }

  /// What is suppressed of a contact on all its devices: `all`, `marketing`, or NULL for nothing.
  /// - Parameter originalID: of the contact.
  package static func scope(ofContact originalID: String, key: Int) -> String {
    scope(among: hashes(ofContact: originalID, key: key))
  }

  /// Since when a contact gets no marketing on any device, or nothing at all; NULL if it gets both.
  /// - Parameter originalID: of the contact.
  package static func since(ofContact originalID: String, key: Int) -> String {
    """
    CASE WHEN EXISTS (SELECT FROM suppression WHERE suppression.customer_id = $1::bigint)
         THEN (SELECT min(found.at) FROM \(found(among: hashes(ofContact: originalID, key: key)))) END
    """
  }

  private static func hashes(ofContact originalID: String, key: Int) -> String {
    """
    \(hash(.contact, originalID, key: key)),
                             CASE WHEN starts_with(\(originalID), '00') THEN \(hash(.number, originalID, key: key)) END
    """
  }

  /// - Parameter hashes: separated by commas; NULL is none.
  private static func scope(among hashes: String) -> String {
    """
    CASE WHEN EXISTS (SELECT FROM suppression WHERE suppression.customer_id = $1::bigint)
         THEN (SELECT found.scope FROM \(found(among: hashes)) ORDER BY found.scope = 'all' DESC LIMIT 1) END
    """
  }

  /// What is in force of some hashes, as `found`.
  ///
  /// Each hash is computed first and then looked up, which OFFSET 0 keeps the planner from changing. It would compute them anew for each of a few
  /// dozen suppressions: 3,000 contacts beside 42 of them took 220 ms, and take 15 to 40.
  /// - Parameter hashes: separated by commas; NULL is none.
  private static func found(among hashes: String) -> String {
    """
    unnest(ARRAY[
                             \(hashes)]) AS looked_up (hash)
                CROSS JOIN LATERAL (
                  SELECT suppression.scope, suppression.at FROM suppression
                   WHERE suppression.customer_id = $1::bigint AND suppression.hash = looked_up.hash AND \(isInForce)
                  OFFSET 0) AS found
    """
  }

  /// That a row of `suppression` has not ended.
  package static let isInForce = "(suppression.until IS NULL OR suppression.until > now())"
}
