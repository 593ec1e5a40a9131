/// Reads CSV as it arrives, a row at a time: RFC 4180, and what people's programs write beside it.
///
/// It is no library, as a rejected row is reported with its first physical line and as it was in the file. PostgreSQL's COPY
/// fails as a whole at the first row with a cell too many, and counts rows instead of lines. libcsv takes blanks off cells,
/// drops empty lines, and reports no line.
///
/// - A cell in quotes holds whatever is between them, line ends too. Two quotes inside are one.
/// - What follows a closing quote belongs to the cell, and a quote within a cell that does not begin with one is a quote.
/// - Rows end with CRLF, LF or CR, in any mixture. Lines without anything are passed over.
///
/// Memory: the bytes of one row, `largestRow` at most, and of what was given last.
package struct CSVReader {
  /// Most bytes of a row. A quote that is never closed would make one row of the rest of the file.
  package static let largestRow = 256 * 1024

  /// - **start**: at the beginning of a cell → plain, quoted
  /// - **plain**: in a cell without quotes, or behind the closing one → start
  /// - **quoted**: within quotes → quote
  /// - **quote**: behind a quote within quotes: it closes the cell, or is the first of two → quoted, plain, start
  /// - **carriageReturn**: behind a row that ended with CR, of which a LF may be a part → start
  private enum State { case start, plain, quoted, quote, carriageReturn }

  private let delimiter: UInt8
  private var state = State.start
  /// The bytes of the row that is being read, and what has come behind it.
  private var buffer: [UInt8] = []
  /// What is looked at next.
  private var position = 0
  private var rowStart = 0
  /// Where the part of the cell begins that is not in `unescaped` yet.
  private var segment = 0
  /// Where the cell begins in `unescaped`, if it is not in one piece in `buffer`.
  private var copied: Int?
  private var isQuoted = false
  private var line = 1
  private var rowLine = 1
  private var cells: [CSVRow.Cell] = []
  /// Cells that had to be put together.
  private var unescaped: [UInt8] = []

  /// - Parameter line: the physical line that the first byte is on, from 1.
  package init(delimiter: UInt8, line: Int = 1) {
    self.delimiter = delimiter
    (self.line, rowLine) = (line, line)
  }

  /// Takes more of the file, and gives each row that is complete.
  /// - Throws: `CSVProblem`; what `body` throws. Nothing can be read after that.
  package mutating func read(_ bytes: some Collection<UInt8>, _ body: (CSVRow) throws -> Void) throws {
    if rowStart > 0 {
      buffer.removeSubrange(0..<rowStart)
      position -= rowStart
      segment -= rowStart
      for index in cells.indices where !cells[index].isUnescaped { cells[index].move(by: -rowStart) }
      rowStart = 0
    }
    buffer.append(contentsOf: bytes)
    // The array is taken out, so that it can be read while the rest of this value changes.
    let buffer = buffer
    try buffer.withUnsafeBufferPointer { bytes in try scan(bytes, body) }
    guard buffer.count - rowStart <= Self.largestRow else { throw CSVProblem.rowTooLong(line: rowLine) }
  }

  /// Gives the last row, if no line end was behind it.
  /// - Throws: as `read`.
  package mutating func finish(_ body: (CSVRow) throws -> Void) throws {
    let buffer = buffer
    try buffer.withUnsafeBufferPointer { bytes in
      switch state {
      case .carriageReturn: return
      case .start where cells.isEmpty: return
      case .start:
        segment = bytes.count
        endCell(bytes.count, bytes)
      case .plain, .quoted: endCell(bytes.count, bytes)
      case .quote: endCell(bytes.count - 1, bytes)
      }
      try endRow(bytes.count, bytes, isUnclosed: state == .quoted, body)
    }
  }

  private mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, _ body: (CSVRow) throws -> Void) throws {
    let (quote, lineFeed, carriageReturn) = (UInt8(ascii: "\""), UInt8(ascii: "\n"), UInt8(ascii: "\r"))
    var at = position
    let end = bytes.count
    while at < end {
      switch state {
      case .carriageReturn:
        if bytes[at] == lineFeed {
          at += 1
          rowStart = at
        }
        state = .start
      case .start:
        isQuoted = bytes[at] == quote
        if isQuoted { at += 1 }
        segment = at
        state = isQuoted ? .quoted : .plain
      case .plain:
        while at < end, bytes[at] != delimiter, bytes[at] != lineFeed, bytes[at] != carriageReturn { at += 1 }
        if at < end { at = try endCell(at, mark: at, bytes, body) }
      case .quoted:
        while at < end, bytes[at] != quote {
          // CRLF is one line end.
          if bytes[at] == carriageReturn || bytes[at] == lineFeed && bytes[at - 1] != carriageReturn { line += 1 }
          at += 1
        }
        if at < end {
          at += 1
          state = .quote
        }
      case .quote:
        switch bytes[at] {
        case quote:
          copy(to: at, bytes)
          at += 1
          segment = at
          state = .quoted
        case delimiter, lineFeed, carriageReturn: at = try endCell(at - 1, mark: at, bytes, body)
        default:
          copy(to: at - 1, bytes)
          segment = at
          state = .plain
        }
      }
    }
    position = at
  }

  private mutating func copy(to end: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
    copied = copied ?? unescaped.count
    unescaped.append(contentsOf: bytes[segment..<end])
  }

  /// Ends a cell at the delimiter or line end that is at `mark`.
  /// - Returns: what is looked at next.
  private mutating func endCell(
    _ end: Int, mark: Int, _ bytes: UnsafeBufferPointer<UInt8>, _ body: (CSVRow) throws -> Void
  ) throws -> Int {
    endCell(end, bytes)
    state = .start
    guard bytes[mark] != delimiter else { return mark + 1 }
    line += 1
    try endRow(mark, bytes, isUnclosed: false, body)
    rowStart = mark + 1
    rowLine = line
    if bytes[mark] == UInt8(ascii: "\r") { state = .carriageReturn }
    return mark + 1
  }

  private mutating func endCell(_ end: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
    if let start = copied {
      unescaped.append(contentsOf: bytes[segment..<end])
      cells.append(CSVRow.Cell(start: start, end: unescaped.count, isUnescaped: true))
      copied = nil
    } else {
      cells.append(CSVRow.Cell(start: segment, end: end, isUnescaped: false))
    }
  }

  private mutating func endRow(
    _ end: Int, _ bytes: UnsafeBufferPointer<UInt8>, isUnclosed: Bool, _ body: (CSVRow) throws -> Void
  ) throws {
    defer {
      cells.removeAll(keepingCapacity: true)
      unescaped.removeAll(keepingCapacity: true)
    }
    guard end - rowStart <= Self.largestRow else { throw CSVProblem.rowTooLong(line: rowLine) }
    if end == rowStart { return }
    try unescaped.withUnsafeBufferPointer { unescaped in
      try body(
        CSVRow(
          line: rowLine, raw: UnsafeBufferPointer(rebasing: bytes[rowStart..<end]), isUnclosed: isUnclosed,
          cells: cells, bytes: bytes, unescaped: unescaped))
    }
  }
}

/// A row of a CSV file, for as long as its reader shows it.
package struct CSVRow {
  /// A place in the file's bytes, or in those of cells that were put together.
  fileprivate struct Cell {
    var start: Int
    var end: Int
    let isUnescaped: Bool

    mutating func move(by distance: Int) {
      start += distance
      end += distance
    }
  }

  /// The physical line that it begins on, from 1.
  package let line: Int
  /// As it was in the file, without its line end.
  package let raw: UnsafeBufferPointer<UInt8>
  /// Whether the file ended within quotes.
  package let isUnclosed: Bool
  fileprivate let cells: [Cell]
  fileprivate let bytes: UnsafeBufferPointer<UInt8>
  fileprivate let unescaped: UnsafeBufferPointer<UInt8>

  package var count: Int { cells.count }

  package subscript(_ index: Int) -> UnsafeBufferPointer<UInt8> {
    let cell = cells[index]
    return UnsafeBufferPointer(rebasing: (cell.isUnescaped ? unescaped : bytes)[cell.start..<cell.end])
  }

  /// The cells as texts; bytes that are no UTF-8 are U+FFFD.
  package var texts: [String] { (0..<count).map { String(decoding: self[$0], as: UTF8.self) } }
}

/// Why a file is no CSV.
package enum CSVProblem: Error, Equatable {
  case rowTooLong(line: Int)
}
