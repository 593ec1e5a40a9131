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
/// A customer has a few exports at a time, and so has the hub, however slowly they are read: each has two pages in memory. Between two pages an
/// export holds nothing that others wait for, and a page looks at a bounded number of rows. So customers take turns with their pages, as the
/// pool has it.
package struct Exports: Sendable {
  /// Most exports of a customer at a time.
  package static let atOnce = 2
  /// Most of all customers. A page has 1 MiB, or 4 MiB where rows are large, and the next one is read while a client takes it.
  package static let atOnceOfAll = 16

  private let pool: Pool
  private let turns = ExportTurns(ofCustomer: Exports.atOnce, ofAll: Exports.atOnceOfAll)
  /// Days for which the hub keeps the ledger; `nil` for ever.
  private let retentionDays: Int32?
  private let window: Int
  private let signAfter: Duration

  /// - Parameters:
  ///   - pool: for what may take long.
  ///   - window: rows that one statement looks at, where a filter can pass over most of them.
  ///   - signAfter: after how long without a row a client gets a sign that the export goes on. Proxies wait for a minute as a rule.
  package init(_ pool: Pool, retentionDays: Int32?, window: Int = 50_000, signAfter: Duration = .seconds(15)) {
    self.pool = pool
    self.retentionDays = retentionDays
    self.window = window
    self.signAfter = signAfter
  }

  /// Checks a request, and begins with it. The export is one of the customer's few until its pages are read or released.
  /// - Throws: `DataInOutError.invalid`, `.tooManyExports`, `.tooManyExportsOfAll`; `RegistryError.invalid`.
  package func begin(_ customer: CustomerID, _ request: ExportRequest) async throws -> ExportPages {
    let turn = try turns.take(customer)
    let segments = Segments(pool, retentionDays: retentionDays)
    var filter: ResolvedFilter?
    if let wanted = request.filter { filter = try await segments.resolve(customer, wanted) }
    if let sendout = request.sendout {
      guard request.subject == .pushes else {
        throw DataInOutError.invalid(field: "sendout", problem: "is for exports of pushes alone")
      }
      try await segments.requireSendout(customer, sendout, field: "sendout")
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
      signAfter: signAfter)
  }

  /// An import has 500 columns.
  private static let mostProperties = 450

  /// The names of the properties of all contacts that are meant. It looks at the contacts window by window, so that no statement takes long:
  /// a name that a contact gets or loses meanwhile may be missing or not.
  private func propertyNames(
    _ customer: CustomerID, _ request: ExportRequest, _ filter: ResolvedFilter?
  ) async throws -> [String] {
    let filter = filter?.sql(within: ExportQueries.rangeOfNames) ?? .everyone
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
///
/// A customer's first export has the first half of the places and the rest; its further ones have the first half alone. So no few customers
/// keep others out with them.
private final class ExportTurns: Sendable {
  private let ofCustomer: Int
  private let ofAll: Int
  private let running = Mutex<[CustomerID: Int]>([:])

  init(ofCustomer: Int, ofAll: Int) { (self.ofCustomer, self.ofAll) = (ofCustomer, ofAll) }

  /// - Throws: `DataInOutError.tooManyExports`, `.tooManyExportsOfAll`.
  func take(_ customer: CustomerID) throws(DataInOutError) -> ExportTurn {
    let refusal = running.withLock { running -> DataInOutError? in
      let (own, all) = (running[customer, default: 0], running.values.reduce(0, +))
      guard own < ofCustomer else { return .tooManyExports(limit: ofCustomer) }
      guard all < (own == 0 ? ofAll : ofAll / 2) else { return .tooManyExportsOfAll }
      running[customer] = own + 1
      return nil
    }
    if let refusal { throw refusal }
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
