import Foundation
import Postgres
import Registry
import Support
import Wire

@testable import DataInOut

/// A customer that imports files, and what they leave behind.
struct ImportBench: Sendable {
  let database: TestDatabase
  let customer: CustomerID
  /// Rows of a portion.
  let portion: Int64
  let limits: ImportUpload.Limits

  var pool: Pool { database.pool }
  var work: ImportWork { ImportWork(pool, suppressions: .ofTests, endpoints: EndpointRules(), portion: portion) }
  var upload: ImportUpload { ImportUpload(pool, endpoints: EndpointRules(), limits: limits) }

  init(
    _ database: TestDatabase, portion: Int64 = 2000, limits: ImportUpload.Limits = ImportUpload.Limits()
  ) async throws {
    self.database = database
    self.portion = portion
    self.limits = limits
    customer = try await database.customer()
  }

  /// A text in pieces of so many bytes, as a client sends it.
  static func chunks(_ bytes: [UInt8], piece: Int = 1000) -> AsyncStream<[UInt8]> {
    AsyncStream { stream in
      for start in stride(from: 0, to: bytes.count, by: piece) { stream.yield(Array(bytes[start...].prefix(piece))) }
      stream.finish()
    }
  }

  /// Adds an import and sends its file, without merging anything.
  func send(_ file: [UInt8], _ request: ImportRequest = ImportRequest(), of other: CustomerID? = nil) async throws
    -> ImportReply
  {
    let customer = other ?? customer
    let new = try await Imports(pool).add(customer, request)
    let received = try await upload.receive(customer, new.importId, Self.chunks(file), length: nil)
    return try await Imports(pool).finish(customer, received)
  }

  /// Does what is due until nothing is.
  func finish(_ number: ImportID) async throws -> ImportReply {
    while try await work.step(customer, number) {}
    return try await Imports(pool).find(customer, number)
  }

  func run(_ file: String, _ request: ImportRequest = ImportRequest()) async throws -> ImportReply {
    try await finish(try await send(Array(file.utf8), request).importId)
  }

  func list(_ name: String = "newsletter") async throws -> ListID {
    try await ContactLists(pool).add(customer, name: name).listId
  }

  func staticSegment(_ name: String = "VIP") async throws -> SegmentID {
    SegmentID(
      try await database.query(
        "INSERT INTO segment (customer_id, name, static) VALUES ($1, $2, true) RETURNING segment_id", customer.rawValue,
        name)[0]
        .decode(Int64.self))
  }

  /// Original id and first name of each contact, in order.
  func contacts() async throws -> [String] {
    try await database.query(
      """
      SELECT original_id || coalesce(' ' || first_name, '') FROM contact WHERE customer_id = $1
      ORDER BY original_id COLLATE "C"
      """, customer.rawValue
    ).map { try $0.decode(String.self) }
  }

  func members(_ list: ListID) async throws -> [String] {
    try await database.query(
      """
      SELECT original_id FROM list_member JOIN contact USING (customer_id, contact_id)
      WHERE customer_id = $1 AND list_id = $2 ORDER BY original_id COLLATE "C"
      """, customer.rawValue, list.rawValue
    ).map { try $0.decode(String.self) }
  }

  /// Contacts that were registered an hour ago, so that a file is newer.
  func add(_ contacts: [(id: String, firstName: String?, email: String?, number: String?)]) async throws {
    for contact in contacts {
      try await database.query(
        """
        INSERT INTO contact (customer_id, original_id, first_name, email_address, mobile_number, updated_at)
        VALUES ($1, $2, $3, $4, $5, now() - interval '1 hour')
        """, customer.rawValue, contact.id, contact.firstName, contact.email, contact.number)
    }
  }

  func rejects(_ number: ImportID) async throws -> String {
    String(decoding: try await Imports(pool).rejects(customer, number).csv, as: UTF8.self)
  }
}

/// What has become of an import's rows.
struct Counts: Equatable, CustomStringConvertible {
  var added = 0
  var updated = 0
  var unchanged = 0
  var duplicates = 0
  var skipped = 0
  var rejected = 0

  init(added: Int = 0, updated: Int = 0, unchanged: Int = 0, duplicates: Int = 0, skipped: Int = 0, rejected: Int = 0) {
    (self.added, self.updated, self.unchanged) = (added, updated, unchanged)
    (self.duplicates, self.skipped, self.rejected) = (duplicates, skipped, rejected)
  }

  init(_ reply: ImportReply) {
    self.init(
      added: reply.added, updated: reply.updated, unchanged: reply.unchanged, duplicates: reply.duplicates,
      skipped: reply.skipped, rejected: reply.rejected)
  }

  var sum: Int { added + updated + unchanged + duplicates + skipped + rejected }
  var description: String {
    "added \(added), updated \(updated), unchanged \(unchanged), duplicates \(duplicates), skipped \(skipped), rejected \(rejected)"
  }
}
