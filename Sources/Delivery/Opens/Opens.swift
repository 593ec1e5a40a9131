public import Content
import Metrics
public import Postgres
public import Wire

/// By what a push was opened.
public enum OpenVia: String, Sendable, Hashable, CaseIterable {
  /// The rich page was fetched.
  case page
  /// The app said that the push was read.
  case pushreadurl
}

/// By whom a push was opened.
public enum OpenReader: String, Sendable, Hashable, CaseIterable {
  case person
  /// A HEAD request, or a known scanner or prefetcher: kept apart, and never counted as an open.
  case machine
}

/// Records opens: every one as an event, and the first by a person in the ledger.
///
/// Opens come in by the thousand and each is answered only when it is committed, so they are written in groups: one statement
/// and one commit for all that came in while the one before was under way.
public final class Opens: Sendable {
  private struct Open: Sendable {
    let link: PushLink
    let via: OpenVia
    let reader: OpenReader
  }

  private let gatherer: Gatherer<CustomerID, Open, ContactID?>

  public init(_ database: any Querying) {
    gatherer = Gatherer(group: 500, limit: 20_000, full: DeliveryError.opensOverflow) { customer, opens in
      try await Self.record(opens, of: customer, in: database)
    }
  }

  /// Records an open, and returns when it is committed.
  /// - Returns: whom the push was for; `nil` if there is no such push, so that nothing was recorded.
  /// - Throws: `DeliveryError.opensOverflow`, and whatever `Outage` knows when the database is away.
  public func record(_ link: PushLink, via: OpenVia, reader: OpenReader) async throws -> ContactID? {
    try await gatherer.answer(link.customer, Open(link: link, via: via, reader: reader))
  }

  private static func record(
    _ opens: [Open], of customer: CustomerID, in database: any Querying
  ) async throws -> [ContactID?] {
    let rows = try await database.afterDeadlocks {
      try await $0.query(
        OpenQueries.record, customer.rawValue, opens.map(\.link.sendout.rawValue), opens.map(\.link.device.rawValue),
        opens.map(\.via.rawValue), opens.map(\.reader.rawValue))
    }
    var contacts = [ContactID?](repeating: nil, count: opens.count)
    for row in rows {
      let (place, contact) = try row.decode(Int.self, Int64.self)
      contacts[place - 1] = ContactID(contact)
    }
    for (open, contact) in zip(opens, contacts) where contact != nil { counter(open.via, open.reader).increment() }
    return contacts
  }

  private static let counters: [OpenVia: [OpenReader: Counter]] = Dictionary(
    uniqueKeysWithValues: OpenVia.allCases.map { via in
      let readers = OpenReader.allCases.map { reader in
        (
          reader,
          Counter(label: "pushcart_opens_total", dimensions: [("via", via.rawValue), ("reader", reader.rawValue)])
        )
      }
      return (via, Dictionary(uniqueKeysWithValues: readers))
    })

  private static func counter(_ via: OpenVia, _ reader: OpenReader) -> Counter {
    counters[via]?[reader] ?? Counter(label: "pushcart_opens_total")
  }
}

extension Querying {
  /// Runs a statement again when it was the victim of a deadlock: opens and settlements of the same pushes may meet.
  fileprivate func afterDeadlocks<Answer>(_ body: (any Querying) async throws -> Answer) async throws -> Answer {
    for _ in 0..<3 {
      do {
        return try await body(self)
      } catch PostgresError.server(let error) where error.sqlState == ServerError.deadlockDetected {}
    }
    return try await body(self)
  }
}
