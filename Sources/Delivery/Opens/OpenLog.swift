import Content
import Metrics
package import Postgres
package import Wire

/// Writes opens of one customer in one statement. Every open is counted; the first by a person is written to the ledger.
package struct OpenLog: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// Records opens in one commit.
  /// - Returns: the contact of each push; `nil` if the push does not exist, in which case nothing was recorded for it.
  package func record(_ opens: [Open], of customer: CustomerID) async throws -> [ContactID?] {
    let rows = try await afterDeadlocks {
      try await database.query(
        OpenQueries.record, customer.rawValue, opens.map(\.link.sendout.rawValue), opens.map(\.link.push.rawValue),
        opens.map(\.via.rawValue), opens.map(\.reader.rawValue))
    }
    let contacts = try contacts(rows, of: opens.count)
    for (open, contact) in zip(opens, contacts) where contact != nil {
      Self.counters[open.via]?[open.reader]?.increment()
    }
    return contacts
  }

  /// Returns the same contacts as `record`, without recording anything.
  package func contacts(of opens: [Open], of customer: CustomerID) async throws -> [ContactID?] {
    let rows = try await database.query(
      OpenQueries.contacts, customer.rawValue, opens.map(\.link.sendout.rawValue), opens.map(\.link.push.rawValue))
    return try contacts(rows, of: opens.count)
  }

  private func contacts(_ rows: Rows, of count: Int) throws -> [ContactID?] {
    var contacts = [ContactID?](repeating: nil, count: count)
    let (places, known) = try rows[0].decode([Int]?.self, [Int64]?.self)
    for (place, contact) in zip(places ?? [], known ?? []) { contacts[place - 1] = ContactID(contact) }
    return contacts
  }

  /// Retries a statement that was ended by a deadlock. Opens and settlements may lock the same pushes.
  private func afterDeadlocks<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
    for _ in 0..<3 {
      do {
        return try await body()
      } catch PostgresError.server(let error) where error.sqlState == ServerError.deadlockDetected {}
    }
    return try await body()
  }

  /// `pushcart_opens_total{via,reader}`.
  private static let counters: [Open.Via: [Open.Reader: Counter]] = Dictionary(
    uniqueKeysWithValues: Open.Via.allCases.map { via in
      let readers = Open.Reader.allCases.map { reader in
        (
          reader,
          Counter(label: "pushcart_opens_total", dimensions: [("via", via.rawValue), ("reader", reader.rawValue)])
        )
      }
      return (via, Dictionary(uniqueKeysWithValues: readers))
    })
}
