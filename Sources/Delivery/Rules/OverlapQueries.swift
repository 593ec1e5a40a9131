import Postgres
package import Registry
package import Wire

extension Ledger {
  /// How many of some contacts are still to get a push of some sendouts, for those of these that have any. It reads no more than a million
  /// pushes.
  /// - Parameters:
  ///   - filter: of the contacts.
  ///   - originalIDs: theirs; nil for all who meet the filter.
  package func overlap(
    _ customer: CustomerID, _ filter: FilterSQL, originalIDs: [String]?, with sendouts: [SendoutID]
  ) async throws -> [(sendout: SendoutID, contacts: Int)] {
    guard !sendouts.isEmpty else { return [] }
    let (number, sendouts) = (customer.rawValue, sendouts.map(\.rawValue))
    let rows = try await filter.sharingMemory(database, of: customer) { database in
      if let originalIDs {
        try await database.query(
          OverlapQueries.overlap(filter, ofIDs: true), number, filter.literals, sendouts, originalIDs)
      } else {
        try await database.query(OverlapQueries.overlap(filter, ofIDs: false), number, filter.literals, sendouts)
      }
    }
    return try rows.map { row in
      let (sendout, contacts) = try row.decode(Int64.self, Int.self)
      return (SendoutID(sendout), contacts)
    }
  }
}

/// The statement that looks for contacts whom other sendouts are still to reach. `$1` is the customer, `$2` the literals of a filter, `$3`
/// the sendouts, and `$4` original ids.
enum OverlapQueries {
  static let all: [Statement] = [false, true].map { overlap(.sample, ofIDs: $0) }

  private static let mostPushes = 1_000_000

  /// The sendouts with how many of the contacts wait for them. It reads the pushes of batches that are not settled, by their numbers.
  static func overlap(_ filter: FilterSQL, ofIDs: Bool) -> Statement {
    let isNamed = ofIDs ? " AND contact.original_id = ANY ($4::text[])" : ""
    return Statement(
      "ledger.overlap\(ofIDs ? "_of_ids" : "")", .read,
      """
      WITH waiting AS MATERIALIZED (
        SELECT batch.sendout_id, push.contact_id
          FROM push_batch AS batch
         CROSS JOIN LATERAL (SELECT contact_id FROM push
                              WHERE push.customer_id = $1::bigint AND push.sendout_id = batch.sendout_id
                                AND push.push_no BETWEEN batch.first_push AND batch.last_push
                                AND push.state IN ('\(PushState.queued.rawValue)', '\(PushState.waiting.rawValue)')
                             OFFSET 0) AS push
         WHERE batch.customer_id = $1::bigint AND batch.sendout_id = ANY ($3::bigint[]) AND batch.state <> 'settled'
         LIMIT \(mostPushes))
      SELECT waiting.sendout_id, count(DISTINCT waiting.contact_id)
        FROM waiting
       WHERE waiting.contact_id IN (SELECT contact.contact_id FROM contact \(filter.join)
                                     WHERE contact.customer_id = $1::bigint AND \(filter.sql(literals: "$2::text[]"))\(isNamed))
       GROUP BY waiting.sendout_id
       ORDER BY waiting.sendout_id
      """)
  }
}
