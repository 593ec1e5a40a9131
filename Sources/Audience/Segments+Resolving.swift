import Delivery
import Postgres
import Registry
package import Wire

extension Segments {
  /// Looks up the lists, segments and sendouts that a filter names, and what these segments name.
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
    try await requireSendouts(customer, filter.sendoutReferences, field)
    var names: [UTF8String: Int64] = [:]
    var found: SegmentDefinitions = [:]
    var wanted = filter.segmentReferences
    /// With what was found so far.
    func numbered() -> ResolvedFilter {
      ResolvedFilter(
        filter.mapConditions { condition in
          switch condition {
          case .list(.name(let name, let place)): .list(.number(lists[name] ?? 0, at: place))
          case .segment(.name(let name, let place)): .segment(.number(names[name] ?? 0, at: place))
          default: condition
          }
        }, found)
    }
    var level = 0
    while !wanted.isEmpty {
      guard level < mostLevels else {
        let problem = "more than \(mostLevels) segments in one another"
        throw RegistryError.invalid(
          field: field,
          problem: numbered().place(leadingTo: wanted).sentence("this leads to \(problem)", ofWhole: "has \(problem)"))
      }
      level += 1
      var next: [FilterReference] = []
      for (number, name, definition) in try await definitions(customer, wanted, holding: isHolding) {
        names[UTF8String(name)] = number
        guard found.updateValue(definition, forKey: number) == nil else { continue }
        if case .filter(let filter) = definition { next += filter.segmentReferences }
      }
      if level == 1 { try requireAll(wanted, "segment", in: found.keys, names, field) }
      wanted = next.filter { if case .number(let number, _) = $0 { found[number] == nil } else { true } }
    }
    let resolved = numbered()
    try checkSize(of: resolved, field)
    try await checkRetention(customer, resolved, field)
    return resolved
  }

  /// Resolves the filter of a segment, which counts as one level itself.
  func resolveDefinition(_ customer: CustomerID, _ filter: Filter) async throws -> ResolvedFilter {
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
      case .number(let number, _): numbers.append(number)
      case .name(let name, _): if !name.text.utf8.contains(0) { names.append(name.text) }
      }
    }
    return (numbers, names)
  }

  /// - Parameter noun: what they name: a list, a segment or a sendout.
  private func requireAll(
    _ references: [FilterReference], _ noun: String, in numbers: some Sequence<Int64>, _ names: [UTF8String: Int64],
    _ field: String
  ) throws(RegistryError) {
    let numbers = Set(numbers)
    for reference in references {
      switch reference {
      case .number(let number, let place) where !numbers.contains(number):
        throw .invalid(
          field: field,
          problem: place.sentence(
            "there is no \(noun) \(number)", ofWhole: "names \(noun) \(number), and there is none of this number"))
      case .name(let name, let place) where names[name] == nil:
        throw .invalid(
          field: field,
          problem: place.sentence(
            "no \(noun) is called '\(name.text)'",
            ofWhole: "names \(noun) '\(name.text)', and there is none of this name"))
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
    let names = Dictionary(named: lists.map { ($0.name, $0.listId.rawValue) })
    try requireAll(references, "list", in: lists.map(\.listId.rawValue), names, field)
    return names
  }

  /// Makes sure that a sendout exists which a request names beside its filter.
  /// - Parameter field: of the request, for errors.
  /// - Throws: `RegistryError.invalid`.
  package func requireSendout(_ customer: CustomerID, _ sendout: SendoutID, field: String) async throws {
    try await requireSendouts(customer, [.number(sendout.rawValue)], field)
  }

  private func requireSendouts(
    _ customer: CustomerID, _ references: [FilterReference], _ field: String
  ) async throws {
    guard !references.isEmpty else { return }
    let found = try await Ledger(database).sendouts(customer, among: Self.parted(references).numbers)
    try requireAll(references, "sendout", in: found, [:], field)
  }

  /// Bounds the SQL, and the memory that it takes: each segment that names several others multiplies its size.
  private func checkSize(of resolved: ResolvedFilter, _ field: String) throws(RegistryError) {
    func check(_ most: Int, _ conditions: String, _ isCounted: (Filter) -> Bool) throws(RegistryError) {
      guard let place = resolved.place(beyond: most, where: isCounted) else { return }
      let problem = "has more than \(most) conditions\(conditions) with those of the segments in it"
      throw .invalid(field: field, problem: place.sentence("with this, the filter \(problem)", ofWhole: problem))
    }
    try check(Self.mostConditions, "") { $0.operands.isEmpty }
    try check(Self.mostOfSendouts, " that name a sendout") { condition in
      if case .activity(let activity) = condition { activity.sendout != nil } else { false }
    }
  }

  /// Refuses activity from further back than the ledger is kept, as it could not be counted.
  private func checkRetention(_ customer: CustomerID, _ resolved: ResolvedFilter, _ field: String) async throws {
    // Of segments inside, the places are those of other filters.
    let read = resolved.filter.conditions.count
    let activities = resolved.conditions.enumerated().compactMap { index, condition in
      if case .activity(let activity) = condition {
        (activity: activity, place: index < read ? activity.place : FilterPlace())
      } else {
        nil
      }
    }
    guard !activities.isEmpty else { return }
    let own = try await Customers(database).find(customer)?.settings.retentionDays
    guard let days = [own, retentionDays].compactMap(\.self).min() else { return }
    for (activity, place) in activities {
      let condition = "`\(Filter.activity(activity).text)`"
      let problem: String? =
        switch activity.within {
        case nil: "needs within \(days) days, or fewer, as pushes are kept for \(days) days"
        case let span? where span.seconds > Int(days) * 86_400:
          "looks back further than the \(days) days that pushes are kept"
        default: nil
        }
      guard let problem else { continue }
      throw RegistryError.invalid(
        field: field, problem: place.sentence("\(condition) \(problem)", ofWhole: "has \(condition), which \(problem)"))
    }
  }
}

extension ResolvedFilter {
  /// How many of its nodes look for the contact in another table, where PostgreSQL may hash what each of them finds. Notes of activity, which are
  /// hashed once for all conditions, are not among them.
  var lookUps: Int {
    count(upTo: Segments.mostConditions) { node in
      switch node {
      case .list, .segment, .device, .outcome: true
      // All others read one row of the roll-up.
      case .activity(let activity): activity.sendout != nil
      case .everyone, .and, .or, .not, .compare, .birthday, .bucket: false
      }
    }
  }

  /// How many nodes of a kind there are, those of a segment as often as it is named.
  /// - Parameter most: beyond it nothing is counted.
  func count(upTo most: Int, where isCounted: (Filter) -> Bool) -> Int {
    var counted: [Int64: Int] = [:]
    return count(filter, 0, upTo: most, &counted, where: isCounted)
  }

  /// - Parameter counted: those of segments, by their numbers.
  private func count(
    _ filter: Filter, _ level: Int, upTo most: Int, _ counted: inout [Int64: Int], where isCounted: (Filter) -> Bool
  ) -> Int {
    var sum = filter.all.count(where: isCounted)
    for case .number(let number, _) in filter.segmentReferences where level <= Segments.mostLevels {
      guard case .filter(let inside)? = segments[number] else { continue }
      let size = counted[number] ?? count(inside, level + 1, upTo: most, &counted, where: isCounted)
      counted[number] = size
      sum = min(sum + size, most + 1)
    }
    return sum
  }

  /// The place of the first condition by which there are more nodes of a kind, those of a segment as often as it is named; nil if there are not
  /// too many. Conditions without a place of their own are counted first: no filter has so many itself.
  fileprivate func place(beyond most: Int, where isCounted: (Filter) -> Bool) -> FilterPlace? {
    guard count(upTo: most, where: isCounted) > most else { return nil }
    let conditions = filter.conditions.map { (condition: $0, place: $0.place) }
    var counted: [Int64: Int] = [:]
    var sum = 0
    for (condition, place) in conditions.filter({ $0.place == nil }) + conditions.filter({ $0.place != nil }) {
      sum += count(condition, 0, upTo: most, &counted, where: isCounted)
      if sum > most { return place ?? FilterPlace() }
    }
    return FilterPlace()
  }
}
