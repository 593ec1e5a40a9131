import Postgres

extension TestDatabase {
  private static let received = """
    SELECT *, row_number() OVER (PARTITION BY customer_id, contact_id ORDER BY settled_at DESC, sendout_id DESC, push_no DESC) AS place
      FROM push WHERE state = 'accepted'
    """
  private static let opened = """
    SELECT *, row_number() OVER (PARTITION BY customer_id, contact_id ORDER BY opened_at DESC) AS place
      FROM push WHERE opened_at IS NOT NULL
    """

  /// What a contact's row has to be, by the ledger.
  private static let ledger = """
    SELECT c.customer_id, c.contact_id,
           (SELECT count(*) FROM (\(received)) AS p WHERE (p.customer_id, p.contact_id) = (c.customer_id, c.contact_id)) AS received,
           (SELECT count(*) FROM (\(opened)) AS p WHERE (p.customer_id, p.contact_id) = (c.customer_id, c.contact_id)) AS opened,
           ARRAY(SELECT settled_at FROM (\(received)) AS p
                  WHERE (p.customer_id, p.contact_id) = (c.customer_id, c.contact_id) AND place <= $1::int8 ORDER BY place) AS received_at,
           ARRAY(SELECT opened_at IS NOT NULL FROM (\(received)) AS p
                  WHERE (p.customer_id, p.contact_id) = (c.customer_id, c.contact_id) AND place <= $1::int8 ORDER BY place) AS received_opened,
           ARRAY(SELECT opened_at FROM (\(opened)) AS p
                  WHERE (p.customer_id, p.contact_id) = (c.customer_id, c.contact_id) AND place <= $1::int8 ORDER BY place) AS opened_at
      FROM contact AS c
    """

  /// The contacts whose row in `contact_activity` is not what the ledger says, or that have none and should; and rows of no contact.
  /// - Parameters:
  ///   - newest: how many moments a row has.
  ///   - unlessNoted: whether those are left out that stand in `activity_change`.
  public func contactsWithWrongActivity(newest: Int, unlessNoted: Bool = false) async throws -> [Int64] {
    try await query(
      """
      SELECT coalesce(l.contact_id, a.contact_id)
        FROM (\(Self.ledger)) AS l
        FULL JOIN contact_activity AS a ON a.customer_id = l.customer_id AND a.contact_id = l.contact_id
       WHERE (CASE WHEN l.contact_id IS NULL THEN true
                   WHEN a.contact_id IS NULL THEN l.received + l.opened > 0
                   ELSE (a.received, a.opened, a.received_at, a.received_opened, a.opened_at) IS DISTINCT FROM
                        (l.received, l.opened, l.received_at, l.received_opened, l.opened_at) OR a.received + a.opened = 0 END)
         AND NOT ($2::bool AND EXISTS (SELECT FROM activity_change AS c
                                        WHERE c.customer_id = coalesce(l.customer_id, a.customer_id)
                                          AND coalesce(l.contact_id, a.contact_id) = ANY (c.contact_ids)))
       ORDER BY 1
      """, Int64(newest), unlessNoted
    ).map { try $0.decode(Int64.self) }
  }

  /// How many notes of changes there are.
  public func activityNotes() async throws -> Int {
    try await query("SELECT count(*) FROM activity_change")[0].decode(Int.self)
  }
}
