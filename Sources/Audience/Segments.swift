package import Postgres
package import Registry
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

  package static let erasure = PersonalTable.Erasure.stays(
    "Filters are the customer's own words. The reply names those that name the person.")

  package static let initial = SegmentRequest(static: false)

  /// Most conditions of a filter, with those of the segments that it names.
  package static let mostConditions = 1000
  /// Most of these that name a sendout. For each PostgreSQL keeps who has pushes of it in memory: 135 MB for a million contacts.
  package static let mostOfSendouts = 16
  /// How deep an audience can nest segments. A segment's own filter can nest one level fewer.
  package static let mostLevels = 8

  /// A filter that went through JSON once more would not know where its words stood.
  package func completed(_ request: SegmentRequest) throws -> SegmentRequest {
    var segment = try request.applied(to: Self.initial)
    segment.filter = request.filter
    return segment
  }

  /// - Throws: `RegistryError.invalid`, naming the field.
  package func values(
    _ customer: CustomerID, _ segment: SegmentRequest
  ) async throws -> [String: any PostgresEncodable] {
    let name = segment.name ?? ""
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
        let problem = "leads back to segment \(number) itself"
        throw RegistryError.invalid(
          field: "filter",
          problem: resolved.place(leadingTo: [.number(number.rawValue)]).sentence("this \(problem)", ofWhole: problem))
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

// MARK: - Contacts

extension Segments {
  /// The contacts that meet a filter, by number.
  package func contacts(
    _ customer: CustomerID, _ filter: ResolvedFilter, _ page: PageRequest<ContactID>
  ) async throws -> Page<ContactDetails, ContactID> {
    let rows = try await filter.ofPage.rows(page.limit + 1, database, of: customer) { database, sql, first in
      try await database.query(
        SegmentQueries.search(sql, amongFirst: first), customer.rawValue, sql.literals, page.after?.rawValue ?? 0,
        Int64(page.limit + 1))
    }
    return page.page(of: try rows.map { try $0.reply(ContactDetails.self) }, cursor: \.contactId)
  }

  /// The segments that a contact is in now, by number, of the customer's first `ContactDetails.mostSegments`. A segment whose filter cannot be
  /// asked any more is left out: one that looks back further than pushes are kept, or one that segments inside have made too large.
  /// - Throws: `RegistryError.contactUnknown`, if the customer has a segment.
  package func containing(_ customer: CustomerID, originalID: String) async throws -> [SegmentReply] {
    var asked: [(segment: SegmentReply, filter: ResolvedFilter)] = []
    for segment in try await list(customer, PageRequest(limit: ContactDetails.mostSegments)).items {
      do {
        asked.append((segment, try await resolve(customer, .segment(.number(segment.segmentId.rawValue)))))
      } catch RegistryError.invalid {
        continue
      }
    }
    var found: [SegmentReply] = []
    while !asked.isEmpty {
      // One statement has no more conditions than one filter may have.
      var size = 0
      let portion = asked.prefix { each in
        size += each.filter.size
        return size <= Self.mostConditions
      }
      asked.removeFirst(portion.count)
      var definitions: SegmentDefinitions = [:]
      for each in portion { definitions.merge(each.filter.segments) { first, _ in first } }
      var compiler = FilterCompiler(definitions, ofOne: true)
      let conditions = portion.map { FilterSQL(template: compiler.condition($0.filter.filter).sql, literals: []) }
      let row = try await row(
        customer, conditions.map { ($0, nil) }, literals: compiler.literals, originalID: originalID)
      for (index, each) in portion.enumerated() {
        if try row.column(index * 2, as: Bool.self) { found.append(each.segment) }
      }
    }
    return found
  }

  /// Whether a contact meets a filter, and each node of it.
  /// - Throws: `RegistryError.contactUnknown`.
  package func explain(
    _ customer: CustomerID, _ filter: ResolvedFilter, originalID: String
  ) async throws -> SegmentExplainReply {
    let parts = filter.explained
    var compiler = FilterCompiler(filter.segments, ofOne: true)
    var nodes: [(condition: FilterSQL, value: String?)] = []
    for part in parts {
      let condition = compiler.condition(part)
      nodes.append(
        (FilterSQL(template: filter.dated(condition.sql), literals: []), compiler.value(part).map(filter.dated)))
    }
    let row = try await row(customer, nodes, literals: compiler.literals, originalID: originalID)
    let replies = try parts.enumerated().map { index, part in
      SegmentExplainReply.Node(
        text: part.text, result: try row.column(index * 2, as: Bool.self),
        value: try row.column(index * 2 + 1, as: String?.self))
    }
    return SegmentExplainReply(result: replies[0].result, nodes: replies, filter: filter.filter)
  }

  /// What a contact has of each of these conditions, as `SegmentQueries.explain` gives it.
  /// - Throws: `RegistryError.contactUnknown`.
  private func row(
    _ customer: CustomerID, _ nodes: [(condition: FilterSQL, value: String?)], literals: [String], originalID: String
  ) async throws -> Row {
    guard !originalID.utf8.contains(0),
      let row = try await database.query(SegmentQueries.explain(nodes), customer.rawValue, literals, originalID).first
    else { throw RegistryError.contactUnknown(originalID: originalID) }
    return row
  }

  /// Puts contacts into a static segment, and takes others out of it.
  /// - Throws: `RegistryError.numberUnknown`, `.invalid`.
  package func changeContacts(
    _ customer: CustomerID, _ number: SegmentID, _ request: MembersRequest
  ) async throws -> MembersChange {
    let (add, remove) = try request.checked()
    guard try await find(customer, number).static else {
      throw RegistryError.invalid(field: "id", problem: "names a segment with a filter: change the filter instead")
    }
    let (joined, strangers) = try await change(SegmentMemberQueries.add, customer, number, add)
    let (left, others) = try await change(SegmentMemberQueries.remove, customer, number, remove)
    return MembersChange(joined: joined, left: left, unknown: strangers + others)
  }

  private func change(
    _ statement: Statement, _ customer: CustomerID, _ number: SegmentID, _ originalIDs: [String]
  ) async throws -> (changed: [ContactID], unknown: [String]) {
    guard !originalIDs.isEmpty else { return ([], []) }
    var (changed, unknown): ([ContactID], [String]) = ([], [])
    for row in try await database.query(statement, customer.rawValue, number.rawValue, originalIDs) {
      let (id, contact, isChanged) = try row.decode(String.self, Int64?.self, Bool.self)
      if contact == nil { unknown.append(id) }
      if let contact, isChanged { changed.append(ContactID(contact)) }
    }
    return (changed, unknown)
  }
}

extension ResolvedFilter {
  /// Most nodes that are explained: PostgreSQL takes no more than 1,664 columns.
  private static let mostExplained = 500

  /// The filter's nodes, each before those that explain it.
  var explained: [Filter] {
    var nodes: [Filter] = []
    func add(_ node: Filter) {
      guard nodes.count < Self.mostExplained else { return }
      nodes.append(node)
      for inside in explanation(of: node) { add(inside) }
    }
    add(filter)
    return nodes
  }
}
