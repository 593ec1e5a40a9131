import Postgres
import Registry
import Wire

/// A step of one import, in its transaction.
struct ImportStep {
  let customer: CustomerID
  let number: ImportID
  let progress: Progress
  let transaction: Transaction
  let portion: Int64
  let suppressions: SuppressionKey
  let endpoints: EndpointRules

  /// Whether the customer has so many contacts more by this step that the planner has to be told. It takes a customer whom it has not seen for
  /// one with hardly a contact, and would read all of them for each portion.
  var hasGrown: Bool {
    guard progress.state == .merging, progress.mode != .suppress, !progress.isTrial else { return false }
    return [10_000, 200_000, 4_000_000].contains { progress.merged < $0 && $0 <= until }
  }

  /// Whether it looks at all rows of the file at once: others take a portion.
  var looksAtAll: Bool {
    switch progress.state {
    case .checking: progress.checked == nil
    case .merging: progress.mode == .replace && progress.merged >= progress.staged && !registersMore
    default: false
    }
  }

  private var registersMore: Bool {
    progress.hasDevices && progress.mode != .suppress && progress.registered < progress.staged
  }

  func run() async throws -> Bool {
    switch progress.state {
    case .receiving:
      if progress.isExpired {
        try await transaction.query(ImportStepQueries.expire, customer.rawValue, number.rawValue)
      }
      return progress.isExpired
    case .waiting, .finished, .failed, .cancelled: return try await clear()
    case .review: return false
    case .checking:
      guard let checked = progress.checked else {
        try await markDuplicates()
        return true
      }
      try await transaction.query(ImportQueries.relax)
      // What was checked for a dry run before is not needed any more.
      if checked == 0, try await deleteRows(upTo: progress.attempt - 1) { return true }
      try await check(after: checked)
      return true
    case .merging:
      guard progress.merged < progress.staged || registersMore else {
        try await end()
        return true
      }
      try await transaction.query(ImportQueries.relax)
      if progress.merged >= progress.staged {
        try await register()
      } else {
        try await progress.mode == .suppress ? suppress() : merge()
      }
      return true
    }
  }

  // MARK: Steps

  /// - Returns: whether there were any.
  private func deleteRows(upTo attempt: Int32) async throws -> Bool {
    try await transaction.query(ImportStepQueries.clear, customer.rawValue, number.rawValue, attempt).affected > 0
  }

  private func clear() async throws -> Bool {
    try await transaction.query(ImportQueries.relax)
    // A cancelled check has begun the next attempt. No upload can have begun it: the import is locked.
    if try await deleteRows(upTo: progress.attempt + 1) { return true }
    try await transaction.query(ImportStepQueries.cleared, customer.rawValue, number.rawValue)
    return false
  }

  /// Reads rows as they were in the file again, by the columns that were chosen in the review, into the next attempt.
  private func check(after checked: Int64) async throws {
    guard checked < progress.staged else {
      try await transaction.query(ImportStepQueries.endCheck, customer.rawValue, number.rawValue)
      return
    }
    var request = progress.request
    request.review = nil
    let rules = try await ImportRows.Rules(
      customer, number, attempt: progress.attempt + 1, request, endpoints: endpoints, in: transaction)
    var rows = ImportRows(try ImportHeadings(progress.headings, request), rules, after: checked)
    var last = checked
    for row in try await transaction.query(
      ImportStepQueries.fileRows, customer.rawValue, number.rawValue, progress.attempt, checked, portion + 1)
    {
      if try row.isBeyondPage || last == checked + portion { break }
      last = try row.get("row_no")
      var reader = CSVReader(
        delimiter: progress.delimiter?.utf8.first ?? UInt8(ascii: ","), line: Int(try row.get("line_no") as Int64))
      let file = try row.get("raw") as String
      let isBroken = try row.get("is_broken") as Bool
      try reader.read(isBroken ? Self.broken(file) : Array(file.utf8)) { rows.append($0) }
      try reader.finish { rows.append($0) }
    }
    // Nothing of `staged` is missing, but a file must not be checked for ever.
    guard last > checked else { throw UnusableFile("The rows of the file are gone. Send it again.") }
    let written = rows.takeBytes()
    _ = try await transaction.copyIn(
      ImportQueries.copy,
      AsyncStream { stream in
        stream.yield(written)
        stream.finish()
      })
    try await transaction.query(ImportStepQueries.noteChecked, customer.rawValue, number.rawValue, last)
  }

  /// A row whose bytes were no text, which has U+FFFD for them: it is no text this time, either.
  private static func broken(_ file: String) -> [UInt8] {
    file.unicodeScalars.flatMap { $0 == "\u{FFFD}" ? [0xFF] : Array(String($0).utf8) }
  }

  private func markDuplicates() async throws {
    try await transaction.query(ImportStepQueries.joinByHash)
    try await transaction.query(
      ImportStepQueries.markDuplicates, customer.rawValue, number.rawValue, progress.attempt)
    if progress.identity != .originalId {
      try await transaction.query(
        ImportStepQueries.markSameOriginalIDs, customer.rawValue, number.rawValue, progress.attempt)
    }
    try await transaction.query(ImportStepQueries.beginMerging, customer.rawValue, number.rawValue)
  }

  private var until: Int64 { min(progress.merged + portion, progress.staged) }

  private var rejectHeadings: [String] {
    [progress.heading(of: progress.identity.column), progress.heading(of: .originalID)]
  }

  private func merge() async throws {
    let row = try await transaction.query(
      ImportMergeQueries.merge(by: progress.identity), customer.rawValue, number.rawValue, progress.attempt,
      progress.merged, until, progress.moment, progress.mode.rawValue, progress.list, progress.segment,
      progress.isTrial, progress.notesContacts, rejectHeadings)[0]
    let (added, updated, unchanged, duplicates, skipped, rejected, isRaced) = try row.decode(
      Int64.self, Int64.self, Int64.self, Int64.self, Int64.self, Int64.self, Bool.self)
    guard !isRaced else { throw ImportWork.Raced() }
    try await transaction.query(
      ImportStepQueries.advance, customer.rawValue, number.rawValue, until, added, updated, unchanged, duplicates,
      skipped, rejected)
  }

  private func suppress() async throws {
    let row = try await transaction.query(
      ImportMergeQueries.suppress(by: progress.identity), customer.rawValue, number.rawValue, progress.attempt,
      progress.merged, until, progress.isTrial, rejectHeadings, suppressions.inner, suppressions.outer)[0]
    let (updated, unchanged, duplicates, rejected) = try row.decode(Int64.self, Int64.self, Int64.self, Int64.self)
    try await transaction.query(
      ImportStepQueries.advance, customer.rawValue, number.rawValue, until, Int64(0), updated, unchanged, duplicates,
      Int64(0), rejected)
  }

  private func register() async throws {
    let until = min(progress.registered + portion, progress.staged)
    let apps = Dictionary(
      try await PushApps(transaction).list(customer).map { ($0.id.rawValue, $0) }, uniquingKeysWith: { $1 })
    let rows = try await transaction.query(
      ImportStepQueries.tokens, customer.rawValue, number.rawValue, progress.attempt, progress.registered, until,
      progress.isTrial)
    let devices: [ImportedDevice] = try rows.compactMap { row in
      let (originalID, device) = try row.decode(String.self, [String].self)
      // An app that was removed meanwhile has no devices.
      guard device.count == 3, let app = Int64(device[0]).flatMap({ apps[$0] }) else { return nil }
      return ImportedDevice(
        originalID: originalID, app: app, token: try DeviceToken(device[1], type: app.type, field: "deviceToken"),
        isSandbox: device[2] == "t")
    }
    let count = try await ImportedDevices(transaction).register(
      customer, devices, asOf: progress.moment, isTrial: progress.isTrial)
    try await transaction.query(
      ImportStepQueries.advanceTokens, customer.rawValue, number.rawValue, until, Int64(count))
  }

  // MARK: The end

  private func end() async throws {
    var (removed, error): (Int64, String?) = (0, nil)
    if progress.mode == .replace {
      if let refusal = try await refusalToReplace() {
        error = refusal
      } else {
        removed = try await removeOthers()
      }
    }
    try await transaction.query(ImportStepQueries.end, customer.rawValue, number.rawValue, removed, error)
  }

  /// Why nobody is taken off the list; `nil` if those are who are not in the file.
  private func refusalToReplace() async throws -> String? {
    if progress.staged == 0 {
      return progress.request.allowEmpty == true
        ? nil : "The file has headings alone, which would take everybody off. Say allowEmpty if that is meant."
    }
    let hasGoodRows = try await transaction.query(
      ImportStepQueries.hasGoodRows, customer.rawValue, number.rawValue, progress.attempt)[0].decode(Bool.self)
    return hasGoodRows ? nil : "All rows of the file are rejected, so nobody was taken off."
  }

  private func removeOthers() async throws -> Int64 {
    try await transaction.query(ImportStepQueries.joinByHash)
    var removed: Int64 = 0
    for (number, count, remove) in [
      (progress.list, ImportStepQueries.othersOnList, ImportStepQueries.removeFromList),
      (progress.segment, ImportStepQueries.othersInSegment, ImportStepQueries.removeFromSegment),
    ] {
      guard let number else { continue }
      if progress.isTrial {
        removed += try await transaction.query(
          count, customer.rawValue, self.number.rawValue, progress.attempt, number)[0].decode(Int64.self)
      } else {
        removed += Int64(
          try await transaction.query(remove, customer.rawValue, self.number.rawValue, progress.attempt, number)
            .affected)
      }
    }
    return removed
  }
}

extension ImportStep {
  /// What of an import its steps go by.
  struct Progress {
    let state: ImportState
    let attempt: Int32
    let request: ImportRequest
    let headings: [String]
    let moment: PostgresTimestamp
    let staged: Int64
    let merged: Int64
    let registered: Int64
    let hasDevices: Bool
    let isTrial: Bool
    let mode: ImportMode
    let identity: ImportIdentity
    let list: Int64?
    let segment: Int64?
    let rejected: Int64
    let isExpired: Bool
    /// Rows that are checked by the columns that were chosen in a review; `nil` if rows need no further check.
    let checked: Int64?
    let delimiter: String?

    init(_ row: Row) throws {
      state = ImportState(rawValue: try row.column(0)) ?? .failed
      attempt = try row.column(1)
      request = try ImportRequest(stored: try row.column(2))
      headings = try row.column(3) ?? []
      moment = try row.column(4)
      staged = try row.column(5)
      merged = try row.column(6)
      registered = try row.column(7)
      hasDevices = try row.column(8)
      isTrial = try row.column(9)
      mode = ImportMode(rawValue: try row.column(10)) ?? .upsert
      identity = ImportIdentity(rawValue: try row.column(11)) ?? .originalId
      list = try row.column(12)
      segment = try row.column(13)
      rejected = try row.column(14)
      isExpired = try row.column(15)
      checked = try row.column(16)
      delimiter = try row.column(17)
    }

    /// Whether later steps ask which contacts rows became.
    var notesContacts: Bool { mode == .replace || hasDevices && mode != .suppress }

    /// As the file has them, for rejects.
    func heading(of column: ImportColumn) -> String {
      let found = try? ImportHeadings(headings, request)
      return found?.place(of: column).map { headings[$0] } ?? column.target ?? ""
    }
  }
}
