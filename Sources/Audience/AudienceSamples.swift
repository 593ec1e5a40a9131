import Delivery
package import Postgres
package import Registry
package import Wire

/// Looks at those whom an audience means, before anything is sent to them. Nothing is stored.
package struct AudienceSamples: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// Most contacts of a sample.
  package static let most = 200

  /// Some contacts of an audience with their valid devices in some apps, a recipient for each device. They are always the same ones.
  /// - Parameter contacts: about how many there are to choose from.
  package func sample(
    _ customer: CustomerID, _ audience: ResolvedAudience, apps: [PushAppID], of contacts: Int
  ) async throws -> [Recipient] {
    // Twice as many, since a slice can have fewer.
    let slices = max(1, SegmentCounts.slices * 2 * Self.most / max(contacts, 1))
    let isIndexed = slices <= SegmentCounts.indexedSlices
    let (filter, ids) = audience.contacts
    let statement = AudienceSampleQueries.sample(filter, ofIDs: ids != nil, isIndexed: isIndexed)
    let (number, apps, slice) = (customer.rawValue, apps.map(\.rawValue), Int32(clamping: slices))
    let rows = try await filter.sharingMemory(database, of: customer) { database in
      if let ids {
        try await database.query(statement, number, apps, filter.literals, slice, ids)
      } else {
        try await database.query(statement, number, apps, filter.literals, slice)
      }
    }
    return try rows.compactMap { try AudienceSampleQueries.columns.recipient($0) }
  }

  /// How many contacts of an audience with a valid device in some apps meet each of some conditions, and the original id of one.
  package func count(
    _ customer: CustomerID, _ audience: ResolvedAudience, apps: [PushAppID], meeting conditions: [Filter]
  ) async throws -> [(contacts: Int, example: String)] {
    guard !conditions.isEmpty else { return [] }
    let (filter, parts, ids) = audience.contacts(with: conditions)
    let statement = AudienceSampleQueries.counts(filter, parts, ofIDs: ids != nil)
    let (number, apps) = (customer.rawValue, apps.map(\.rawValue))
    let rows = try await filter.sharingMemory(database, of: customer) { database in
      if let ids {
        try await database.query(statement, number, apps, filter.literals, ids)
      } else {
        try await database.query(statement, number, apps, filter.literals)
      }
    }
    let (counts, examples) = try rows[0].decode([Int64].self, [String].self)
    return zip(counts, examples).map { (Int($0), $1) }
  }
}

extension ResolvedAudience {
  /// A text that changes with what its filter means: its line, and those of the segments inside.
  package var identity: String { filter?.identity ?? "" }

  /// Its contacts as a filter, and beside it their original ids if it names some.
  package var contacts: (filter: FilterSQL, originalIDs: [String]?) {
    let (filter, _, ids) = contacts(with: [])
    return (filter, ids)
  }

  /// - Parameter conditions: as SQL with the literals of the filter.
  func contacts(with conditions: [Filter]) -> (filter: FilterSQL, conditions: [FilterSQL], originalIDs: [String]?) {
    let whole =
      switch (audience.included, filter) {
      case (_, let filter?): filter
      case (.list(let list), nil): ResolvedFilter(.list(.number(list.rawValue)))
      case (_, nil): ResolvedFilter(.everyone)
      }
    let (filter, parts) = whole.sql(with: conditions)
    if case .originalIds(let ids) = audience.included { return (filter, parts, ids) }
    return (filter, parts, nil)
  }
}

/// Statements that look at an audience. `$1` is the customer, `$2` the apps, and `$3` the literals of the audience's filter.
enum AudienceSampleQueries {
  static let all: [Statement] =
    [false, true].flatMap { ofIDs in
      [false, true].map { sample(FilterCompiler.sample, ofIDs: ofIDs, isIndexed: $0) }
        + [counts(FilterCompiler.sample, [FilterCompiler.sample], ofIDs: ofIDs)]
    }

  static let columns = RecipientColumns(RecipientFields.all.union(.spokenLanguage))

  /// The recipients of some contacts in the slices below `$4`. `$5` are the original ids.
  /// - Parameter isIndexed: whether so few slices are read that an index has them.
  static func sample(_ filter: FilterSQL, ofIDs: Bool, isIndexed: Bool) -> Statement {
    let slice = "filter_slice(contact.contact_id)"
    return Statement(
      "audience.sample\(isIndexed ? "_of_slices" : "")\(ofIDs ? "_of_ids" : "")", .read,
      """
      WITH sample AS MATERIALIZED (
        SELECT contact.contact_id FROM \(contacts(filter, ofIDs: ofIDs ? "$5" : nil, areFew: isIndexed))
           AND \(slice) < $4::int4\(isIndexed ? " AND \(slice) < \(SegmentCounts.indexedSlices)" : "") AND \(hasDevice)
         LIMIT \(AudienceSamples.most))
      SELECT \(columns.all(contactRow: "contact", device: "device"))
        FROM sample
        JOIN contact ON contact.customer_id = $1::bigint AND contact.contact_id = sample.contact_id
        JOIN device ON device.customer_id = $1::bigint AND device.contact_id = sample.contact_id
       WHERE device.push_app_id = ANY ($2::bigint[]) AND device.invalidated_at IS NULL
       ORDER BY contact.contact_id, device.device_id
      """)
  }

  /// A row of two arrays: how many contacts meet each condition, and the original id of the first one, "" for none. `$4` are the original ids.
  static func counts(_ filter: FilterSQL, _ conditions: [FilterSQL], ofIDs: Bool) -> Statement {
    let met = conditions.map { "(\($0.sql(literals: "$3::text[]"))) IS TRUE" }
    let columns = met.enumerated().map { "\($1) AS met_\($0)" }
    let counts = conditions.indices.map { index in
      """
      count(*) FILTER (WHERE met_\(index)) AS count_\(index), min(contact_id) FILTER (WHERE met_\(index)) AS example_\(index)
      """
    }
    let examples = conditions.indices.map { index in
      """
      coalesce((SELECT original_id FROM contact
                 WHERE contact.customer_id = $1::bigint AND contact.contact_id = counted.example_\(index)), '')
      """
    }
    // Few contacts meet any, so devices are looked for last. Where many do, the planner joins all devices at once.
    return Statement(
      "audience.count_conditions\(ofIDs ? "_of_ids" : "")", .read,
      """
      WITH met AS (
        SELECT contact.contact_id, \(columns.joined(separator: ",\n               "))
          FROM \(contacts(filter, ofIDs: ofIDs ? "$4" : nil)) AND (\(met.joined(separator: " OR "))) AND \(hasDevice)),
      counted AS MATERIALIZED (SELECT \(counts.joined(separator: ",\n                                    ")) FROM met)
      SELECT ARRAY[\(conditions.indices.map { "count_\($0)" }.joined(separator: ", "))]::bigint[],
             ARRAY[\(examples.joined(separator: ",\n"))]::text[]
        FROM counted
      """)
  }

  private static let hasDevice = ContactConditions.hasDevice("device.push_app_id = ANY ($2::bigint[])")

  /// What stands behind FROM, up to a condition.
  /// - Parameters:
  ///   - ids: the parameter of the original ids; nil for none.
  ///   - areFew: whether so few contacts are looked at that each one's activity is looked up.
  private static func contacts(_ filter: FilterSQL, ofIDs ids: String?, areFew: Bool = false) -> String {
    let join = filter.join.isEmpty || !areFew ? filter.join : ActivitySQL.lookUp
    let condition = "WHERE contact.customer_id = $1::bigint AND \(filter.sql(literals: "$3::text[]"))"
    guard let ids else { return "contact \(join) \(condition)" }
    return """
      (SELECT DISTINCT unnest(\(ids)::text[]) AS original_id) AS wanted
        JOIN contact ON contact.customer_id = $1::bigint AND contact.original_id = wanted.original_id
        \(join) \(condition)
      """
  }
}
