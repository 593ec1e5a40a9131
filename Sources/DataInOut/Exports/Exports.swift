import Audience
package import Postgres
import Registry
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
package struct Exports: Sendable {
  private let pool: Pool
  /// Days for which the hub keeps the ledger; `nil` for ever.
  private let retentionDays: Int32?

  /// - Parameter pool: for what may take long.
  package init(_ pool: Pool, retentionDays: Int32?) {
    self.pool = pool
    self.retentionDays = retentionDays
  }

  /// Checks a request, and begins with it.
  /// - Throws: `DataInOutError.invalid`; `RegistryError.invalid`.
  package func begin(_ customer: CustomerID, _ request: ExportRequest) async throws -> ExportPages {
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
      let names = try await propertyNames(customer, filter)
      guard names.count <= Self.mostProperties else {
        throw DataInOutError.invalid(
          field: "columns", problem: "is missing: the contacts have more than \(Self.mostProperties) properties")
      }
      columns += names.map { ExportColumn(property: $0) }
    }
    guard !columns.isEmpty else { throw DataInOutError.invalid(field: "columns", problem: "is empty") }
    return ExportPages(
      pool: pool, customer: customer, request: request, columns: columns, filter: filter,
      isFiltered: request.filter != nil)
  }

  /// An import has 500 columns.
  private static let mostProperties = 450

  private func propertyNames(_ customer: CustomerID, _ filter: FilterSQL) async throws -> [String] {
    try await pool.limited(to: .seconds(600)).query(
      ExportQueries.propertyNames(filter), customer.rawValue, filter.literals, Int64(Self.mostProperties + 1)
    ).map { try $0.decode(String.self) }
  }
}

/// The pages of an export, in their order.
package struct ExportPages: AsyncSequence, Sendable {
  fileprivate let pool: Pool
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
    private var limit = 1000
    private var isOver = false
    private var isFirst = true
    /// How many rows were given.
    package private(set) var rows = 0

    fileprivate init(pages: ExportPages) {
      self.pages = pages
      last = pages.request.subject == .pushes ? [0, 0] : [0]
    }

    /// About so many bytes are a page.
    private static let pageSize = 1 << 20

    package mutating func next() async throws -> [UInt8]? {
      if isOver { return nil }
      var page: [UInt8] = []
      if isFirst, pages.request.format == .csv { page = pages.heading }
      isFirst = false
      let (sql, literals) = (pages.copy(after: last, limit), pages.filter.literals)
      let names = pages.columns.map { $0.property ?? "" }
      // One of the connections for reports, until the page is in memory.
      let copied = try await pages.pool.transaction(of: pages.customer.rawValue) { [keys = last.count] transaction in
        try await transaction.query(ExportQueries.setTexts, literals, names)
        var copied = Copied()
        try await transaction.copyOut(sql) { row in copied.append(row, keys: keys) }
        return copied
      }
      rows += copied.rows
      if !copied.last.isEmpty { last = copied.last }
      isOver = copied.rows < limit && !copied.isFull
      if copied.rows > 0 {
        limit = Swift.max(50, Swift.min(10_000, Self.pageSize * copied.rows / Swift.max(1, copied.bytes.count)))
      }
      page += copied.bytes
      return page.isEmpty ? nil : page
    }
  }

  /// Rows of a page, without their keys.
  private struct Copied: Sendable {
    var bytes: [UInt8] = []
    var rows = 0
    var last: [Int64] = []
    /// Whether rows were passed over, which the next page begins with: they can be far larger than those before them.
    private(set) var isFull = false
    private static let largest = 4 << 20

    mutating func append(_ row: [UInt8], keys: Int) {
      guard bytes.count < Self.largest else {
        isFull = true
        return
      }
      var key: [Int64] = []
      var number: Int64 = 0
      var place = 0
      while key.count < keys, place < row.count {
        if row[place] == UInt8(ascii: ",") || row[place] == ExportQueries.delimiter {
          key.append(number)
          number = 0
        } else {
          number = number * 10 + Int64(row[place] &- UInt8(ascii: "0"))
        }
        place += 1
      }
      last = key
      rows += 1
      bytes += row[place...]
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

  private func copy(after last: [Int64], _ limit: Int) -> String {
    ExportQueries.copy(
      customer, request, columns, isFiltered ? filter : nil, after: last, limit: limit)
  }
}
