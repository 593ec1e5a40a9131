import Wire

/// Reads one file as it arrives: unpacks, decodes, finds delimiter and headings, and hands each row on. It holds a piece of the file at most.
///
/// It is a class, since what is called for a row changes one part of it while another reads on.
final class ImportFile {
  /// Most bytes of a file, packed and unpacked.
  static let largest: Int64 = 4 << 30
  static let tooLarge = UnusableFile("The file has more than 4 GiB. Send it as several files.")

  /// Most rows of a file, without the headings.
  static let mostRows: Int64 = 50_000_000

  private let rules: ImportRows.Rules
  private let mostRows: Int64
  private var encoding: EncodingReader
  /// The first bytes as they came, until it is known whether they are packed.
  private var start: [UInt8]? = []
  private var gunzip: Gunzip?
  private var unpacked: Int64 = 0
  /// Decoded, and not read yet: all of it until the delimiter is found.
  private var text: [UInt8] = []
  private var csv: CSVReader?
  private var delimiter = UInt8(ascii: ",")
  private(set) var headings: ImportHeadings?
  private(set) var rows: ImportRows?
  /// Why the headings cannot be imported. The first rows are read nonetheless, so that its reply shows what the file had.
  private var refusal: UnusableFile?

  init(_ rules: ImportRows.Rules, mostRows: Int64 = mostRows) {
    self.rules = rules
    self.mostRows = mostRows
    encoding = EncodingReader(rules.request.encoding)
  }

  /// Takes what has come. Then `readPiece` is to be called until it returns false.
  /// - Throws: `UnusableFile`.
  func add(_ bytes: [UInt8]) throws {
    var bytes = bytes
    if let begun = start {
      bytes = begun + bytes
      guard bytes.count >= Gunzip.magic.count else { return start = bytes }
      try decideOnPacking(bytes)
    }
    if let gunzip { gunzip.add(bytes) } else { pending = bytes }
  }

  /// What has come unpacked and is not looked at yet.
  private var pending: [UInt8] = []
  private static let piece = 64 * 1024

  private func decideOnPacking(_ bytes: [UInt8]) throws {
    start = nil
    if bytes.starts(with: Gunzip.magic) { gunzip = try Gunzip() }
  }

  /// Reads a piece of what has come, of 64 KiB at most.
  /// - Returns: whether there was one.
  /// - Throws: `UnusableFile`; `GunzipProblem`.
  func readPiece() throws -> Bool {
    if let gunzip {
      guard let piece = try gunzip.next() else { return false }
      try read(piece[...])
      return true
    }
    guard !pending.isEmpty else { return false }
    let piece = pending.prefix(Self.piece)
    try read(piece)
    pending.removeFirst(piece.count)
    return true
  }

  /// Reads what is left, once all has come.
  /// - Throws: `UnusableFile`; `GunzipProblem`.
  func finish() throws {
    if let begun = start {
      start = nil
      try read(begun[...])
    }
    try gunzip?.finish()
    encoding.finish(into: &text)
    if csv == nil { try begin() }
    try readText()
    try withCSV { csv in try csv.finish { try self.take($0) } }
    if let refusal { throw refusal }
    guard headings != nil else { throw UnusableFile("The file is empty: it has not even headings.") }
  }

  private func read(_ bytes: ArraySlice<UInt8>) throws {
    unpacked += Int64(bytes.count)
    guard unpacked <= Self.largest else { throw Self.tooLarge }
    encoding.read(bytes, into: &text)
    if csv == nil {
      guard text.count >= DelimiterGuess.sample else { return }
      try begin()
    }
    try readText()
  }

  /// Finds the delimiter by what has come first.
  private func begin() throws {
    var line = 1
    if let (named, length) = DelimiterGuess.named(in: text) {
      delimiter = named
      text.removeFirst(length)
      line = 2
    } else if rules.request.delimiter == nil {
      delimiter = DelimiterGuess.delimiter(of: text)
    }
    if let chosen = rules.request.delimiter?.utf8.first { delimiter = chosen }
    csv = CSVReader(delimiter: delimiter, line: line)
  }

  private func readText() throws {
    guard !text.isEmpty else { return }
    let text = text
    self.text.removeAll(keepingCapacity: true)
    try withCSV { csv in try csv.read(text) { try self.take($0) } }
  }

  private func withCSV(_ body: (inout CSVReader) throws -> Void) throws {
    guard var reader = csv else { return }
    csv = nil
    defer { csv = reader }
    do {
      try body(&reader)
    } catch CSVProblem.rowTooLong(let line) {
      throw refusal
        ?? UnusableFile(
          "Line \(line): the row is longer than \(CSVReader.largestRow / 1024) KiB. A quote is not closed, or the delimiter is another."
        )
    }
  }

  private func take(_ row: CSVRow) throws {
    if let refusal {
      guard rows?.addToSample(row) == true else { throw refusal }
      return
    }
    guard headings == nil else {
      guard count < mostRows else {
        throw UnusableFile(
          "The file has more than \(mostRows) rows: line \(row.line) begins one more. Send it in parts.")
      }
      rows?.append(row)
      return
    }
    let found: ImportHeadings
    do throws(UnusableFile) {
      found =
        rules.request.review == true
        ? try ImportHeadings(guessing: row.texts, rules.request) : try ImportHeadings(row.texts, rules.request)
    } catch {
      found = try ImportHeadings(guessing: row.texts, rules.request)
      refusal = error
    }
    headings = found
    rows = ImportRows(found, rules)
  }

  /// The rows that were read and not taken yet, in bytes.
  var size: Int { rows?.bytes.count ?? 0 }

  /// How many rows there were.
  var count: Int64 { rows?.count ?? 0 }

  func takeBytes() -> [UInt8] { rows?.takeBytes() ?? [] }

  /// What is known of the file.
  var facts: ReceivedFile.Facts {
    ReceivedFile.Facts(
      delimiter: String(decoding: [delimiter], as: UTF8.self), encoding: encoding.encoding, columns: headings?.targets,
      headings: headings?.headings ?? [], sample: rows?.sample ?? [],
      hasDevices: headings?.place(of: .deviceToken) != nil, rows: count, taken: rows?.taken ?? 0)
  }
}

/// A file that has arrived, and what it is.
package struct ReceivedFile: Sendable {
  struct Facts: Sendable {
    let delimiter: String
    let encoding: ImportEncoding
    let columns: ImportColumns?
    let headings: [String]
    let sample: [[String]]
    let hasDevices: Bool
    let rows: Int64
    /// Rows that are as they may be.
    let taken: Int64
  }

  let number: ImportID
  let attempt: Int32
  let bytes: Int64
  let facts: Facts
  /// Why it cannot be imported; `nil` if it can.
  let problem: String?
}
