package import Postgres
import Registry
package import Wire

/// The store of segments. It also finds the contacts that meet a filter, and explains why one does.
package struct Segments: NumberedStore {
  package typealias Reply = SegmentReply
  package let database: any Querying
  /// Days for which the hub keeps the ledger after a sendout's end; `nil` for ever. A customer can have fewer.
  let retentionDays: Int32?

  package init(_ database: any Querying) { self.init(database, retentionDays: nil) }

  package init(_ database: any Querying, retentionDays: Int32?) {
    self.database = database
    self.retentionDays = retentionDays
  }

  package static let table = NumberedTable(
    "segment",
    columns: [
      "name": "text", "description": "text", "static": "bool", "filter": "json", "text": "text", "condition": "text",
      "literals": "text[]",
    ], size: "coalesce(octet_length(filter::text), 0) + coalesce(octet_length(text), 0)")

  package static let initial = SegmentRequest(static: false)

  /// Most conditions of a filter, with those of the segments that it names.
  package static let mostConditions = 1000
  /// How deep an audience can nest segments. A segment's own filter can nest one level fewer.
  package static let mostLevels = 8

  /// - Throws: `RegistryError.invalid`, naming the field.
  package func values(
    _ customer: CustomerID, _ segment: SegmentRequest
  ) async throws -> [String: any PostgresEncodable] {
    let name = segment.name ?? ""
    try check(["name": name, "description": segment.description])
    let isStatic = segment.static == true
    if isStatic, segment.filter != nil {
      throw RegistryError.invalid(
        field: "filter", problem: "does not belong to a static segment, whose contacts are put into it")
    }
    guard isStatic || segment.filter != nil else {
      throw RegistryError.invalid(field: "filter", problem: "is missing: give one, or \"static\": true")
    }
    var resolved: ResolvedFilter?
    if let filter = segment.filter { resolved = try await resolveDefinition(customer, filter) }
    let sql = resolved?.reportSQL
    return [
      "name": name, "description": segment.description, "static": isStatic,
      "filter": try resolved.map { JSONDocument(try Self.json($0.filter)) }, "text": resolved?.filter.text,
      "condition": sql?.template, "literals": sql?.literals,
    ]
  }

  /// Changes name, description or filter. The caller has to run it in a transaction, as it locks the row.
  /// - Throws: `RegistryError.numberUnknown`, `.nameTaken`, `.invalid`.
  package func rewrite(
    _ customer: CustomerID, _ number: SegmentID, _ request: SegmentRequest
  ) async throws -> (before: SegmentReply, after: SegmentReply) {
    if let filter = request.filter {
      // The row is locked before those of segments inside, so that two concurrent changes cannot make a cycle.
      guard try await !database.query(Self.table.lock, customer.rawValue, number.rawValue).isEmpty else {
        throw RegistryError.numberUnknown("segment")
      }
      let resolved = try await resolveDefinition(customer, filter)
      if resolved.segments[number.rawValue] != nil {
        throw RegistryError.invalid(field: "filter", problem: "leads back to segment \(number) itself")
      }
    }
    return try await change(customer, number, request)
  }

  /// Removes a segment that no other one names. The caller looks for sendouts that do, in the same transaction, once this has locked the row.
  /// - Returns: the segment as it was.
  /// - Throws: `RegistryError.numberUnknown`, `.inUse`.
  package func removeUnused(
    _ customer: CustomerID, _ number: SegmentID, unless: () async throws -> String?
  ) async throws -> SegmentReply {
    guard try await !database.query(SegmentQueries.lockForRemoval, customer.rawValue, number.rawValue).isEmpty else {
      throw RegistryError.numberUnknown("segment")
    }
    if let user = try await user(customer, segment: number) {
      throw RegistryError.inUse("segment", by: "segment \(user)")
    }
    if let user = try await unless() { throw RegistryError.inUse("segment", by: user) }
    return try await remove(customer, number)
  }

  /// The name of a segment whose filter names this one, or this list.
  package func user(
    _ customer: CustomerID, segment: SegmentID? = nil, list: ListID? = nil
  ) async throws -> String? {
    try await database.query(SegmentQueries.using, customer.rawValue, segment?.rawValue, list?.rawValue).first
      .map { try $0.decode(String.self) }
  }

  static func json(_ filter: Filter) throws -> String {
    String(decoding: try JSONCoding.encode(filter), as: UTF8.self)
  }
}
