import FoundationEssentials
package import Postgres
package import Registry
import Retrying
package import Wire

/// The store of erasures: shows all that is stored of a person, and erases it.
///
/// The contact, its devices and memberships go in one transaction. All else goes in portions, a step for each table, by any hub's
/// `StepRunner`. What the tables hold of a person, their rooms say (`PersonalTable`).
package struct Erasures: Sendable {
  private let database: any Querying
  private let tables: [PersonalTable]

  /// - Parameter tables: of all rooms, the contact's last.
  package init(_ database: any Querying, _ tables: [PersonalTable]) {
    self.database = database
    self.tables = tables
  }

  /// Most rows that are shown of a table.
  package static let mostRows = 1000

  /// All that is stored of a person, by table.
  /// - Throws: `RegistryError.contactUnknown`.
  package func data(_ customer: CustomerID, _ originalID: String) async throws -> ContactDataReply {
    guard let person = try await Person.find(customer, originalID, in: database) else {
      throw RegistryError.contactUnknown(originalID: originalID)
    }
    var reply = ContactDataReply(originalId: originalID, contactId: person.contact, data: [:], cut: [])
    for table in tables {
      guard let shown = table.shown else { continue }
      let rows = try await database.query(
        shown, customer.rawValue, person.contact.rawValue, person.names, Int64(Self.mostRows + 1))
      var values: [JSONValue] = []
      for row in rows {
        if try values.count == Self.mostRows || row.isBeyondPage {
          reply.cut.append(table.name)
          break
        }
        values.append(try JSONValue(json: Array((try row.get("shown") as JSONDocument).text.utf8), rules: .own))
      }
      if !values.isEmpty { reply.data[UTF8String(table.name)] = .array(values) }
    }
    return reply
  }

  /// Erases the contact at once, and leaves the rest to the hubs. The caller has to run it in a transaction. While an erasure of the contact is
  /// under way, that one is returned.
  /// - Throws: `RegistryError.contactUnknown`.
  package func erase(_ customer: CustomerID, _ originalID: String) async throws -> (
    erasure: Int64, names: [String], isNew: Bool
  ) {
    guard let person = try await Person.find(customer, originalID, locking: true, in: database) else {
      guard !originalID.utf8.contains(0),
        let row = try await database.query(ErasureQueries.underWay, customer.rawValue, originalID).first
      else { throw RegistryError.contactUnknown(originalID: originalID) }
      let (number, names) = try row.decode(Int64.self, [String].self)
      return (number, names, false)
    }
    let number = try await database.query(
      ErasureQueries.add, customer.rawValue, person.contact.rawValue, person.names)[0].decode(Int64.self)
    for table in tables {
      if case .atOnce(let statement) = table.erasure {
        try await database.query(statement, customer.rawValue, person.contact.rawValue)
      }
    }
    try await database.notify(.step, "")
    return (number, person.names, true)
  }

  /// Erasures that are stuck, as their next steps fail again and again.
  package static func failing(_ customer: CustomerID, in database: any Querying) async throws -> [FailingErasure] {
    try await database.query(ErasureQueries.failing, customer.rawValue, Int32(RetryPolicy.mostStepFailures)).map {
      row in
      let (number, contact, failure, since) = try row.decode(Int64.self, Int64.self, String.self, Date.self)
      return FailingErasure(
        number: ErasureID(number), contact: ContactID(contact), failure: failure, since: Timestamp(since))
    }
  }

  /// Deletes the records of erasures that are long over.
  package static func forgetExpired(_ customer: CustomerID, in database: any Querying) async throws {
    try await database.deleteInPortions(ErasureQueries.forget, customer.rawValue)
  }

  /// - Throws: `RegistryError.numberUnknown`.
  package func find(_ customer: CustomerID, _ number: Int64, filters: [String]) async throws -> ErasureReply {
    guard let row = try await database.query(ErasureQueries.find, customer.rawValue, number).first else {
      throw RegistryError.numberUnknown("erasure")
    }
    let (contact, isOver) = try row.decode(Int64.self, Bool.self)
    return ErasureReply(
      erasureId: ErasureID(number), contactId: ContactID(contact), state: isOver ? .erased : .erasing, filters: filters)
  }
}

/// An erasure that is stuck.
package struct FailingErasure: Sendable {
  package let number: ErasureID
  package let contact: ContactID
  /// Why its next step failed last.
  package let failure: String
  package let since: Timestamp
}

/// Statements on `erasure`. `$1` is the customer, and `$2` the erasure where nothing else is said.
enum ErasureQueries {
  /// `$2` is the contact, `$3` what names the person.
  static let add = Statement(
    "erasure.add", .write,
    "INSERT INTO erasure (customer_id, contact_id, names) VALUES ($1::bigint, $2::bigint, $3::text[]) RETURNING erasure_id"
  )

  /// An erasure under way of the original id `$2`, which is the first of the names.
  static let underWay = Statement(
    "erasure.under_way", .read,
    """
    SELECT erasure_id, names FROM erasure
     WHERE customer_id = $1::bigint AND ended_at IS NULL AND names[1] = $2::text ORDER BY erasure_id DESC LIMIT 1
    """)

  static let find = Statement(
    "erasure.find", .read,
    "SELECT contact_id, ended_at IS NOT NULL FROM erasure WHERE customer_id = $1::bigint AND erasure_id = $2::bigint")

  static let steps = StepQueries("erasure", while: "ended_at IS NULL")

  /// Erasures that are stuck: those whose next step has failed `$2` times or more.
  static let failing = Statement(
    "erasure.failing", .read,
    """
    SELECT erasure_id, contact_id, failure, failing_since FROM erasure
     WHERE customer_id = $1::bigint AND ended_at IS NULL AND failures >= $2::int4 ORDER BY erasure_id LIMIT 20
    """)

  /// How far it is. Locks it; no row if another hub has it, or if it is over.
  static let lock = Statement(
    "erasure.lock", .write,
    """
    SELECT contact_id, names, step, cursor FROM erasure
     WHERE customer_id = $1::bigint AND erasure_id = $2::bigint AND ended_at IS NULL FOR NO KEY UPDATE SKIP LOCKED
    """)

  static let advance = Statement(
    "erasure.advance", .write,
    "UPDATE erasure SET step = $3::text, cursor = $4::bigint[] WHERE customer_id = $1::bigint AND erasure_id = $2::bigint"
  )

  static let end = Statement(
    "erasure.end", .write,
    """
    UPDATE erasure SET step = NULL, cursor = '{0,0}', names = NULL, ended_at = now()
     WHERE customer_id = $1::bigint AND erasure_id = $2::bigint
    """)

  static let forget = Statement(
    "erasure.forget", .write,
    Portions.delete(
      from: "erasure", by: "created_at", before: "now() - interval '1 year'", "AND ended_at IS NOT NULL"))

  static let all: [Statement] =
    steps.all + [add, underWay, find, failing, lock, advance, end, forget]
}
