import Audience
import Locking
package import Postgres
import Registry
import Retrying
package import Wire

/// What is exported, in which columns and form.
package struct ExportRequest: Sendable {
  package enum Subject: String, Sendable, CaseIterable { case contacts, devices, pushes }
  package enum Format: String, Sendable, CaseIterable {
    case csv, ndjson

    package var mediaType: String { self == .csv ? "text/csv; charset=utf-8" : "application/x-ndjson" }
  }

  package let subject: Subject
  package var filter: Filter?
  /// Of pushes: the only sendout.
  package var sendout: SendoutID?
  /// In their order; `nil` for the usual ones.
  package var columns: [String]?
  package var format = Format.csv
  /// Texts stay as they are, though a spreadsheet would take some for formulas.
  package var isExact = false

  package init(_ subject: Subject) { self.subject = subject }
}

/// Writes contacts, devices or pushes of a customer into a file, a page at a time.
///
/// Each page is a COPY of the next rows by key, in a transaction of its own. So none is open while a client does not read, and no more
/// than a page is in memory. What is added or changed meanwhile may be in the file or not.
///
/// A customer has a few exports at a time, however slowly they are read. Between two pages an export holds nothing that others wait for, and a
/// page looks at a bounded number of rows. So customers take turns with their pages, as the pool has it.
package struct Exports: Sendable {
  /// Most exports of a customer at a time.
  package static let atOnce = 2

  private let pool: Pool
  private let turns = ExportTurns(Exports.atOnce)
  /// Days for which the hub keeps the ledger; `nil` for ever.
  private let retentionDays: Int32?
  private let window: Int

  /// - Parameters:
  ///   - pool: for what may take long.
  ///   - window: rows that one statement looks at, where a filter can pass over most of them.
  package init(_ pool: Pool, retentionDays: Int32?, window: Int = 50_000) {
    self.pool = pool
    self.retentionDays = retentionDays
    self.window = window
  }

  /// Checks a request, and begins with it. The export is one of the customer's few until its pages are read or released.
  /// - Throws: `DataInOutError.invalid`, `.tooManyExports`; `RegistryError.invalid`.
  package func begin(_ customer: CustomerID, _ request: ExportRequest) async throws -> ExportPages {
    let turn = try turns.take(customer)
    var filter = FilterSQL.everyone
    if let wanted = request.filter {
      filter = try await Segments(pool, retentionDays: retentionDays).resolve(customer, wanted).sql
    }
    if request.sendout != nil, request.subject != .pushes {
      throw DataInOutError.invalid(field: "sendout", problem: "is for exports of pushes alone")
    }
    var columns: [ExportColumn] = []
    for name in request.columns ?? ExportColumn.usual(of: request.subject) {
      guard let column = ExportColumn(name, of: request.subject) else {
        throw DataInOutError.invalid(
          field: "columns",
          problem:
            "has \(name), and an export of \(request.subject.rawValue) has \(ExportColumn.names(of: request.subject))")
      }
      guard !columns.contains(where: { $0.name.hasSameBytes(as: column.name) }) else {
        throw DataInOutError.invalid(field: "columns", problem: "has \(name) twice")
      }
      columns.append(column)
    }
    if request.columns == nil, request.subject == .contacts {
      let names = try await propertyNames(customer, request, filter)
      guard names.count <= Self.mostProperties else {
        throw DataInOutError.invalid(
          field: "columns", problem: "is missing: the contacts have more than \(Self.mostProperties) properties")
      }
      columns += names.map { ExportColumn(property: $0) }
    }
    guard !columns.isEmpty else { throw DataInOutError.invalid(field: "columns", problem: "is empty") }
    return ExportPages(
      pool: pool, window: window, turn: turn, customer: customer, request: request, columns: columns, filter: filter,
      isFiltered: request.filter != nil)
  }

  /// An import has 500 columns.
  private static let mostProperties = 450

  /// The names of the properties of all contacts that are meant. It looks at the contacts window by window, so that no statement takes long:
  /// a name that a contact gets or loses meanwhile may be missing or not.
  private func propertyNames(
    _ customer: CustomerID, _ request: ExportRequest, _ filter: FilterSQL
  ) async throws -> [String] {
    let statement = ExportQueries.propertyNames(filter)
    var names: Set<UTF8String> = []
    var last: [Int64]? = request.start
    while let begin = last, names.count <= Self.mostProperties {
      let end = try await ExportWindow.end(after: begin, customer, request, rows: window, in: pool)
      let found = try await pool.query(
        statement, customer.rawValue, filter.literals, Int64(Self.mostProperties + 1), begin[0], end?[0] ?? .max)
      for row in found { names.insert(UTF8String(try row.decode(String.self))) }
      last = end
    }
    return names.sorted().map(\.text)
  }
}

/// Who exports at the moment.
private final class ExportTurns: Sendable {
  private let limit: Int
  private let running = Mutex<[CustomerID: Int]>([:])

  /// - Parameter limit: exports of a customer at a time.
  init(_ limit: Int) { self.limit = limit }

  /// - Throws: `DataInOutError.tooManyExports`.
  func take(_ customer: CustomerID) throws(DataInOutError) -> ExportTurn {
    let isFree = running.withLock { running in
      guard running[customer, default: 0] < limit else { return false }
      running[customer, default: 0] += 1
      return true
    }
    guard isFree else { throw .tooManyExports(limit: limit) }
    return ExportTurn { [self] in
      running.withLock { running in
        let left = running[customer, default: 1] - 1
        running[customer] = left == 0 ? nil : left
      }
    }
  }
}

/// One of a customer's exports: until it ends, or nobody has it any more.
private final class ExportTurn: Sendable {
  private let giveBack: Mutex<(@Sendable () -> Void)?>

  init(giveBack: @escaping @Sendable () -> Void) { self.giveBack = Mutex(giveBack) }

  func end() { giveBack.withLock { $0.take() }?() }

  deinit { end() }
}

/// So many rows in the order of their key, of which a filter can pass over most: what one statement looks at.
private enum ExportWindow {
  /// What is known of the window of the next rows.
  enum Found: Sendable {
    /// Nothing yet.
    case none
    /// The key of its last row.
    case upTo([Int64])
    /// It has all rows that are left.
    case rest
  }

  /// The key of the window's last row; `nil` if the rows that are left are fewer.
  static func end(
    after key: [Int64], _ customer: CustomerID, _ request: ExportRequest, rows: Int, in database: any Querying
  ) async throws -> [Int64]? {
    let skipped = Int64(rows - 1)
    let statement = ExportQueries.windowEnd(request.subject, ofSendout: request.sendout != nil)
    let found =
      switch (request.subject, request.sendout) {
      case (.pushes, let sendout?):
        try await database.query(statement, customer.rawValue, sendout.rawValue, key[1], skipped)
      case (.pushes, nil): try await database.query(statement, customer.rawValue, key[0], key[1], skipped)
      default: try await database.query(statement, customer.rawValue, key[0], skipped)
      }
    guard let row = found.first else { return nil }
    let first: Int64 = try row.column(0)
    guard request.subject == .pushes else { return [first] }
    return [first, try row.column(1)]
  }
}

extension ExportRequest.Subject {
  /// Names of the columns that there are, but for properties of contacts.
  package var columns: [String] { ExportColumn.list(of: self) }
}

extension ExportRequest {
  /// The key before the first row.
  fileprivate var start: [Int64] { subject == .pushes ? [sendout?.rawValue ?? 0, 0] : [0] }
}

/// The pages of an export, in their order.
package struct ExportPages: AsyncSequence, Sendable {
  fileprivate let pool: Pool
  fileprivate let window: Int
  fileprivate let turn: ExportTurn
  fileprivate let customer: CustomerID
  fileprivate let request: ExportRequest
  fileprivate let columns: [ExportColumn]
  fileprivate let filter: FilterSQL
  fileprivate let isFiltered: Bool

  package var format: ExportRequest.Format { request.format }

  /// For the audit log: what was exported, without the filter, which may name people.
  package var audited: [UTF8String: JSONValue] {
    [
      "columns": .array(columns.map { .string($0.name) }), "format": .string(request.format.rawValue),
      "filtered": .bool(isFiltered),
    ]
  }

  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: self) }

  /// One run through all rows.
  package struct AsyncIterator: AsyncIteratorProtocol {
    private let pages: ExportPages
    /// The key of the last row that was given.
    private var last: [Int64]
    private var window = ExportWindow.Found.none
    private var limit = 1000
    private var isOver = false
    private var isFirst = true
    private var ahead: PageAhead?
    /// How many rows were given.
    package private(set) var rows = 0

    fileprivate init(pages: ExportPages) {
      self.pages = pages
      last = pages.request.start
    }

    /// About so many bytes are a page.
    private static let pageSize = 1 << 20

    package mutating func next() async throws -> [UInt8]? {
      var page: [UInt8] = []
      if isFirst, pages.request.format == .csv { page = pages.heading }
      isFirst = false
      // Where a filter passes over all rows of a window, the page has those of the next one.
      while !isOver {
        let copied: Copied
        (copied, window) = try await (ahead ?? readAhead()).page()
        ahead = nil
        rows += copied.rows
        if copied.rows == limit || copied.isFull {
          last = copied.last
        } else if case .upTo(let end) = window {
          (last, window) = (end, .none)
        } else {
          isOver = true
          pages.turn.end()
        }
        guard copied.rows > 0 else { continue }
        limit = Swift.max(50, Swift.min(10_000, Self.pageSize * copied.rows / Swift.max(1, copied.bytes.count)))
        if !isOver { ahead = readAhead() }
        return page + copied.bytes
      }
      return page.isEmpty ? nil : page
    }

    private func readAhead() -> PageAhead {
      PageAhead { [pages, last, window, limit] in try await pages.read(after: last, window, limit) }
    }
  }

  /// A page that the database gives while the client takes the one before. Whoever lets it go, ends that.
  private final class PageAhead: Sendable {
    private let task: Task<(Copied, ExportWindow.Found), any Error>

    init(_ read: @escaping @Sendable () async throws -> (Copied, ExportWindow.Found)) { task = Task(operation: read) }

    deinit { task.cancel() }

    func page() async throws -> (Copied, ExportWindow.Found) {
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }

  /// A page of rows, and the window that it is in. A database that is away for a moment is asked again, as nothing of the page has left.
  fileprivate func read(
    after last: [Int64], _ window: ExportWindow.Found, _ limit: Int
  ) async throws -> (Copied, ExportWindow.Found) {
    let begun = ContinuousClock.now
    var failures = 0
    while true {
      do {
        return try await readOnce(after: last, window, limit)
      } catch {
        // Whether a transaction that only reads was committed makes no difference.
        let isAway = [.nothingDone, .outcomeUnknown].contains(DatabaseUnavailable(error))
        failures += 1
        guard isAway, begun.duration(to: .now) < RetryPolicy.exports.giveUpAfter else { throw error }
        try await Task.sleep(for: RetryPolicy.exports.delay(after: failures))
      }
    }
  }

  private func readOnce(
    after last: [Int64], _ known: ExportWindow.Found, _ limit: Int
  ) async throws -> (Copied, ExportWindow.Found) {
    let (names, rows) = (columns.map { $0.property ?? "" }, self.window)
    // One of the connections for reports, until the page is in memory.
    return try await pool.transaction(of: customer.rawValue) { transaction in
      var window = known
      // Without a filter the limit is the window.
      if !isFiltered {
        window = .rest
      } else if case .none = known {
        let end = try await ExportWindow.end(after: last, customer, request, rows: rows, in: transaction)
        window = end.map { .upTo($0) } ?? .rest
      }
      try await transaction.query(ExportQueries.setTexts, filter.literals, names)
      var copied = Copied()
      try await transaction.copyOut(copy(after: last, window, limit)) { row in copied.append(row, keys: last.count) }
      return (copied, window)
    }
  }

  /// Rows of a page, without their keys.
  fileprivate struct Copied: Sendable {
    var bytes: [UInt8] = []
    var rows = 0
    /// The key of the last row, as it was written.
    private var lastKey: ArraySlice<UInt8> = []
    /// Whether rows were passed over, which the next page begins with: they can be far larger than those before them.
    private(set) var isFull = false
    private static let largest = 4 << 20

    mutating func append(_ row: [UInt8], keys: Int) {
      guard bytes.count < Self.largest else {
        isFull = true
        return
      }
      var (place, left) = (0, keys)
      while left > 0, place < row.count {
        if Self.isDelimiter(row[place]) { left -= 1 }
        place += 1
      }
      lastKey = row[..<place]
      rows += 1
      bytes += row[place...]
    }

    /// The key of the last row.
    var last: [Int64] {
      lastKey.split(whereSeparator: Self.isDelimiter).map { digits in
        digits.reduce(0) { 10 * $0 + Int64($1 &- UInt8(ascii: "0")) }
      }
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: ",") || byte == ExportQueries.delimiter
    }
  }

  private var heading: [UInt8] {
    var line: [UInt8] = []
    for (place, column) in columns.enumerated() {
      if place > 0 { line.append(UInt8(ascii: ",")) }
      CSVCell.append(column.name, to: &line)
    }
    return line + Array("\n".utf8)
  }

  private func copy(after last: [Int64], _ window: ExportWindow.Found, _ limit: Int) -> String {
    var end: [Int64]?
    if case .upTo(let key) = window { end = key }
    return ExportQueries.copy(
      customer, request, columns, isFiltered ? filter : nil, after: last, upTo: end, limit: limit)
  }
}

/// A column of an export. Names are those that imports know, where they know such a column.
struct ExportColumn: Sendable {
  let name: String
  /// SQL of it, over the rows `contact`, `device`, `app` and `push`.
  let sql: String
  /// Whether it can hold what a spreadsheet takes for a formula.
  let isText: Bool
  /// The name of the property that it is.
  let property: String?

  private init(_ name: String, _ sql: String, isText: Bool = true) {
    self.name = name
    self.sql = sql
    self.isText = isText
    property = nil
  }

  init(property name: String) {
    self.name = "properties." + name
    sql = "(contact.properties ->> \(ExportQueries.name))"
    isText = true
    property = name
  }

  init?(_ name: String, of subject: ExportRequest.Subject) {
    if subject == .contacts, case .property(let property)? = ImportColumn(name) {
      self.init(property: property.text)
    } else if let known = Self.all(of: subject).first(where: { $0.name.hasSameBytes(as: name) }) {
      self = known
    } else {
      return nil
    }
  }

  fileprivate static func list(of subject: ExportRequest.Subject) -> [String] { all(of: subject).map(\.name) }

  static func names(of subject: ExportRequest.Subject) -> String {
    all(of: subject).map(\.name).joined(separator: ", ") + (subject == .contacts ? " or properties. with a name" : "")
  }

  /// Those without which a file cannot be imported again, and those that people ask for.
  static func usual(of subject: ExportRequest.Subject) -> [String] {
    switch subject {
    case .contacts: ["originalId"] + ContactField.allCases.map(\.name) + ["dateOfBirth"]
    case .devices: ["originalId", "deviceToken", "appId", "appType", "sandboxToken"]
    case .pushes: all(of: .pushes).map(\.name)
    }
  }

  private static func all(of subject: ExportRequest.Subject) -> [ExportColumn] {
    switch subject {
    case .contacts: contacts
    case .devices: devices
    case .pushes: pushes
    }
  }

  private static func moment(_ name: String, _ field: String) -> ExportColumn {
    ExportColumn(
      name, "to_char(\(field) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')", isText: false)
  }

  private static let contacts: [ExportColumn] =
    [ExportColumn("originalId", "contact.original_id")]
    + ContactField.allCases.map { ExportColumn($0.name, ContactConditions.column($0)) } + [
      ExportColumn("dateOfBirth", "to_char(contact.date_of_birth, 'YYYY-MM-DD')", isText: false),
      ExportColumn("contactId", "contact.contact_id", isText: false),
      moment("createdAt", "contact.created_at"), moment("updatedAt", "contact.updated_at"),
    ]

  private static let devices: [ExportColumn] = [
    ExportColumn("originalId", "contact.original_id"), ExportColumn("deviceToken", "device.token"),
    ExportColumn("appId", "app.app_id"), ExportColumn("appType", "app.app_type", isText: false),
    ExportColumn("sandboxToken", "device.sandbox::text", isText: false),
    ExportColumn("deviceId", "device.device_id", isText: false), ExportColumn("manufacturer", "device.manufacturer"),
    ExportColumn("model", "device.model"), ExportColumn("osVersion", "device.os_version"),
    ExportColumn("country", "device.country"), ExportColumn("timezone", "device.time_zone"),
    ExportColumn("locale", "device.locale"), moment("registeredAt", "device.registered_at"),
  ]

  private static let pushes: [ExportColumn] = [
    ExportColumn("originalId", "contact.original_id"), ExportColumn("sendoutId", "push.sendout_id", isText: false),
    ExportColumn("pushNo", "push.push_no", isText: false), ExportColumn("deviceId", "push.device_id", isText: false),
    ExportColumn("state", "push.state", isText: false), ExportColumn("reason", "push.reason"),
    ExportColumn("attempts", "push.attempts", isText: false), moment("sentAt", "push.sent_at"),
    moment("settledAt", "push.settled_at"), moment("openedAt", "push.opened_at"),
    ExportColumn("delivery", "push.delivery", isText: false), ExportColumn("deliveryReason", "push.delivery_reason"),
  ]
}

/// Statements of exports.
enum ExportQueries {
  /// COPY takes no parameters: the filter's literals `$1` and the names of properties `$2` travel as settings of the transaction.
  static let setTexts = Statement(
    "export.set_texts", .read,
    "SELECT set_config('pushcart.literals', $1::text[]::text, true), set_config('pushcart.names', $2::text[]::text, true)"
  )
  /// In the SQL of a column: the property's name.
  static let name = "{name}"
  private static let literals = "(SELECT current_setting('pushcart.literals')::text[])"

  /// What stands between cells of NDJSON's rows, which JSON never has.
  static let delimiter: UInt8 = 2

  /// The names of the properties of contacts that meet the filter with the literals `$2`, at most `$3`: of those behind the number `$4`, up to
  /// the number `$5`.
  static func propertyNames(_ filter: FilterSQL) -> Statement {
    Statement(
      "export.property_names", .read,
      """
      SELECT DISTINCT json_object_keys(contact.properties) FROM contact \(filter.join)
       WHERE contact.customer_id = $1::bigint AND contact.contact_id > $4::bigint AND contact.contact_id <= $5::bigint
         AND contact.properties::text <> '{}' AND $2::text[] IS NOT NULL AND \(filter.sql(literals: "$2::text[]"))
       LIMIT $3::bigint
      """)
  }

  /// The key of the last row of a window. Its parameters are the key before the window, and one row less than the window has.
  static func windowEnd(_ subject: ExportRequest.Subject, ofSendout: Bool = false) -> Statement {
    switch (subject, ofSendout) {
    case (.contacts, _), (.devices, _):
      let (table, key) = subject == .contacts ? ("contact", "contact_id") : ("device", "device_id")
      return Statement(
        "export.window_of_\(subject.rawValue)", .read,
        """
        SELECT \(key) FROM \(table) WHERE customer_id = $1::bigint AND \(key) > $2::bigint
         ORDER BY \(key) OFFSET $3::bigint LIMIT 1
        """)
    case (.pushes, false):
      return Statement(
        "export.window_of_pushes", .read,
        """
        SELECT sendout_id, push_no FROM push
         WHERE customer_id = $1::bigint AND (sendout_id, push_no) > ($2::bigint, $3::bigint)
         ORDER BY sendout_id, push_no OFFSET $4::bigint LIMIT 1
        """)
    case (.pushes, true):
      return Statement(
        "export.window_of_sendout", .read,
        """
        SELECT sendout_id, push_no FROM push
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no > $3::bigint
         ORDER BY push_no OFFSET $4::bigint LIMIT 1
        """)
    }
  }

  /// The rows behind the key `last`, up to the key `end` if there is one, each with its key before its columns.
  static func copy(
    _ customer: CustomerID, _ request: ExportRequest, _ columns: [ExportColumn], _ filter: FilterSQL?,
    after last: [Int64], upTo end: [Int64]?, limit: Int
  ) -> String {
    let (own, key, tables): (String, [String], String)
    let contact = "contact.customer_id = \(customer)"
    switch request.subject {
    case .contacts: (own, key, tables) = ("contact", ["contact.contact_id"], "contact")
    case .devices:
      (own, key) = ("device", ["device.device_id"])
      tables = """
        device
          JOIN contact ON \(contact) AND contact.contact_id = device.contact_id
          JOIN push_app AS app ON app.customer_id = \(customer) AND app.push_app_id = device.push_app_id
        """
    case .pushes:
      (own, key) = ("push", ["push.sendout_id", "push.push_no"])
      tables = "push LEFT JOIN contact ON \(contact) AND contact.contact_id = push.contact_id"
    }
    var conditions = [
      "\(own).customer_id = \(customer)",
      "(\(key.joined(separator: ", "))) > (\(last.map(\.description).joined(separator: ", ")))",
    ]
    if let end {
      conditions.append("(\(key.joined(separator: ", "))) <= (\(end.map(\.description).joined(separator: ", ")))")
    }
    if request.subject == .devices { conditions.append("device.invalidated_at IS NULL") }
    if let sendout = request.sendout { conditions.append("push.sendout_id = \(sendout)") }
    var join = ""
    if let filter {
      conditions.append("(\(filter.sql(literals: literals).replacing("$1", with: "\(customer)")))")
      join = filter.join.replacing("$1", with: "\(customer)")
    }
    let cells =
      switch request.format {
      case .csv: columns.enumerated().map { cell($1, $0, isExact: request.isExact) }
      case .ndjson:
        // A function has a hundred arguments at most.
        [
          "(SELECT json_object_agg(member.name, member.value) FROM (VALUES "
            + columns.enumerated().map { "(\(heading($1, $0)), to_json(\(sql($1, $0))))" }.joined(separator: ", ")
            + ") AS member (name, value) WHERE member.value IS NOT NULL)"
        ]
      }
    let form =
      request.format == .csv
      ? "FORMAT csv" : "FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01'"
    return """
      COPY (SELECT \((key + cells).joined(separator: ", ")) FROM \(tables) \(join)
             WHERE \(conditions.joined(separator: " AND "))
             ORDER BY \(key.joined(separator: ", ")) LIMIT \(limit)) TO STDOUT (\(form))
      """
  }

  /// With an apostrophe before what a spreadsheet would take for a formula.
  private static func cell(_ column: ExportColumn, _ place: Int, isExact: Bool) -> String {
    let sql = sql(column, place)
    guard column.isText, !isExact else { return sql }
    return "report.cell(\(sql))"
  }

  private static func sql(_ column: ExportColumn, _ place: Int) -> String {
    column.sql.replacing(name, with: nameOfProperty(place))
  }

  private static func nameOfProperty(_ place: Int) -> String {
    "(SELECT (current_setting('pushcart.names')::text[])[\(place + 1)])"
  }

  private static func heading(_ column: ExportColumn, _ place: Int) -> String {
    column.property == nil ? "'\(column.name)'" : "'properties.' || \(nameOfProperty(place))"
  }

  static let all: [Statement] =
    [setTexts, propertyNames(.sample), windowEnd(.pushes, ofSendout: true)]
    + ExportRequest.Subject.allCases.map { windowEnd($0) }
}
