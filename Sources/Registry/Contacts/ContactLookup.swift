public import Postgres
import Synchronization
public import Wire

/// Finds contacts for requests, many to a statement.
///
/// A lookup that finds the line empty leads: it asks the database at once, for itself alone. What arrives meanwhile waits, and
/// when the leader has its answer the first of those leads for all of them. So under load one statement serves dozens, a lone
/// lookup waits for nobody, and nobody waits for more than one statement before its own. Make one for each process.
public final class ContactLookup: Sendable {
  /// Most lookups of one statement.
  static let maximum = 256

  private struct Waiting {
    let originalID: String
    let continuation: UnsafeContinuation<Turn, any Error>
  }

  private enum Turn {
    case answered(Contact?)
    case leads([Waiting])
  }

  private let database: any Querying
  /// Who waits for the lookup under way; no entry where none is.
  private let lines = Mutex<[CustomerID: [Waiting]]>([:])

  public init(_ database: any Querying) { self.database = database }

  /// The contact of that id with its devices of these apps, valid or not; `nil` if the customer has no such contact.
  public func find(_ customer: CustomerID, originalID: String, apps: [PushAppID]) async throws -> Contact? {
    // No contact can have such an id, and PostgreSQL would refuse it.
    guard !originalID.utf8.contains(0) else { return nil }
    var contact: Contact?
    switch try await turn(customer, originalID) {
    case .answered(let answer): contact = answer
    case .leads(let others): contact = try await lead(customer, originalID, others)
    }
    contact?.devices.removeAll { !apps.contains($0.app) }
    return contact
  }

  private func turn(_ customer: CustomerID, _ originalID: String) async throws -> Turn {
    try await withUnsafeThrowingContinuation { continuation in
      let leads = lines.withLock { lines in
        guard lines[customer] != nil else {
          lines[customer] = []
          return true
        }
        lines[customer]?.append(Waiting(originalID: originalID, continuation: continuation))
        return false
      }
      if leads { continuation.resume(returning: .leads([])) }
    }
  }

  private func lead(_ customer: CustomerID, _ originalID: String, _ others: [Waiting]) async throws -> Contact? {
    do {
      let contacts = try await contacts(customer, [originalID] + others.map(\.originalID))
      handOver(customer)
      for (other, contact) in zip(others, contacts.dropFirst()) {
        other.continuation.resume(returning: .answered(contact))
      }
      return contacts[0]
    } catch {
      // While the database is away it is away for those behind as well, and they have waited already.
      if Outage(error) != nil { dismiss(customer, error) } else { handOver(customer) }
      for other in others { other.continuation.resume(throwing: error) }
      throw error
    }
  }

  private func contacts(_ customer: CustomerID, _ originalIDs: [String]) async throws -> [Contact?] {
    var contacts = [Contact?](repeating: nil, count: originalIDs.count)
    for row in try await database.query(ContactQueries.findMany, customer.rawValue, originalIDs) {
      let row = try ContactRow(row)
      let at = row.ordinal - 1
      if contacts[at] == nil { contacts[at] = row.contact }
      if let device = row.device { contacts[at]?.devices.append(device) }
    }
    for at in contacts.indices { contacts[at]?.devices.sort { $0.id < $1.id } }
    return contacts
  }

  /// Lets the first of those who wait lead for all of them.
  private func handOver(_ customer: CustomerID) {
    let next: ArraySlice<Waiting> = lines.withLock { lines in
      guard let line = lines[customer], !line.isEmpty else {
        lines[customer] = nil
        return []
      }
      lines[customer]?.removeFirst(min(line.count, Self.maximum))
      return line.prefix(Self.maximum)
    }
    next.first?.continuation.resume(returning: .leads(Array(next.dropFirst())))
  }

  private func dismiss(_ customer: CustomerID, _ error: any Error) {
    let line = lines.withLock { $0.removeValue(forKey: customer) } ?? []
    for waiting in line { waiting.continuation.resume(throwing: error) }
  }
}
