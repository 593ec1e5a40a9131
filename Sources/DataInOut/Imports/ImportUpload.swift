import FoundationEssentials
package import Postgres
import Registry
package import Wire

/// Receives the files of imports. Their rows go to the staging table portion by portion, each by a COPY on a connection that it takes for
/// that alone, while the next portion is read: while a client sends, nothing is held but the bytes of two portions.
package struct ImportUpload: Sendable {
  /// Rows of about so many bytes are written at a time.
  private static let portion = 1024 * 1024
  /// How long a slow file may go without anything being written.
  private static let pause = Duration.seconds(20)
  /// In seconds. A hub that has not written by then is gone.
  private static let lease = 120.0
  /// Most files of a customer that arrive at the same time.
  package static let atOnce = 4

  /// Most bytes of rows that a customer has staged, of all its imports that are not done: those of four of the largest files, as a row has its
  /// cells and itself.
  package static let mostStaged = 8 * ImportFile.largest

  /// What files are limited to. Tests choose smaller values.
  struct Limits {
    /// Most rows of a file.
    var rows = ImportFile.mostRows
    /// Most bytes of a customer's rows.
    var staged = ImportUpload.mostStaged
  }

  private let pool: Pool
  private let endpoints: EndpointRules
  private let limits: Limits

  /// - Parameter endpoints: where tokens that are endpoints may lead.
  package init(_ pool: Pool, endpoints: EndpointRules) { self.init(pool, endpoints: endpoints, limits: Limits()) }

  init(_ pool: Pool, endpoints: EndpointRules, limits: Limits) {
    self.pool = pool
    self.endpoints = endpoints
    self.limits = limits
  }

  /// Receives the file of an import that waits for it. One that another request sends is overtaken: its client may be gone.
  ///
  /// The rows do not count before `Imports.finish`. If anything fails until then, the import waits for its file again.
  /// - Parameter length: of the file in bytes, as far as that is known.
  /// - Throws: `DataInOutError`; what `chunks` throws; `PostgresError`.
  package func receive<Chunks: AsyncSequence>(
    _ customer: CustomerID, _ number: ImportID, _ chunks: Chunks, length: Int64?
  ) async throws -> ReceivedFile where Chunks.Element == [UInt8] {
    if let length, length > ImportFile.largest {
      throw DataInOutError.invalid(field: "the file", problem: "has more than 4 GiB: send it as several files")
    }
    let (attempt, request) = try await begin(customer, number, length)
    do {
      return try await receive(customer, number, attempt, request, chunks)
    } catch {
      await abandon(customer, number, attempt)
      if error is GunzipProblem { throw DataInOutError.brokenOff }
      throw error
    }
  }

  private func begin(
    _ customer: CustomerID, _ number: ImportID, _ length: Int64?
  ) async throws -> (attempt: Int32, request: ImportRequest) {
    let rows = try await pool.query(
      ImportQueries.begin, customer.rawValue, number.rawValue, length, Self.lease, Int64(Self.atOnce))
    guard let row = rows.first else {
      let found = try await Imports(pool).find(customer, number)
      guard found.state == .waiting || found.state == .receiving else {
        throw DataInOutError.wrongState(number, found.state, wanted: "given a file")
      }
      throw DataInOutError.tooManyUploads(limit: Self.atOnce)
    }
    let (attempt, request) = try row.decode(Int32.self, JSONDocument.self)
    return (attempt, try ImportRequest(stored: request))
  }

  private func receive<Chunks: AsyncSequence>(
    _ customer: CustomerID, _ number: ImportID, _ attempt: Int32, _ request: ImportRequest, _ chunks: Chunks
  ) async throws -> ReceivedFile where Chunks.Element == [UInt8] {
    let file = ImportFile(
      try await ImportRows.Rules(customer, number, attempt: attempt, request, endpoints: endpoints, in: pool),
      mostRows: limits.rows)
    var bytes: Int64 = 0
    var written = ContinuousClock.now
    var problem: String?
    // The portion that is being written, if any: there is one at a time.
    try await withThrowingTaskGroup(of: Void.self) { portions in
      do {
        for try await chunk in chunks {
          bytes += Int64(chunk.count)
          guard bytes <= ImportFile.largest else { throw ImportFile.tooLarge }
          try file.add(chunk)
          while try file.readPiece() {
            guard file.size >= Self.portion else { continue }
            try await portions.next()
            let (count, rows, received) = (file.count, file.takeBytes(), bytes)
            portions.addTask { try await write(rows, count, customer, number, attempt, received) }
            // Reading keeps its thread busy, and the portion's task may have no other one: let it send first.
            await Task.yield()
            written = .now
          }
          if written.duration(to: .now) > Self.pause {
            try await portions.next()
            try await write(file.takeBytes(), file.count, customer, number, attempt, bytes)
            written = .now
          }
        }
        try Task.checkCancellation()
        try file.finish()
        try await portions.next()
        try await write(file.takeBytes(), file.count, customer, number, attempt, bytes)
      } catch let error as UnusableFile {
        problem = error.sentence
      } catch GunzipProblem.damaged {
        problem = "The file begins like gzip, and cannot be unpacked. Pack it again, or send it as it is."
      }
      try await portions.next()
    }
    return ReceivedFile(number: number, attempt: attempt, bytes: bytes, facts: file.facts, problem: problem)
  }

  /// Writes rows, and tells other hubs that this one is still at it.
  /// - Parameter count: of rows of the file until now.
  /// - Throws: `DataInOutError.tooMuchStaged`.
  private func write(
    _ rows: [UInt8], _ count: Int64, _ customer: CustomerID, _ number: ImportID, _ attempt: Int32, _ received: Int64
  ) async throws {
    try await pool.transaction(of: customer.rawValue, isLong: true) { transaction in
      try await transaction.query(ImportQueries.relax)
      let held = try await transaction.query(
        ImportQueries.extend, customer.rawValue, number.rawValue, attempt, received, Self.lease, count,
        Int64(rows.count))
      guard let staged = try held.first?.decode(Int64.self) else { throw DataInOutError.overtaken }
      guard staged <= limits.staged else { throw DataInOutError.tooMuchStaged(limit: limits.staged) }
      guard !rows.isEmpty else { return }
      _ = try await transaction.copyIn(
        ImportQueries.copy,
        AsyncStream { stream in
          stream.yield(rows)
          stream.finish()
        })
    }
  }

  /// Also when the request's task is cancelled, as when its client is gone. A hub that is killed does not come here; then the lease ends.
  private func abandon(_ customer: CustomerID, _ number: ImportID, _ attempt: Int32) async {
    await Task { [pool] in
      _ = try? await pool.query(ImportQueries.brokeOff, customer.rawValue, number.rawValue, attempt)
    }.value
  }
}

extension ImportRows.Rules {
  /// With the customer's apps as they are now.
  init(
    _ customer: CustomerID, _ number: ImportID, attempt: Int32, _ request: ImportRequest, endpoints: EndpointRules,
    in database: any Querying
  ) async throws {
    let apps = Dictionary(grouping: try await PushApps(database).list(customer)) { UTF8String($0.appID) }
    let year = Calendar(identifier: .gregorian).component(.year, from: Date())
    guard let dates = ImportDate(format: request.dateFormat, thisYear: year) else {
      throw DataInOutError.invalid(field: "dateFormat", problem: ImportDate.formatProblem)
    }
    self.init(
      customer: customer, number: number, attempt: attempt, request: request, apps: apps, endpoints: endpoints,
      dates: dates)
  }
}

extension ImportRequest {
  /// As `Imports.add` has stored it.
  init(stored json: JSONDocument) throws {
    self = try ImportRequest(from: try JSONValue(json: Array(json.text.utf8), rules: .own))
  }
}
