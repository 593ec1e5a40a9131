package import Postgres
package import Wire

/// Looks for contacts as people do: by the beginning of an original id, an e-mail address, a telephone number or a name.
///
/// Each of these has an index, and a page reads the ranges of the indexes that the query names, one after the other. So it costs by what it
/// shows, however many contacts there are. Original ids come first, then e-mail addresses, numbers and names.
package struct ContactSearch: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// Most rows that a page reads. Contacts that two indexes have are shown once, so that rows can be read in vain.
  private static let mostRead = 2000
  /// Most characters of a query.
  package static let maximumQuery = 255

  /// The contacts that begin so, or all of them, the newest first. A page can have fewer than its limit, or none, and be followed by others.
  /// - Parameters:
  ///   - query: what people typed. Letters are compared without their case: A to Z everywhere, others at the beginning of the text, or
  ///     where all are of one case. Original ids are compared as they are typed, and in lower and upper case. Of numbers only digits count.
  ///   - field: where to look; `nil` for everywhere.
  ///   - filter: what they have to meet; `nil` for nothing. It is asked of one contact after the other, in the order of the page, unless the
  ///     filter's indexes have few. So a page costs by those that are passed over, too.
  /// - Throws: `RegistryError.invalid`.
  package func contacts(
    _ customer: CustomerID, beginningWith query: String?, in field: ContactSearchField? = nil,
    meeting filter: PageFilter? = nil, _ page: PageRequest<String> = PageRequest()
  ) async throws -> Page<ContactDetails, String> {
    let rule = TextRule("query", maximum: Self.maximumQuery, allowsControls: true)
    let query = String(try rule.check(query ?? "").trimmed)
    guard !query.isEmpty else { return try await newest(customer, meeting: filter, page) }
    let ranges = SearchRange.all(for: query, in: field)
    var place = try page.after.map { try SearchPlace($0, in: ranges) } ?? SearchPlace(range: 0, contact: .min, key: "")
    var found: [ContactDetails] = []
    var last: SearchPlace?
    var read = 0
    while place.range < ranges.count {
      let range = ranges[place.range]
      let begin = max(UTF8String(place.key), UTF8String(range.start)).text
      let rows =
        if let filter {
          try await filter.rows(page.limit + 1, database, of: customer) { [place] database, filter, first in
            try await database.query(
              ContactSearchQueries.statement(range.key, meeting: filter, amongFirst: first), customer.rawValue,
              range.end, begin, place.contact, Int64(page.limit + 1), filter.literals)
          }
        } else {
          try await database.query(
            ContactSearchQueries.statement(range.key), customer.rawValue, range.end, begin, place.contact,
            Int64(page.limit + 1))
        }
      for row in rows {
        let keys: [String] = try row.get("search_keys")
        let contact: ContactDetails = try row.reply()
        let here = SearchPlace(
          range: place.range, contact: contact.contactId.rawValue, key: keys[range.key.rawValue])
        defer { place = here }
        if ranges[..<place.range].contains(where: { $0.holds(keys) }) { continue }
        if found.count == page.limit { return Page(items: found, next: last?.description) }
        found.append(contact)
        last = here
      }
      read += rows.count
      if rows.count <= page.limit {
        place = SearchPlace(range: place.range + 1, contact: .min, key: "")
      } else if read >= Self.mostRead {
        return Page(items: found, next: place.description)
      }
    }
    return Page(items: found)
  }

  private func newest(
    _ customer: CustomerID, meeting filter: PageFilter?, _ page: PageRequest<String>
  ) async throws -> Page<ContactDetails, String> {
    let after = try page.after.map { text in
      guard let contact = ContactID(text) else { throw SearchPlace.unknown }
      return contact.rawValue
    }
    let rows =
      if let filter {
        try await filter.rows(page.limit + 1, database, of: customer) { database, filter, first in
          try await database.query(
            ContactSearchQueries.newest(meeting: filter, amongFirst: first), customer.rawValue, after ?? .max,
            Int64(page.limit + 1), filter.literals)
        }
      } else {
        try await database.query(
          ContactSearchQueries.newest, customer.rawValue, after ?? .max, Int64(page.limit + 1))
      }
    return page.page(of: try rows.map { try $0.reply(ContactDetails.self) }) { "\($0.contactId)" }
  }
}

/// What contacts are looked up by. Each stands for an index of table `contact`; raw values are places in lists of keys.
enum SearchKey: Int, CaseIterable, Sendable {
  case originalID, emailAddress, mobileNumber, name, lastName

  var field: ContactSearchField {
    switch self {
    case .originalID: .originalId
    case .emailAddress: .emailAddress
    case .mobileNumber: .mobileNumber
    case .name, .lastName: .name
    }
  }

  /// As statements are called.
  var name: String {
    switch self {
    case .originalID: "original_id"
    case .emailAddress: "email"
    case .mobileNumber: "number"
    case .name: "name"
    case .lastName: "last_name"
    }
  }

  /// The key as SQL, as its index has it.
  var sql: String {
    switch self {
    case .originalID: sql(of: "contact.original_id")
    case .emailAddress: sql(of: "contact.email_address")
    case .mobileNumber: sql(of: "contact.mobile_number")
    case .name:
      sql(
        of: """
          left(coalesce(contact.first_name || ' ', '') || coalesce(contact.middle_name || ' ', '') \
          || coalesce(contact.last_name, ''), 255)
          """)
    case .lastName: sql(of: "contact.last_name")
    }
  }

  /// The key of a text.
  private func sql(of text: String) -> String {
    switch self {
    case .originalID: text
    case .mobileNumber: #"ltrim(regexp_replace(\#(text) COLLATE "C", '[^0-9]', '', 'g'), '0')"#
    case .emailAddress, .name, .lastName: #"lower(\#(text) COLLATE "C")"#
    }
  }

  /// Which contacts have one, as the index has it.
  var condition: String {
    switch self {
    case .originalID: "true"
    case .emailAddress: "contact.email_address IS NOT NULL"
    case .mobileNumber: "contact.mobile_number IS NOT NULL"
    case .name: "(contact.first_name IS NOT NULL OR contact.middle_name IS NOT NULL OR contact.last_name IS NOT NULL)"
    case .lastName: "contact.last_name IS NOT NULL"
    }
  }

  /// What follows of a key if a field has a text whose SQL is given, in a form that the key's index fits; nil for fields that are in no index.
  static func condition(where field: ContactField) -> (@Sendable (_ text: String) -> String)? {
    switch field {
    case .emailAddress: { Self.emailAddress.equals($0) }
    case .mobileNumber: { Self.mobileNumber.equals($0) }
    case .lastName: { Self.lastName.equals($0) }
    // A blank follows the first name, unless that is as long as a key: "!" is behind a blank.
    case .firstName:
      { text in
        let (name, start) = (Self.name, Self.name.sql(of: text))
        return "\(name.condition) AND \(name.sql) >= \(start) AND \(name.sql) < \(start) || '!'"
      }
    default: nil
    }
  }

  private func equals(_ text: String) -> String { "\(condition) AND \(sql) = \(sql(of: text))" }
}

/// Keys that begin with one text.
struct SearchRange: Sendable {
  let key: SearchKey
  let start: String
  /// Behind all of them. No text has this character, which Unicode keeps for internal use.
  var end: String { start + "\u{10FFFF}" }

  /// - Parameter keys: of one contact, in the order of `SearchKey`.
  func holds(_ keys: [String]) -> Bool { keys[key.rawValue].utf8.starts(with: start.utf8) }

  /// Where to look for a text, in this order.
  static func all(for query: String, in field: ContactSearchField?) -> [SearchRange] {
    SearchKey.allCases.filter { field == nil || $0.field == field }.flatMap { key in
      starts(of: key, query).map { SearchRange(key: key, start: $0) }
    }
  }

  private static func starts(of key: SearchKey, _ query: String) -> [String] {
    switch key {
    case .originalID: distinct([query, query.lowercased(), query.uppercased()])
    case .emailAddress, .name, .lastName: distinct(cases(of: query).map(\.lowercasedASCII))
    case .mobileNumber: digits(of: query).map { [$0] } ?? []
    }
  }

  /// As it is typed, in lower and in upper case, and with a capital letter alone.
  private static func cases(of query: String) -> [String] {
    [query, query.lowercased(), query.uppercased(), query.prefix(1).uppercased() + query.dropFirst().lowercased()]
  }

  private static func distinct(_ texts: [String]) -> [String] {
    var seen: Set<UTF8String> = []
    return texts.filter { seen.insert(UTF8String($0)).inserted }
  }

  /// The digits of a telephone number without zeros before them; `nil` unless it looks like the beginning of one.
  private static func digits(of query: String) -> String? {
    guard query.unicodeScalars.allSatisfy({ "0123456789+-()/. ".unicodeScalars.contains($0) }) else { return nil }
    let digits = query.filter { $0.isASCII && $0.isNumber }.drop { $0 == "0" }
    return digits.count < 3 ? nil : String(digits)
  }
}

/// Behind which contact a page begins, as `next` writes it: the range, the contact, and its key at that time.
private struct SearchPlace: CustomStringConvertible {
  let range: Int
  let contact: Int64
  let key: String

  init(range: Int, contact: Int64, key: String) {
    (self.range, self.contact, self.key) = (range, contact, key)
  }

  /// - Throws: `RegistryError.invalid`.
  init(_ text: String, in ranges: [SearchRange]) throws(RegistryError) {
    let parts = text.split(atEach: ":", maxSplits: 2)
    guard parts.count == 3, let range = Int(parts[0]), ranges.indices.contains(range), let contact = Int64(parts[1]),
      !parts[2].utf8.contains(0)
    else { throw Self.unknown }
    self.init(range: range, contact: contact, key: String(parts[2]))
  }

  var description: String { "\(range):\(contact):\(key)" }

  static let unknown = RegistryError.invalid(field: "after", problem: "is no next of a page of this search")
}

/// Statements that list contacts without properties and devices. Columns have the names of the reply's fields.
enum ContactSearchQueries {
  /// The columns of `ContactDetails` without properties and devices, of the row `contact`. What filters join has `contact_id`, too.
  static let columns =
    """
    contact.contact_id, contact.original_id,
      ARRAY(SELECT list_id FROM list_member
             WHERE customer_id = $1::bigint AND contact_id = contact.contact_id ORDER BY list_id) AS list_ids,
      \(ContactField.allCases.map { "contact.\($0.column)" }.joined(separator: ", ")),
      to_char(contact.date_of_birth, 'YYYY-MM-DD') AS date_of_birth, contact.created_at, contact.updated_at
    """

  /// The contacts of one key up to `$2`, in the order of keys and numbers, from behind the key `$3` and the contact `$4`, at most `$5`. With
  /// all keys of each, "" where there is none.
  static func statement(_ key: SearchKey) -> Statement { statements[key.rawValue] }

  private static let statements = SearchKey.allCases.map { search($0) }

  /// As `statement`, of those who meet a filter with the literals `$6`.
  /// - Parameter first: how many contacts are looked at; nil for all.
  static func statement(_ key: SearchKey, meeting filter: FilterSQL, amongFirst first: Int? = nil) -> Statement {
    search(key, beside: filter.join, where: filter.sql(literals: "$6::text[]"), amongFirst: first)
  }

  private static func search(
    _ key: SearchKey, beside join: String = "", where condition: String? = nil, amongFirst first: Int? = nil
  ) -> Statement {
    let order = PageFilter.looked(at: first, by: "search_key, contact.contact_id")
    return Statement(
      "contact.search_\(key.name)\(condition == nil ? "" : "_meeting")\(first == nil ? "" : "_first")", .read,
      """
      SELECT \(columns), ARRAY[\(SearchKey.allCases.map { "coalesce(\($0.sql), '')" }.joined(separator: ", "))] AS search_keys
        FROM (SELECT contact.*, \(key.sql) AS search_key FROM contact
               WHERE contact.customer_id = $1::bigint AND \(key.condition) AND \(key.sql) < $2::text
                 AND (\(key.sql), contact.contact_id) > ($3::text, $4::bigint) \(order)) AS contact \(join)
       \(condition.map { "WHERE \($0)" } ?? "")
       ORDER BY contact.search_key, contact.contact_id
       LIMIT $5::bigint
      """)
  }

  /// The newest first, from behind `$2`.
  static let newest = latest()

  /// As `newest`, of those who meet a filter with the literals `$4`.
  /// - Parameter first: how many contacts are looked at; nil for all.
  static func newest(meeting filter: FilterSQL, amongFirst first: Int? = nil) -> Statement {
    latest(beside: filter.join, where: filter.sql(literals: "$4::text[]"), amongFirst: first)
  }

  private static func latest(
    beside join: String = "", where condition: String? = nil, amongFirst first: Int? = nil
  ) -> Statement {
    Statement(
      "contact.newest\(condition == nil ? "" : "_meeting")\(first == nil ? "" : "_first")", .read,
      """
      SELECT \(columns)
        FROM (SELECT * FROM contact WHERE contact.customer_id = $1::bigint AND contact.contact_id < $2::bigint
              \(PageFilter.looked(at: first, by: "contact_id DESC"))) AS contact \(join)
       \(condition.map { "WHERE \($0)" } ?? "")
       ORDER BY contact.contact_id DESC LIMIT $3::bigint
      """)
  }

  static let all: [Statement] =
    statements + [newest]
    + [nil, 1].flatMap { first in
      [newest(meeting: .sample, amongFirst: first)]
        + SearchKey.allCases.map { statement($0, meeting: .sample, amongFirst: first) }
    }
}
