package import Postgres
import Registry
package import Wire

/// The store of imports: files of contacts that a customer brings in.
package struct Imports: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// Days for which rejects and samples are kept.
  static let rejectDays = 30
  /// Days for which a file waits in its review.
  static let reviewDays = 7
  /// Most rejects in one reply.
  package static let rejectPage = 10_000

  /// What a column of a file can be, as `columns` names it, but for properties.
  package static let targets = ImportColumn.targets

  /// Makes an import that waits for its file.
  /// - Throws: `DataInOutError.invalid`; `RegistryError.customerUnknown`.
  package func add(_ customer: CustomerID, _ request: ImportRequest) async throws -> ImportReply {
    try await check(customer, request)
    do {
      return try await database.query(
        ImportQueries.add, customer.rawValue, request.name, (request.mode ?? .upsert).rawValue,
        (request.identity ?? .originalId).rawValue, request.listId?.rawValue, request.segmentId?.rawValue,
        request.dryRun ?? false, JSONDocument(encoding: request))[0].reply()
    } catch let error as PostgresError {
      throw Self.refusal(error, customer)
    }
  }

  private static func refusal(_ error: PostgresError, _ customer: CustomerID) -> any Error {
    switch error.constraint {
    case "import_list_id_fkey": DataInOutError.invalid(field: "listId", problem: "names no list of this customer")
    case "import_customer_id_fkey": RegistryError.customerUnknown(customer)
    default: error
    }
  }

  /// Starts an import in review with the columns that were chosen. Its rows are checked by them, as if the file had come with them.
  /// - Parameter changes: in place of what it was added with.
  /// - Throws: `DataInOutError`.
  package func start(
    _ customer: CustomerID, _ number: ImportID, _ changes: ImportRequest
  ) async throws -> (before: ImportReply, after: ImportReply) {
    let before = try await find(customer, number)
    let rows = try await database.query(ImportQueries.reviewed, customer.rawValue, number.rawValue)
    guard let row = rows.first else {
      throw DataInOutError.wrongState(number, before.state, wanted: "started: only one in review can")
    }
    let (stored, headings) = try row.decode(JSONDocument.self, [String].self)
    let request = try ImportRequest(stored: stored).started(with: changes)
    try await check(customer, request)
    let found: ImportHeadings
    do throws(UnusableFile) {
      found = try ImportHeadings(headings, request)
    } catch {
      throw DataInOutError.invalid(field: "columns", problem: "do not fit the file: \(error.sentence.dropLast())")
    }
    do {
      let started = try await database.query(
        ImportQueries.start, customer.rawValue, number.rawValue, (request.mode ?? .upsert).rawValue,
        (request.identity ?? .originalId).rawValue, request.listId?.rawValue, request.segmentId?.rawValue,
        request.dryRun ?? false, JSONDocument(encoding: request), JSONDocument(encoding: found.targets),
        found.place(of: .deviceToken) != nil)
      _ = try? await database.notify(.step, "")
      return (before, try started[0].reply())
    } catch let error as PostgresError {
      throw Self.refusal(error, customer)
    }
  }

  /// What an import was added with, or started with last.
  /// - Throws: `DataInOutError.importUnknown`.
  package func request(_ customer: CustomerID, _ number: ImportID) async throws -> ImportRequest {
    guard let row = try await database.query(ImportQueries.request, customer.rawValue, number.rawValue).first else {
      throw DataInOutError.importUnknown
    }
    return try ImportRequest(stored: try row.decode(JSONDocument.self))
  }

  /// What was wrong with how many of the first 10,000 rejects, the most first.
  /// - Throws: `DataInOutError.importUnknown`.
  package func problems(_ customer: CustomerID, _ number: ImportID) async throws -> [ImportProblem] {
    try await database.query(ImportQueries.problems, customer.rawValue, number.rawValue).map {
      ImportProblem(
        column: try $0.get("column_name"), problem: try $0.get("problem"), rows: Int(try $0.get("rows") as Int64))
    }
  }

  /// The first rejects.
  package func firstRejects(_ customer: CustomerID, _ number: ImportID, limit: Int) async throws -> [ImportReject] {
    try await database.query(ImportQueries.rejects, customer.rawValue, number.rawValue, Int64(0), Int64(limit))
      .map {
        ImportReject(
          line: Int(try $0.get("line_no") as Int64), column: try $0.get("column_name"), problem: try $0.get("problem"),
          row: try $0.get("raw"))
      }
  }

  private func check(_ customer: CustomerID, _ request: ImportRequest) async throws {
    try check(request)
    if let segment = request.segmentId {
      let rows = try await database.query(ImportQueries.segment, customer.rawValue, segment.rawValue)
      guard let isStatic = try rows.first?.decode(Bool.self) else {
        throw DataInOutError.invalid(field: "segmentId", problem: "names no segment of this customer")
      }
      guard isStatic else {
        throw DataInOutError.invalid(
          field: "segmentId", problem: "names a segment with a filter: contacts can be put into a static one only")
      }
    }
    if let appID = request.appId {
      do {
        _ = try await PushApps(database).resolveAll(customer, appIDs: [appID], type: request.appType)
      } catch RegistryError.appUnknown {
        throw DataInOutError.invalid(field: "appId", problem: "names no push app of this customer on that platform")
      }
    }
  }

  private func check(_ request: ImportRequest) throws {
    func refuse(_ field: String, _ problem: String) -> DataInOutError { .invalid(field: field, problem: problem) }
    if let name = request.name {
      _ = try TextRule("name", maximum: ImportRequest.fieldTable.maximum(of: "name")).require(name)
    }
    if let delimiter = request.delimiter {
      guard let byte = delimiter.utf8.first, delimiter.utf8.count == 1, byte == 9 || (0x20..<0x7F).contains(byte),
        byte != UInt8(ascii: "\"")
      else { throw refuse("delimiter", "must be one character of ASCII, or a tab, and no quote") }
    }
    if let format = request.dateFormat, ImportDate(format: format, thisYear: 2000) == nil {
      throw refuse("dateFormat", ImportDate.formatProblem)
    }
    if request.mode == .replace, request.listId == nil, request.segmentId == nil {
      throw refuse("listId", "is missing, and so is segmentId: mode replace takes those off who are not in the file")
    }
    if request.mode == .suppress, request.listId != nil || request.segmentId != nil {
      throw refuse(
        request.listId != nil ? "listId" : "segmentId", "does not belong to mode suppress, which adds nobody")
    }
    if request.appType == .sms {
      throw refuse("appType", "must be a platform of apps: telephone numbers are registered by the hub itself")
    }
    let targets = request.columns?.targets ?? [:]
    guard targets.count <= ImportHeadings.maximum else {
      throw refuse("columns", "has more than \(ImportHeadings.maximum) columns")
    }
    for (heading, target) in targets.sorted(by: { $0.key < $1.key }) {
      guard let target, ImportColumn(target) == nil else { continue }
      throw refuse("columns", "says \(target) of \(heading.text), which is none of \(ImportColumn.names)")
    }
  }

  /// - Throws: `DataInOutError.importUnknown`.
  package func find(_ customer: CustomerID, _ number: ImportID) async throws -> ImportReply {
    guard let row = try await database.query(ImportQueries.find, customer.rawValue, number.rawValue).first else {
      throw DataInOutError.importUnknown
    }
    return try row.reply()
  }

  /// Imports, the newest first.
  package func list(
    _ customer: CustomerID, _ page: PageRequest<ImportID>
  ) async throws -> Page<ImportReply, ImportID> {
    let rows = try await database.query(
      ImportQueries.list, customer.rawValue, page.after?.rawValue ?? .max, Int64(page.limit + 1))
    return page.page(of: try rows.map { (try $0.reply(ImportReply.self), try $0.isBeyondPage) }, cursor: \.importId)
  }

  /// Cancels an import that has not ended. What is merged already stays; the counts say how much.
  /// - Throws: `DataInOutError.importUnknown`, `.wrongState`.
  package func cancel(_ customer: CustomerID, _ number: ImportID) async throws -> (
    before: ImportReply, after: ImportReply
  ) {
    let before = try await find(customer, number)
    let rows = try await database.query(ImportQueries.cancel, customer.rawValue, number.rawValue)
    guard let row = rows.first else {
      throw DataInOutError.wrongState(number, try await find(customer, number).state, wanted: "cancelled")
    }
    return (before, try row.reply())
  }

  /// A page of the rows that were rejected, as CSV with a line of headings: line, column, problem, and the row as it was in the file.
  /// - Parameter after: the number of the last row of the page before.
  /// - Returns: also the number of the last row, if there are more behind it.
  /// - Throws: `DataInOutError.importUnknown`.
  package func rejects(
    _ customer: CustomerID, _ number: ImportID, after: Int64 = 0
  ) async throws -> (csv: [UInt8], next: Int64?) {
    _ = try await find(customer, number)
    let rows = try await database.query(
      ImportQueries.rejects, customer.rawValue, number.rawValue, after, Int64(Self.rejectPage + 1))
    var csv = Array("line,column,problem,row\r\n".utf8)
    var last: Int64?
    for (place, row) in rows.enumerated() {
      if place == Self.rejectPage { return (csv, last) }
      if try row.isBeyondPage { return (csv, last) }
      last = try row.get("row_no") as Int64
      csv += Array("\(try row.get("line_no") as Int64)".utf8)
      for column in ["column_name", "problem", "raw"] {
        csv.append(UInt8(ascii: ","))
        CSVCell.append((try row.get(column) as String?) ?? "", to: &csv)
      }
      csv += Array("\r\n".utf8)
    }
    return (csv, nil)
  }

  /// Ends what `ImportUpload` has received: the rows count from now on, or the file is found unusable.
  /// - Throws: `DataInOutError.overtaken`, `.importUnknown`.
  package func finish(_ customer: CustomerID, _ file: ReceivedFile) async throws -> ImportReply {
    let facts = file.facts
    let rows = try await database.query(
      ImportQueries.received, customer.rawValue, file.number.rawValue, file.attempt, file.bytes, facts.delimiter,
      facts.encoding.rawValue, try facts.columns.map { try JSONDocument(encoding: $0) },
      JSONDocument(encoding: facts.sample), facts.hasDevices,
      facts.rows, file.problem, facts.headings)
    guard !rows.isEmpty else { throw DataInOutError.overtaken }
    // The file has come, and a lost word is made up for by the next scan.
    _ = try? await database.notify(.step, "")
    return try await find(customer, file.number)
  }

  /// Deletes what is kept of people whose imports are long over.
  package static func forgetExpired(_ customer: CustomerID, in database: any Querying) async throws {
    try await database.deleteInPortions(ImportQueries.forgetRejects, customer.rawValue)
    try await database.query(ImportQueries.forgetSamples, customer.rawValue)
    try await database.query(ImportQueries.forgetReviews, customer.rawValue)
    try await database.deleteInPortions(ImportQueries.forget, customer.rawValue, portion: 1000)
  }
}

extension JSONDocument {
  fileprivate init(encoding value: some Encodable) throws {
    self.init(String(decoding: try JSONValue(encoding: value).json, as: UTF8.self))
  }
}

/// What was wrong with some rows.
package struct ImportProblem: Sendable {
  /// The heading; `nil` for the row as a whole.
  package let column: String?
  package let problem: String
  package let rows: Int
}

/// A row that was not merged.
package struct ImportReject: Sendable {
  /// Of the file, from 1.
  package let line: Int
  /// The heading; `nil` for the row as a whole.
  package let column: String?
  package let problem: String
  /// As it was in the file.
  package let row: String
}
