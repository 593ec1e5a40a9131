public import Postgres
public import Wire

/// Looks for the contacts that an audience names.
public struct Audiences: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The valid devices of an audience in one app, counted up to `limit`, and whether there are more. It takes five seconds at most: people
  /// wait for it.
  public func devices(
    _ customer: CustomerID, of app: PushAppID, in audience: SelectedAudience, upTo limit: Int
  ) async throws -> (count: Int, isMore: Bool) {
    let (apps, most) = ([app.rawValue], Int64(limit) + 1)
    let rows = try await (audience.filter ?? .everyone).sharingMemory(database.limited(to: .seconds(5)), of: customer) {
      database in
      let customer = customer.rawValue
      return switch audience {
      case .all: try await database.query(AudienceQueries.countAll, customer, apps, most)
      case .list(let list): try await database.query(AudienceQueries.countList, customer, apps, list.rawValue, most)
      case .originalIds(let ids): try await database.query(AudienceQueries.countOriginalIDs, customer, apps, ids, most)
      case .meeting(let filter):
        try await database.query(AudienceQueries.countMeeting(filter), customer, apps, filter.literals, most)
      case .originalIdsMeeting(let ids, let filter):
        try await database.query(
          AudienceQueries.countOriginalIDsMeeting(filter), customer, apps, ids, filter.literals, most)
      }
    }
    let count = try rows[0].decode(Int.self)
    return (min(count, limit), count > limit)
  }

  /// How many contacts an audience has, those without a device too, where indexes alone tell it; nil where a filter chooses among them, which
  /// would have to look at each.
  package func contacts(_ customer: CustomerID, in audience: SelectedAudience) async throws -> Int? {
    let rows: Rows
    switch audience {
    case .all: rows = try await database.query(AudienceQueries.contactsOfAll, customer.rawValue)
    case .list(let list):
      rows = try await database.query(AudienceQueries.contactsOfList, customer.rawValue, list.rawValue)
    case .originalIds(let ids):
      rows = try await database.query(AudienceQueries.contactsOfOriginalIDs, customer.rawValue, ids)
    case .meeting, .originalIdsMeeting: return nil
    }
    return try rows[0].decode(Int.self)
  }

  /// How many of these original ids no contact of the customer has; an id given twice counts once.
  public func unknownOriginalIDs(_ customer: CustomerID, among ids: [String]) async throws -> Int {
    try await database.query(AudienceQueries.unknownOriginalIDs, customer.rawValue, ids)[0].decode(Int.self)
  }
}

/// An audience as statements take it.
public enum SelectedAudience: Sendable {
  case all
  case list(ListID)
  case originalIds([String])
  /// All contacts that meet a filter.
  case meeting(FilterSQL)
  /// Contacts with these original ids that meet a filter.
  case originalIdsMeeting([String], FilterSQL)
}

/// SQL that selects the devices of an audience: `customer_id`, `device_id` and `contact_id`. The ledger's statements
/// embed it. One `INSERT … SELECT` then freezes a million rows that never leave the server.
///
/// Parameters are `$1` the customer, `$2` the push apps, and `$3` what names the audience. Invalidated devices are left out.
package enum AudienceSelection {
  /// Every device of the apps; without `$3`.
  package static let all = """
    SELECT device.customer_id, device.push_app_id, device.sandbox, device.device_id, device.contact_id
      FROM device
     WHERE device.customer_id = $1::bigint AND device.push_app_id = ANY ($2::bigint[]) AND device.invalidated_at IS NULL
    """

  /// Those of contacts on the list `$3::bigint`.
  package static let list = """
    SELECT device.customer_id, device.push_app_id, device.sandbox, device.device_id, device.contact_id
      FROM list_member
      JOIN device ON device.customer_id = list_member.customer_id AND device.contact_id = list_member.contact_id
     WHERE list_member.customer_id = $1::bigint AND list_member.list_id = $3::bigint
       AND device.push_app_id = ANY ($2::bigint[]) AND device.invalidated_at IS NULL
    """

  /// Those of contacts with the original ids `$3::text[]`, each device once however often an id is given.
  package static let originalIDs = ofOriginalIDs(beside: "")

  private static func ofOriginalIDs(beside join: String) -> String {
    """
    SELECT device.customer_id, device.push_app_id, device.sandbox, device.device_id, device.contact_id
      FROM (SELECT DISTINCT unnest($3::text[]) AS original_id) AS wanted
      JOIN contact ON contact.customer_id = $1::bigint AND contact.original_id = wanted.original_id
      \(join)
      JOIN device ON device.customer_id = contact.customer_id AND device.contact_id = contact.contact_id
     WHERE device.push_app_id = ANY ($2::bigint[]) AND device.invalidated_at IS NULL
    """
  }

  /// The devices of contacts that meet a filter, with its literals as `$3`.
  package static func meeting(_ filter: FilterSQL) -> String {
    """
    SELECT device.customer_id, device.push_app_id, device.sandbox, device.device_id, device.contact_id
      FROM contact \(filter.join)
      JOIN device ON device.customer_id = contact.customer_id AND device.contact_id = contact.contact_id
     WHERE contact.customer_id = $1::bigint AND \(filter.sql(literals: "$3::text[]"))
       AND device.push_app_id = ANY ($2::bigint[]) AND device.invalidated_at IS NULL
    """
  }

  /// The devices of contacts with the original ids `$3::text[]` that meet a filter, with its literals as `$4`.
  package static func originalIDsMeeting(_ filter: FilterSQL) -> String {
    "\(ofOriginalIDs(beside: filter.join)) AND \(filter.sql(literals: "$4::text[]"))"
  }
}

/// SQL that selects the contacts of an audience, those that are excluded and those without devices too: rows `contact`, each once.
package struct ContactSelection: Sendable {
  /// SQL of whether the row is excluded; never NULL.
  package let isExcluded: String
  private let rows: String
  private let condition: String
  private let audience: SelectedAudience
  private let excluded: FilterSQL

  /// - Parameter first: the number of the first of `parameterCount` parameters. `$1` is the customer.
  package init(_ audience: SelectedAudience, excluded: FilterSQL? = nil, parameters first: Int) {
    self.audience = audience
    self.excluded = excluded ?? .nobody
    let ofCustomer = "contact.customer_id = $1::bigint"
    let ofOriginalIDs = """
      (SELECT DISTINCT unnest($\(first)::text[]) AS original_id) AS wanted
        JOIN contact ON \(ofCustomer) AND contact.original_id = wanted.original_id
      """
    var join = self.excluded.join
    switch audience {
    case .all: (rows, condition) = ("contact", ofCustomer)
    case .list:
      rows = """
        list_member
          JOIN contact ON contact.customer_id = list_member.customer_id AND contact.contact_id = list_member.contact_id
        """
      condition = "list_member.customer_id = $1::bigint AND list_member.list_id = $\(first)::bigint"
    case .originalIds: (rows, condition) = (ofOriginalIDs, ofCustomer)
    case .meeting(let filter):
      (rows, condition) = ("contact", "\(ofCustomer) AND \(filter.sql(literals: "$\(first)::text[]"))")
      if join.isEmpty { join = filter.join }
    case .originalIdsMeeting(_, let filter):
      (rows, condition) = (ofOriginalIDs, "\(ofCustomer) AND \(filter.sql(literals: "$\(first + 1)::text[]"))")
      if join.isEmpty { join = filter.join }
    }
    self.join = join
    let literals = first + Self.parameterCount - 1
    isExcluded = "coalesce(\(self.excluded.sql(literals: "$\(literals)::text[]")), false)"
    types = "$\(first)::\(audience.type), $\(first + 1)::text[], $\(literals)::text[]"
  }

  /// There is one join for all filters.
  private let join: String
  /// SQL that says the types of the parameters, of which statements may use none.
  package let types: String

  /// How many parameters there are: what names the audience, literals of its filter, and those of the filter of who is excluded.
  package static let parameterCount = 3

  /// From `FROM` on; further conditions may follow.
  /// - Parameter others: joins that follow.
  package func from(_ others: String = "") -> String { "FROM \(rows) \(join) \(others) WHERE \(condition)" }

  /// How many conditions of its filters look for the contact in another table.
  package var lookUps: Int { (audience.filter?.lookUps ?? 0) + excluded.lookUps }

  /// Appends the parameters' values.
  package func append(to parameters: inout ParameterBuffer) {
    var literals: [String] = []
    switch audience {
    case .all: parameters.append(nil as Int64?)
    case .list(let list): parameters.append(list.rawValue)
    case .originalIds(let ids): parameters.append(ids)
    case .meeting(let filter): parameters.append(filter.literals)
    case .originalIdsMeeting(let ids, let filter):
      parameters.append(ids)
      literals = filter.literals
    }
    parameters.append(literals)
    parameters.append(excluded.literals)
  }
}

extension SelectedAudience {
  /// The type of the parameter that names it.
  fileprivate var type: String {
    switch self {
    case .all, .list: "bigint"
    case .originalIds, .meeting, .originalIdsMeeting: "text[]"
    }
  }

  /// One of each form, for tests, which prepare every statement.
  package static let samples: [SelectedAudience] = [
    .all, .list(ListID(1)), .originalIds([]), .meeting(.sample), .originalIdsMeeting([], .sample),
  ]

  /// The filter that its contacts meet.
  package var filter: FilterSQL? {
    switch self {
    case .all, .list, .originalIds: nil
    case .meeting(let filter), .originalIdsMeeting(_, let filter): filter
    }
  }

  /// The end of the names of its statements.
  package var name: String {
    switch self {
    case .all: "all"
    case .list: "list"
    case .originalIds: "original_ids"
    case .meeting: "meeting"
    case .originalIdsMeeting: "original_ids_meeting"
    }
  }
}

/// Statements on the contacts an audience names.
enum AudienceQueries {
  static let unknownOriginalIDs = Statement(
    "audience.unknown_original_ids", .read,
    """
    SELECT count(*)
      FROM (SELECT DISTINCT unnest($2::text[]) AS original_id) AS wanted
     WHERE NOT EXISTS (SELECT FROM contact
                        WHERE contact.customer_id = $1::bigint AND contact.original_id = wanted.original_id)
    """)

  static let contactsOfAll = Statement(
    "audience.contacts_of_all", .read, "SELECT count(*) FROM contact WHERE customer_id = $1::bigint")
  static let contactsOfList = Statement(
    "audience.contacts_of_list", .read,
    "SELECT count(*) FROM list_member WHERE customer_id = $1::bigint AND list_id = $2::bigint")
  static let contactsOfOriginalIDs = Statement(
    "audience.contacts_of_original_ids", .read,
    "SELECT count(*) FROM contact WHERE customer_id = $1::bigint AND original_id = ANY ($2::text[])")

  /// Counts devices up to `$3`, or `$4` where `$3` names the audience.
  ///
  /// Those of all contacts are counted in the order of an index. By the limit alone, the planner takes the table from its start, where the
  /// devices of a later app are missing for millions of rows.
  static let countAll = Statement(
    "audience.count_all", .read,
    """
    SELECT count(*)
      FROM (SELECT FROM unnest($2::bigint[]) AS app (push_app_id)
             CROSS JOIN LATERAL (
               SELECT FROM device
                WHERE device.customer_id = $1::bigint AND device.push_app_id = app.push_app_id AND device.invalidated_at IS NULL
                ORDER BY device.token_key LIMIT $3::bigint) AS device
             LIMIT $3::bigint) AS counted
    """)
  static let countList = count("audience.count_list", AudienceSelection.list, limit: "$4")
  static let countOriginalIDs = count("audience.count_original_ids", AudienceSelection.originalIDs, limit: "$4")

  static func countMeeting(_ filter: FilterSQL) -> Statement {
    count("audience.count_meeting", AudienceSelection.meeting(filter), limit: "$4")
  }
  static func countOriginalIDsMeeting(_ filter: FilterSQL) -> Statement {
    count("audience.count_original_ids_meeting", AudienceSelection.originalIDsMeeting(filter), limit: "$5")
  }

  private static func count(_ name: String, _ audience: String, limit: String) -> Statement {
    Statement(
      name, .read,
      "SELECT count(*) FROM (SELECT FROM (\(audience)) AS audience LIMIT \(limit)::bigint) AS counted")
  }

  static let all: [Statement] = [
    unknownOriginalIDs, contactsOfAll, contactsOfList, contactsOfOriginalIDs, countAll, countList, countOriginalIDs,
    countMeeting(.sample), countOriginalIDsMeeting(.sample),
  ]
}
