public import Postgres
public import Wire

/// The store of contacts. They are written by `RegistrationBatcher`.
public struct Contacts: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The contact of that id with its devices of these apps, valid or not; `nil` if the customer has no such contact.
  public func find(_ customer: CustomerID, originalID: String, apps: [PushAppID]) async throws -> Contact? {
    // No contact can have such an id, and PostgreSQL would refuse it.
    guard !originalID.utf8.contains(0) else { return nil }
    let rows = try await database.query(
      ContactQueries.find, customer.rawValue, originalID, apps.map(\.rawValue))
    var contact: Contact?
    for row in rows {
      let row = try ContactRow(row)
      if contact == nil { contact = row.contact }
      if let device = row.device { contact?.devices.append(device) }
    }
    contact?.devices.sort { $0.id < $1.id }
    return contact
  }
}
