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
    let apps: [PushAppID]
    let continuation: UnsafeContinuation<Turn, any Error>
  }

  private enum Turn {
    case answered(Contact?)
    case leads([Waiting])
  }

  private struct Lines {
    /// Who waits for the lookup under way; no entry where none is.
    var waiting: [CustomerID: [Waiting]] = [:]
    /// All of them.
    var count = 0
  }

  private let database: any Querying
  private let limit: Int
  private let lines = Mutex(Lines())

  /// - Parameter limit: lookups that may wait, of all customers together; one more is refused at once.
  public init(_ database: any Querying, limit: Int = 4096) {
    self.database = database
    self.limit = limit
  }

  /// The contact of that id with its devices of these apps, valid or not; `nil` if the customer has no such contact.
  /// - Throws: an `Outage` when the database is away, or too many wait already.
  public func find(_ customer: CustomerID, originalID: String, apps: [PushAppID]) async throws -> Contact? {
    // No contact can have such an id, and PostgreSQL would refuse it.
    guard !originalID.utf8.contains(0) else { return nil }
    var contact: Contact?
    switch try await turn(customer, originalID, apps) {
    case .answered(let answer): contact = answer
    case .leads(let others): contact = try await lead(customer, originalID, apps, others)
    }
    // Others in the statement may have asked about other apps.
    contact?.devices.removeAll { !apps.contains($0.app) }
    return contact
  }

  private func turn(_ customer: CustomerID, _ originalID: String, _ apps: [PushAppID]) async throws -> Turn {
    try await withUnsafeThrowingContinuation { continuation in
      let answer: Result<Turn, any Error>? = lines.withLock { lines in
        guard lines.waiting[customer] != nil else {
          lines.waiting[customer] = []
          return .success(.leads([]))
        }
        guard lines.count < limit else {
          return .failure(PostgresError.busy("\(limit) lookups are waiting already"))
        }
        lines.count += 1
        lines.waiting[customer]?.append(Waiting(originalID: originalID, apps: apps, continuation: continuation))
        return nil
      }
      if let answer { continuation.resume(with: answer) }
    }
  }

  private func lead(
    _ customer: CustomerID, _ originalID: String, _ apps: [PushAppID], _ others: [Waiting]
  ) async throws -> Contact? {
    do {
      let allApps = others.reduce(into: Set(apps)) { $0.formUnion($1.apps) }
      let contacts = try await contacts(customer, [originalID] + others.map(\.originalID), allApps)
      handOver(customer)
      for (other, contact) in zip(others, contacts.dropFirst()) {
        other.continuation.resume(returning: .answered(contact))
      }
      return contacts[0]
    } catch let error as CancellationError {
      // It is the leader's own caller that has gone: the next one asks for the rest.
      if let next = others.first {
        next.continuation.resume(returning: .leads(Array(others.dropFirst())))
      } else {
        handOver(customer)
      }
      throw error
    } catch {
      // While the database is away it is away for those behind as well, and they have waited already.
      if Outage(error) != nil { dismiss(customer, error) } else { handOver(customer) }
      for other in others { other.continuation.resume(throwing: error) }
      throw error
    }
  }

  private func contacts(
    _ customer: CustomerID, _ originalIDs: [String], _ apps: Set<PushAppID>
  ) async throws -> [Contact?] {
    var contacts = [Contact?](repeating: nil, count: originalIDs.count)
    for row in try await database.query(
      ContactQueries.findMany, customer.rawValue, originalIDs, apps.map(\.rawValue))
    {
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
      guard let line = lines.waiting[customer], !line.isEmpty else {
        lines.waiting[customer] = nil
        return []
      }
      let next = line.prefix(Self.maximum)
      lines.waiting[customer]?.removeFirst(next.count)
      lines.count -= next.count
      return next
    }
    next.first?.continuation.resume(returning: .leads(Array(next.dropFirst())))
  }

  private func dismiss(_ customer: CustomerID, _ error: any Error) {
    let line = lines.withLock { lines in
      let line = lines.waiting.removeValue(forKey: customer) ?? []
      lines.count -= line.count
      return line
    }
    for waiting in line { waiting.continuation.resume(throwing: error) }
  }
}
