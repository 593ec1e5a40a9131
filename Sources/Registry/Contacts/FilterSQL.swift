package import Postgres
package import Wire

/// A condition on contacts as SQL: a boolean expression over the row `contact` and what `join` puts beside it, in statements whose `$1` is the
/// customer. NULL means that the contact does not meet it.
///
/// No text of a user stands in it: its literals travel as one parameter of type text[]. So it fits any statement, wherever that has its
/// parameters, and `COPY` too, which takes none.
public struct FilterSQL: Sendable, Hashable {
  /// `{literals}` stands for the parameter, and `{now}` for the moment.
  package let template: String
  package let literals: [String]
  /// What stands behind `contact` in FROM; empty for nothing. It ends with a condition, to which others may be added, and gives each contact one row.
  package let join: String
  /// How many of its conditions look for the contact in another table. PostgreSQL may hash what each of them finds there.
  package let lookUps: Int

  package init(template: String, literals: [String], join: String = "", lookUps: Int = 0) {
    self.template = template
    self.literals = literals
    self.join = join
    self.lookUps = lookUps
  }

  /// Of every contact.
  package static let everyone = FilterSQL(template: "true", literals: [])

  /// Of no contact.
  package static let nobody = FilterSQL(template: "false", literals: [])

  /// A condition for tests, which prepare every statement: it needs its join, whose rows have the columns of every tenant's table.
  package static let sample = FilterSQL(
    template: "(contact.original_id = (\(literalsMark))[1] AND joined.contact_id IS NOT NULL)", literals: ["lars"],
    join: """
      LEFT JOIN (SELECT customer_id, contact_id FROM contact WHERE customer_id = $1::bigint) AS joined
             ON joined.customer_id = $1::bigint AND joined.contact_id = contact.contact_id
      """)

  /// - Parameters:
  ///   - literals: what `literals` are in the statement, as in `$3::text[]`.
  ///   - now: SQL of the moment that windows of time end or begin with.
  package func sql(literals: String, now: String = "now()") -> String {
    template.replacing(Self.literalsMark, with: literals).replacing(Self.nowMark, with: now)
  }

  package static let literalsMark = "{literals}"
  package static let nowMark = "{now}"

  /// Runs a read by a filter.
  /// - Parameter instead: what to do if it takes longer than it may, as a sentence.
  /// - Throws: what `body` throws; `RegistryError.filterTooSlow` in place of `PostgresError.timedOut`.
  package static func read<Answer: Sendable>(
    orElse instead: String, _ body: @Sendable () async throws -> Answer
  ) async throws -> Answer {
    do {
      return try await body()
    } catch PostgresError.timedOut {
      throw RegistryError.filterTooSlow(instead: instead)
    }
  }

  // MARK: Memory

  /// As `work_mem` has it: memory to hash a million contacts, which look-ups share. Each of them may take it, so a filter of a thousand would
  /// take all that the server has.
  package static func memory(lookUps: Int) -> String { "\(max(mostMemory / max(lookUps, 1), 64))kB" }
  /// In kB.
  private static let mostMemory = 65_536
  /// So many look-ups have no more together if each has the 4 MB that PostgreSQL gives by itself.
  private static let usualLookUps = 16

  /// Has look-ups share memory until the transaction ends, in one that gives all of it to each.
  package static func shareMemory(among lookUps: Int, in transaction: any Querying) async throws {
    guard lookUps > 1 else { return }
    try await transaction.query(FilterQueries.limitMemory, memory(lookUps: lookUps))
  }

  /// Has look-ups share memory where there are so many that PostgreSQL's own limit for each is too much.
  package func limitMemory(in transaction: any Querying) async throws {
    guard lookUps > Self.usualLookUps else { return }
    try await Self.shareMemory(among: lookUps, in: transaction)
  }

  /// Runs a read by this filter, whose look-ups share memory: where they are many, in a transaction with a setting of its own.
  package func sharingMemory<Answer: Sendable>(
    _ database: any Querying, of customer: CustomerID, _ body: @Sendable (any Querying) async throws -> Answer
  ) async throws -> Answer {
    guard lookUps > Self.usualLookUps else { return try await body(database) }
    return try await database.inTransaction(of: customer.rawValue) { transaction in
      try await limitMemory(in: transaction)
      return try await body(transaction)
    }
  }

  /// What to do in place of a page of contacts that takes too long.
  package static let insteadOfPage =
    "Add a condition that few contacts meet, or name fewer sendouts; or export the contacts, which may take as long as it does."
}

/// A filter for pages of contacts. A page can ask the first contacts one by one before it asks all.
///
/// Where many meet the filter, the first ones fill a page. Where few do, other tables and indexes have them: the sendout that the filter
/// names, which is read as a whole, or the index of a name. No statistics tell well enough which of the two it is.
package struct PageFilter: Sendable {
  private let all: FilterSQL
  private let first: (filter: FilterSQL, contacts: Int)?

  /// - Parameters:
  ///   - all: for however many contacts.
  ///   - first: the same condition for so many contacts, one by one; nil where `all` does as well.
  package init(_ all: FilterSQL, first: (filter: FilterSQL, contacts: Int)? = nil) {
    self.all = all
    self.first = first
  }

  /// The rows of a page.
  /// - Parameters:
  ///   - limit: how many rows a page takes at most.
  ///   - read: reads as many by a filter, of the first contacts as they come or of all.
  package func rows(
    _ limit: Int, _ database: any Querying, of customer: CustomerID,
    _ read: @escaping @Sendable (_ database: any Querying, _ filter: FilterSQL, _ first: Int?) async throws -> Rows
  ) async throws -> Rows {
    if let first {
      let rows = try await first.filter.sharingMemory(database, of: customer) {
        try await read($0, first.filter, first.contacts)
      }
      if rows.count >= limit { return rows }
    }
    return try await all.sharingMemory(database, of: customer) { try await read($0, all, nil) }
  }

  /// What ends a query of contacts of which the first are looked at; empty for all, so that the planner can join it with what is around it.
  package static func looked(at first: Int?, by order: String) -> String {
    first.map { "ORDER BY \(order) LIMIT \($0)" } ?? ""
  }
}

/// Statements that filters' statements need.
enum FilterQueries {
  static let all: [Statement] = [limitMemory]

  /// Gives each hash and sort of the transaction the memory `$1`.
  static let limitMemory = Statement(
    "filter.limit_memory", .read, "SELECT set_config('work_mem', $1::text, true)")
}

/// SQL of what filters ask of contacts, over the row `contact`, and of devices, over the row `device`. `$1` is the customer.
package enum ContactConditions {
  /// The columns of `ContactDetails`, without properties and devices, of the row `contact`.
  package static let details = ContactSearchQueries.columns

  /// The column of a text field; NULL if it is unset.
  package static func column(_ field: ContactField) -> String { "contact.\(field.column)" }

  /// What follows for the index of a field if the field has a text, whose SQL is given; nil where contacts have no such index.
  package static func indexed(where field: ContactField) -> (@Sendable (_ text: String) -> String)? {
    SearchKey.condition(where: field)
  }

  package static let originalID = "contact.original_id"
  package static let dateOfBirth = "contact.date_of_birth"
  package static let createdAt = "contact.created_at"
  package static let updatedAt = "contact.updated_at"

  /// A property as json; NULL if it is unset.
  package static func property(_ name: String) -> String { "(contact.properties -> \(name))" }
  /// A property as text, whatever its type is.
  package static func propertyText(_ name: String) -> String { "(contact.properties ->> \(name))" }

  /// - Parameters:
  ///   - list: SQL of the list's number.
  ///   - range: what the contact's number meets in any case, as in `BETWEEN 1 AND 9`.
  package static func isOnList(_ list: String, within range: String? = nil) -> String {
    MemberTable.list.isMember("contact.contact_id", of: list, within: range)
  }

  /// One valid device meets the condition, which is about the row `device`.
  /// - Parameter range: what the contact's number meets in any case.
  package static func hasDevice(_ condition: String, within range: String? = nil) -> String {
    """
    EXISTS (SELECT FROM device\(condition.contains(osVersionParts) ? osVersion : "")
             WHERE device.customer_id = $1::bigint AND device.contact_id = contact.contact_id
               AND device.invalidated_at IS NULL\(range.map { " AND device.contact_id \($0)" } ?? "") AND \(condition))
    """
  }

  /// The parts of a device's version, for a condition in `hasDevice`. Devices have few versions: each is taken apart once, and remembered
  /// (Memoize), which takes a sixth of the time.
  package static let osVersionParts = "os_version.parts"
  private static let osVersion =
    " CROSS JOIN LATERAL (SELECT filter_version(device.os_version) AS parts OFFSET 0) AS os_version"

  /// A column of the row `device`; nil for what is known of its app.
  package static func column(_ field: DeviceFilterField) -> String? {
    switch field {
    case .app, .platform: nil
    case .manufacturer: "device.manufacturer"
    case .model: "device.model"
    case .osVersion: "device.os_version"
    case .country: "device.country"
    case .sandbox: "device.sandbox"
    case .registeredAt: "device.registered_at"
    }
  }

  /// The device's app meets the condition, which is about the row `app`. The customer's apps are few, and looked up once.
  package static func appIs(_ condition: String) -> String {
    """
    (device.push_app_id = ANY (ARRAY(SELECT app.push_app_id FROM push_app AS app
                                      WHERE app.customer_id = $1::bigint AND \(condition))))
    """
  }

  /// The app's id in `appIs`.
  package static let appID = "app.app_id"
  /// The platform's name in `appIs`.
  package static let platform =
    "(CASE app.app_type \(AppType.allCases.map { "WHEN \($0.rawValue) THEN '\($0.name)'" }.joined(separator: " ")) END)"
}
