import Content
import Delivery
import Logging
import Postgres
import Registry
import Wire

/// Somebody opened a page.
struct Visit: Sendable {
  /// Whom the push was for; `nil` if there is no such push.
  let contact: ContactID?
  /// Who has the phone now; `nil` if the device is gone.
  let recipient: Recipient?
}

/// Receives a customer's visits together.
struct VisitDesk: Sendable {
  let database: any Querying
  let logger: Logger

  /// Records the opens and reads the recipients, side by side.
  func receive(_ opens: [Open], of customer: CustomerID) async throws -> [Visit] {
    async let contacts = record(opens, of: customer)
    let found = try await Devices(database).recipients(customer, Array(Set(opens.map(\.link.device))))
    let recipients = Dictionary(found.map { ($0.device.id, $0) }) { first, _ in first }
    return zip(opens, try await contacts).map { open, contact in
      Visit(contact: contact, recipient: recipients[open.link.device])
    }
  }

  /// Whom the pushes were for, whether the opens can be written or not.
  private func record(_ opens: [Open], of customer: CustomerID) async throws -> [ContactID?] {
    let log = OpenLog(database)
    do {
      return try await log.record(opens, of: customer)
    } catch {
      let contacts = try await log.contacts(of: opens, of: customer)
      logger.warning("opens were not counted", metadata: ["count": "\(opens.count)", "error": "\(error)"])
      return contacts
    }
  }
}
