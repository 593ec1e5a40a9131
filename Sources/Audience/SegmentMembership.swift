/// How statements of the customer `$1` change who is in a static segment. All arguments are SQL.
package enum SegmentMembership {
  package static func isMember(_ contact: String, of segment: String) -> String {
    """
    EXISTS (SELECT FROM segment_member
            WHERE customer_id = $1::bigint AND segment_id = \(segment) AND segment_member.contact_id = \(contact))
    """
  }

  /// - Parameter contacts: a query of contacts' numbers, each locked or made in the same statement.
  package static func join(_ segment: String, _ contacts: String) -> String {
    """
    INSERT INTO segment_member (customer_id, segment_id, contact_id)
        SELECT $1::bigint, \(segment), joining.contact_id FROM (\(contacts)) AS joining WHERE \(segment) IS NOT NULL
        ON CONFLICT DO NOTHING
    """
  }
}
