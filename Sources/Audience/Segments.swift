package import Postgres
import Registry
package import Wire

/// The store of segments, and what else a filter is good for: to find contacts, and to explain who meets it.
package struct Segments: NumberedStore {
  package typealias Reply = SegmentReply
  package let database: any Querying
  /// Days for which the hub keeps the ledger after a sendout's end; `nil` for ever. A customer can have fewer.
  private let retentionDays: Int32?

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
  /// How deep segments can be in one another: as many an audience leads through, and a segment has one less inside, as it is one itself.
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
      // The row is locked before those of segments inside, so that two changes at a time cannot close a circle.
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
  /// - Returns: what it was.
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

// MARK: - Filters

extension Segments {
  /// Looks up the lists and segments that a filter names, and those that they name.
  /// - Parameters:
  ///   - field: of the request, for errors.
  ///   - isHolding: whether segments stay until the transaction ends.
  ///   - mostLevels: how deep segments may be in one another.
  /// - Throws: `RegistryError.invalid` for what does not exist, and for what looks back further than the ledger is kept.
  package func resolve(
    _ customer: CustomerID, _ filter: Filter, field: String = "filter", holding isHolding: Bool = false,
    mostLevels: Int = Segments.mostLevels
  ) async throws -> ResolvedFilter {
    let lists = try await listNumbers(customer, filter, field)
    var names: [UTF8String: Int64] = [:]
    var found: SegmentDefinitions = [:]
    var wanted = filter.segmentReferences
    var level = 0
    while !wanted.isEmpty {
      guard level < mostLevels else {
        throw RegistryError.invalid(field: field, problem: "has more than \(mostLevels) segments in one another")
      }
      level += 1
      var next: [FilterReference] = []
      for (number, name, definition) in try await definitions(customer, wanted, holding: isHolding) {
        names[UTF8String(name)] = number
        guard found.updateValue(definition, forKey: number) == nil else { continue }
        if case .filter(let filter) = definition { next += filter.segmentReferences }
      }
      if level == 1 { try requireAll(wanted, in: found, names, field) }
      wanted = next.filter { if case .number(let number) = $0 { found[number] == nil } else { true } }
    }
    let resolved = ResolvedFilter(
      filter.renamed { reference in
        if case .name(let name) = reference { .number(lists[name] ?? 0) } else { reference }
      } segment: { reference in
        if case .name(let name) = reference { .number(names[name] ?? 0) } else { reference }
      }, found)
    try checkSize(of: resolved, field)
    try await checkRetention(customer, resolved, field)
    return resolved
  }

  /// As `resolve`, of a segment's filter.
  private func resolveDefinition(_ customer: CustomerID, _ filter: Filter) async throws -> ResolvedFilter {
    try await resolve(customer, filter, holding: true, mostLevels: Self.mostLevels - 1)
  }

  private func definitions(
    _ customer: CustomerID, _ references: [FilterReference], holding isHolding: Bool
  ) async throws -> [(number: Int64, name: String, SegmentDefinition)] {
    let (numbers, names) = Self.parted(references)
    return try await database.query(
      isHolding ? SegmentQueries.named : SegmentQueries.read, customer.rawValue, numbers, names
    ).map { row in
      let (number, name, json) = try row.decode(Int64.self, String.self, JSONDocument?.self)
      let filter = try json.map { try JSONCoding.decode(Filter.self, from: $0.text.utf8) }
      return (number, name, filter.map { .filter($0) } ?? .members)
    }
  }

  private static func parted(_ references: [FilterReference]) -> (numbers: [Int64], names: [String]) {
    var (numbers, names): ([Int64], [String]) = ([], [])
    for reference in references {
      switch reference {
      case .number(let number): numbers.append(number)
      case .name(let name): if !name.text.utf8.contains(0) { names.append(name.text) }
      }
    }
    return (numbers, names)
  }

  private func requireAll(
    _ references: [FilterReference], in found: SegmentDefinitions, _ names: [UTF8String: Int64], _ field: String
  ) throws(RegistryError) {
    for reference in references {
      switch reference {
      case .number(let number) where found[number] == nil:
        throw .invalid(field: field, problem: "names segment \(number), and there is none of this number")
      case .name(let name) where names[name] == nil:
        throw .invalid(field: field, problem: "names segment '\(name.text)', and there is none of this name")
      default: continue
      }
    }
  }

  /// The numbers of lists by their names.
  private func listNumbers(
    _ customer: CustomerID, _ filter: Filter, _ field: String
  ) async throws -> [UTF8String: Int64] {
    let references = filter.listReferences
    guard !references.isEmpty else { return [:] }
    let lists = try await ContactLists(database).all(customer)
    let numbers = Set(lists.map(\.listId.rawValue))
    let names = Dictionary(lists.map { (UTF8String($0.name), $0.listId.rawValue) }) { one, _ in one }
    for reference in references {
      switch reference {
      case .number(let number) where !numbers.contains(number):
        throw RegistryError.invalid(field: field, problem: "names list \(number), and there is none of this number")
      case .name(let name) where names[name] == nil:
        throw RegistryError.invalid(field: field, problem: "names list '\(name.text)', and there is none of this name")
      default: continue
      }
    }
    return names
  }

  /// Segments in segments multiply.
  private func checkSize(of resolved: ResolvedFilter, _ field: String) throws(RegistryError) {
    var counted: [Int64: Int] = [:]
    func count(_ filter: Filter, _ level: Int) -> Int {
      var sum = filter.conditions
      for case .number(let number) in filter.segmentReferences where level <= Self.mostLevels {
        guard case .filter(let inside)? = resolved.segments[number] else { continue }
        let size = counted[number] ?? count(inside, level + 1)
        counted[number] = size
        sum = min(sum + size, Self.mostConditions + 1)
      }
      return sum
    }
    guard count(resolved.filter, 0) <= Self.mostConditions else {
      throw .invalid(
        field: field, problem: "has more than \(Self.mostConditions) conditions with those of the segments in it")
    }
  }

  /// Pushes that retention has deleted cannot be counted.
  private func checkRetention(_ customer: CustomerID, _ resolved: ResolvedFilter, _ field: String) async throws {
    let filters =
      [resolved.filter]
      + resolved.segments.values.compactMap {
        if case .filter(let filter) = $0 { filter } else { nil }
      }
    let activities = filters.flatMap(\.all).compactMap {
      if case .activity(let activity) = $0 { activity } else { nil }
    }
    guard !activities.isEmpty else { return }
    let own = try await Customers(database).find(customer)?.settings.retentionDays
    guard let days = [own, retentionDays].compactMap(\.self).min() else { return }
    for activity in activities {
      let condition = Filter.activity(activity).text
      guard let span = activity.within else {
        throw RegistryError.invalid(
          field: field,
          problem: "has `\(condition)`, and pushes are kept for \(days) days: add within \(days) days, or fewer")
      }
      guard span.seconds <= Int(days) * 86_400 else {
        throw RegistryError.invalid(
          field: field,
          problem: "has `\(condition)`, which looks back further than the \(days) days that pushes are kept")
      }
    }
  }
}

// MARK: - Contacts

extension Segments {
  /// The contacts that meet a filter, by number.
  package func contacts(
    _ customer: CustomerID, _ filter: ResolvedFilter, _ page: PageRequest<ContactID>
  ) async throws -> Page<ContactDetails, ContactID> {
    let sql = filter.sql
    let rows = try await database.query(
      SegmentQueries.search(sql), customer.rawValue, sql.literals, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { try $0.reply(ContactDetails.self) }, cursor: \.contactId)
  }

  /// The segments that a contact is in now, by number. It asks for each segment by itself: they are few.
  /// - Throws: `RegistryError.contactUnknown`, if the customer has a segment.
  package func containing(_ customer: CustomerID, originalID: String) async throws -> [SegmentReply] {
    var found: [SegmentReply] = []
    try await forEach(customer) { segment in
      let filter = try await resolve(customer, .segment(.number(segment.segmentId.rawValue)))
      if try await explain(customer, filter, originalID: originalID).result { found.append(segment) }
    }
    return found
  }

  /// Whether a contact meets a filter, part by part.
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
    guard !originalID.utf8.contains(0),
      let row = try await database.query(
        SegmentQueries.explain(nodes), customer.rawValue, compiler.literals, originalID
      ).first
    else { throw RegistryError.contactUnknown(originalID: originalID) }
    let shown = try parts.enumerated().map { index, part in
      SegmentExplainReply.Node(
        text: part.text, result: try row.column(index * 2, as: Bool.self),
        value: try row.column(index * 2 + 1, as: String?.self))
    }
    return SegmentExplainReply(result: shown[0].result, nodes: shown, filter: filter.filter)
  }

  /// Puts contacts into a static segment, and takes others out of it.
  /// - Returns: what it did, and the numbers of the contacts that joined and left.
  /// - Throws: `RegistryError.numberUnknown`, `.invalid`.
  package func changeContacts(
    _ customer: CustomerID, _ number: SegmentID, _ request: SegmentContactsRequest
  ) async throws -> (reply: SegmentContactsReply, joined: [ContactID], left: [ContactID]) {
    let (add, remove) = (request.add ?? [], request.remove ?? [])
    guard !add.isEmpty || !remove.isEmpty else {
      throw RegistryError.invalid(field: "add", problem: "is missing, and so is remove")
    }
    for (field, ids) in [("add", add), ("remove", remove)] {
      for (index, id) in ids.enumerated() where !id.isEmpty {
        let rule = TextRule("\(field)[\(index)]", maximum: Registration.maximumOriginalID, allowsControls: true)
        _ = try rule.require(id)
      }
    }
    let removed = Set(remove.map { UTF8String($0) })
    if let both = add.firstIndex(where: { removed.contains(UTF8String($0)) }) {
      throw RegistryError.invalid(field: "add[\(both)]", problem: "is in remove, too")
    }
    guard try await find(customer, number).static else {
      throw RegistryError.invalid(field: "id", problem: "names a segment with a filter: change the filter instead")
    }
    let (joined, strangers) = try await change(SegmentMemberQueries.add, customer, number, add)
    let (left, others) = try await change(SegmentMemberQueries.remove, customer, number, remove)
    let reply = SegmentContactsReply(
      segmentId: number, added: joined.count, removed: left.count, unknownOriginalIds: strangers + others)
    return (reply, joined, left)
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
  /// Most parts that are explained: PostgreSQL takes no more than 1,664 columns.
  private static let mostExplained = 500

  /// Every part of the filter, each before its parts; of a segment with a filter those of this filter.
  var explained: [Filter] {
    var parts: [Filter] = []
    func add(_ filter: Filter) {
      guard parts.count < Self.mostExplained else { return }
      parts.append(filter)
      for part in filter.parts { add(part) }
      if case .segment(.number(let number)) = filter, case .filter(let inside)? = segments[number] { add(inside) }
    }
    add(filter)
    return parts
  }
}
