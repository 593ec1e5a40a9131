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
}

extension ResolvedAudience {
  /// A text that changes with what its filter means: its line, and those of the segments inside.
  package var identity: String { filter?.identity ?? "" }

  /// Its contacts as a filter, and beside it their original ids if it names some.
  package var contacts: (filter: FilterSQL, originalIDs: [String]?) {
    let whole =
      switch (audience.included, filter) {
      case (_, let filter?): filter
      case (.list(let list), nil): ResolvedFilter(.list(.number(list.rawValue)))
      case (_, nil): ResolvedFilter(.everyone)
      }
    if case .originalIds(let ids) = audience.included { return (whole.sql, ids) }
    return (whole.sql, nil)
  }
}

/// Statements that look at an audience. `$1` is the customer, `$2` the apps, and `$3` the literals of the audience's filter.
enum AudienceSampleQueries {
  static let all: [Statement] =
    [false, true].flatMap { ofIDs in
      [false, true].map { sample(FilterCompiler.sample, ofIDs: ofIDs, isIndexed: $0) }
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
