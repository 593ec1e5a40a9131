import Audience
import Locking
package import Postgres
import Registry
package import Wire

/// What is exported, in which columns and form.
package struct ExportRequest: Sendable {
  package enum Subject: String, Sendable, CaseIterable {
    case contacts, devices, pushes

    /// Names of the columns that there are, but for properties of contacts.
    package var columns: [String] { ExportColumn.all(of: self).map(\.name) }
  }

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

  /// The key before the first row.
  var start: [Int64] { subject == .pushes ? [sendout?.rawValue ?? 0, 0] : [0] }
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
      let found = try await filter.sharingMemory(pool, of: customer) {
        try await $0.query(
          statement, customer.rawValue, filter.literals, Int64(Self.mostProperties + 1), begin[0], end?[0] ?? .max)
      }
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
final class ExportTurn: Sendable {
  private let giveBack: Mutex<(@Sendable () -> Void)?>

  init(giveBack: @escaping @Sendable () -> Void) { self.giveBack = Mutex(giveBack) }

  func end() { giveBack.withLock { $0.take() }?() }

  deinit { end() }
}
