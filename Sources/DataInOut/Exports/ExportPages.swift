import Audience
import Postgres
import Registry
import Retrying
package import Wire

/// The pages of an export, in their order.
package struct ExportPages: AsyncSequence, Sendable {
  let pool: Pool
  let window: Int
  let turn: ExportTurn
  let customer: CustomerID
  let request: ExportRequest
  let columns: [ExportColumn]
  /// What the rows' contacts meet; nil for nothing.
  let filter: ResolvedFilter?
  /// After how long without a row the client gets a sign that the export goes on.
  let signAfter: Duration

  package var format: ExportRequest.Format { request.format }

  /// For the audit log: what was exported, without the filter, which may name people.
  package var audited: [UTF8String: JSONValue] {
    [
      "columns": .array(columns.map { .string($0.name) }), "format": .string(request.format.rawValue),
      "filtered": .bool(filter != nil),
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
    /// The end of what was found, which has not left.
    private var kept: [UInt8] = []
    private var lastGiven = ContinuousClock.now
    /// How many rows were given.
    package private(set) var rows = 0

    fileprivate init(pages: ExportPages) {
      self.pages = pages
      last = pages.request.start
    }

    /// About so many bytes are a page.
    private static let pageSize = 1 << 20
    /// Most bytes that are kept. One of them is a sign that the export goes on.
    private static let mostKept = 128

    package mutating func next() async throws -> [UInt8]? {
      if isFirst {
        isFirst = false
        if pages.request.format == .csv { return given(pages.heading) }
      }
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
        if copied.rows > 0 {
          limit = Swift.max(50, Swift.min(10_000, Self.pageSize * copied.rows / Swift.max(1, copied.bytes.count)))
        }
        if !isOver { ahead = readAhead() }
        // A filter can pass over all rows of a window, and of many.
        if copied.rows > 0 { return given(copied.bytes) }
        if let sign = sign() { return sign }
      }
      defer { kept = [] }
      return kept.isEmpty ? nil : kept
    }

    /// The end of the file so far is kept. Clients and proxies that hear nothing for a minute take an export for dead that finds nothing
    /// for longer, and neither form has bytes that mean nothing. So they get what is kept, byte by byte.
    private mutating func given(_ bytes: [UInt8]) -> [UInt8] {
      lastGiven = .now
      let all = kept + bytes
      let count = Swift.min(Self.mostKept, all.count - 1)
      kept = Array(all.suffix(count))
      return Array(all.dropLast(count))
    }

    /// A byte of what is kept; nil if the client has heard of the export of late, or nothing is left.
    private mutating func sign() -> [UInt8]? {
      guard !kept.isEmpty, lastGiven.duration(to: .now) >= pages.signAfter else { return nil }
      lastGiven = .now
      return [kept.removeFirst()]
    }

    private func readAhead() -> PageAhead {
      PageAhead { [pages, last, window, limit] in try await pages.read(after: last, window, limit) }
    }
  }

  /// A page that the database gives while the client takes the one before. Whoever lets it go ends that.
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

  /// A page of rows, and the window that it is in. A database that is away or busy for a moment is asked again, as nothing of the page has
  /// left.
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
        let isAway = [.nothingDone, .tooSlow, .outcomeUnknown].contains(DatabaseUnavailable(error))
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
      if filter == nil {
        window = .rest
      } else if case .none = known {
        let end = try await ExportWindow.end(after: last, customer, request, rows: rows, in: transaction)
        window = end.map { .upTo($0) } ?? .rest
      }
      let sql = filterSQL(after: last, window)
      try await transaction.query(ExportQueries.setTexts, sql?.literals ?? [], names)
      try await sql?.limitMemory(in: transaction)
      var copied = Copied(keys: last.count, isGuarded: isGuarded)
      try await transaction.copyOut(copy(sql, after: last, window, limit)) { row in copied.append(row) }
      return (copied, window)
    }
  }

  /// The filter for the rows of a window. It reads no more of other tables than what belongs to their contacts.
  private func filterSQL(after last: [Int64], _ window: ExportWindow.Found) -> FilterSQL? {
    guard request.subject == .contacts else { return filter?.sqlOfFew }
    var end = Int64.max
    if case .upTo(let key) = window { end = key[0] }
    return filter?.sql(within: "BETWEEN \(last[0]) AND \(end)")
  }

  /// Of a row's cells, those that a spreadsheet could take for formulas; none where texts stay as they are.
  private var isGuarded: [Bool] {
    request.format == .csv && !request.isExact ? columns.map(\.isText) : []
  }

  /// Rows of a page, without their keys.
  fileprivate struct Copied: Sendable {
    let keys: Int
    let isGuarded: [Bool]
    private(set) var bytes: [UInt8] = []
    private(set) var rows = 0
    /// The key of the last row, as it was written.
    private var lastKey: ArraySlice<UInt8> = []
    /// Whether rows were passed over, which the next page begins with: they can be far larger than those before them.
    private(set) var isFull = false
    private static let largest = 4 << 20

    init(keys: Int, isGuarded: [Bool]) {
      self.keys = keys
      self.isGuarded = isGuarded
    }

    mutating func append(_ row: [UInt8]) {
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
      CSVCell.append(cells: row[place...], isGuarded: isGuarded, to: &bytes)
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

  private func copy(
    _ filter: FilterSQL?, after last: [Int64], _ window: ExportWindow.Found, _ limit: Int
  ) -> String {
    var end: [Int64]?
    if case .upTo(let key) = window { end = key }
    return ExportQueries.copy(customer, request, columns, filter, after: last, upTo: end, limit: limit)
  }
}

/// So many rows in the order of their key, of which a filter can pass over most: what one statement looks at.
enum ExportWindow {
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
