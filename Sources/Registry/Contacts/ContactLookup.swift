public import Postgres
public import Wire

/// Finds contacts for requests, many to a statement. Look-ups that arrive while a statement is under way share the next
/// one. A lone look-up waits for nobody. Make one for each process.
public final class ContactLookup: Sendable {
  private struct Question: Sendable {
    let originalID: String
    let apps: [PushAppID]
  }

  private let batcher: Batcher<Question, Contact?>

  /// - Parameter limit: lookups that may wait or be under way, of all customers together. One customer's may be nearly half of
  ///   them. One more is refused at once.
  public init(_ database: any Querying, limit: Int = 8192) {
    batcher = Batcher(
      BatchLimits(batchWeight: 256, worthAnother: 16, items: limit),
      full: PostgresError.busy("too many lookups are waiting already"), on: database.executor
    ) { customer, questions in
      try await Self.contacts(CustomerID(customer), questions, in: database)
    }
  }

  /// The contact of that id with its devices of these apps, valid or not; `nil` if the customer has no such contact.
  /// - Throws: a `DatabaseUnavailable` when the database is away, or too many wait already.
  public func find(_ customer: CustomerID, originalID: String, apps: [PushAppID]) async throws -> Contact? {
    // No contact can have such an id, and PostgreSQL would refuse it.
    guard !originalID.utf8.contains(0) else { return nil }
    return try await batcher.answer(customer.rawValue, Question(originalID: originalID, apps: apps))
  }

  /// As `find`, without a task that would wait.
  /// - Parameter done: called exactly once, on any thread, soon to return.
  public func find(
    _ customer: CustomerID, originalID: String, apps: [PushAppID],
    then done: @escaping @Sendable (Result<Contact?, any Error>) -> Void
  ) {
    guard !originalID.utf8.contains(0) else { return done(.success(nil)) }
    batcher.answer(customer.rawValue, Question(originalID: originalID, apps: apps), then: done)
  }

  private static func contacts(
    _ customer: CustomerID, _ questions: [Question], in database: any Querying,
    by statement: Statement = ContactQueries.findMany
  ) async throws -> [Contact?] {
    let apps = questions.reduce(into: Set<PushAppID>()) { $0.formUnion($1.apps) }
    var contacts = [Contact?](repeating: nil, count: questions.count)
    var found = [Int](repeating: 0, count: questions.count)
    for row in try await database.query(
      statement, customer.rawValue, questions.map(\.originalID), apps.map(\.rawValue))
    {
      let row = try ContactRow(row)
      let at = row.ordinal - 1
      found[at] += 1
      if contacts[at] == nil { contacts[at] = row.contact }
      // Others in the statement may have asked about other apps.
      if let device = row.device, questions[at].apps.contains(device.app) { contacts[at]?.devices.append(device) }
    }
    if found.contains(where: { $0 > Device.maximumOfContact }) {
      return try await Self.contacts(customer, questions, in: database, by: ContactQueries.findOldest)
    }
    for at in contacts.indices { contacts[at]?.devices.sort { $0.id < $1.id } }
    return contacts
  }
}
