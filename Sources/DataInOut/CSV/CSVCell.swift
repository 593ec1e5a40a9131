/// Cells of CSV that no spreadsheet takes for a formula.
///
/// The rule is that of `report.cell` in `sql/migrations/0009_reports.sql`, by which PostgreSQL writes cells of reports: an apostrophe
/// stands before a text that begins with `=`, `+`, `-`, `@`, a tab or a CR, and before such a text that has apostrophes already. So one
/// apostrophe can be taken off again (`exact`, as `report.exact`). A test holds both against each other.
package enum CSVCell {
  /// Appends a cell, in quotes where it needs them.
  package static func append(_ text: String, to csv: inout [UInt8]) {
    let bytes = Array(text.utf8)
    let needsQuotes = bytes.contains { "\",;\t\r\n".utf8.contains($0) }
    if needsQuotes { csv.append(UInt8(ascii: "\"")) }
    if bytes.withUnsafeBufferPointer(isFormula) { csv.append(apostrophe) }
    for byte in bytes {
      if byte == UInt8(ascii: "\"") { csv.append(byte) }
      csv.append(byte)
    }
    if needsQuotes { csv.append(UInt8(ascii: "\"")) }
  }

  /// Appends a row as PostgreSQL's COPY writes it, with commas between cells, and quotes where a cell needs them.
  /// - Parameter isGuarded: of each cell in order, whether a spreadsheet could take it for a formula; cells without a value here cannot.
  static func append(cells row: ArraySlice<UInt8>, isGuarded: [Bool], to csv: inout [UInt8]) {
    guard isGuarded.contains(true) else { return csv.append(contentsOf: row) }
    row.withUnsafeBufferPointer { row in
      var (written, cell, isStart, isQuoted) = (0, 0, true, false)
      for place in row.indices {
        if isStart, cell < isGuarded.count {
          isStart = false
          let text = row[place] == UInt8(ascii: "\"") ? place + 1 : place
          if isGuarded[cell], isFormula(UnsafeBufferPointer(rebasing: row[text...])) {
            csv.append(contentsOf: row[written..<text])
            csv.append(apostrophe)
            written = text
          }
        }
        switch row[place] {
        case UInt8(ascii: "\""): isQuoted.toggle()
        case UInt8(ascii: ",") where !isQuoted: (cell, isStart) = (cell + 1, true)
        default: break
        }
      }
      csv.append(contentsOf: row[written...])
    }
  }

  /// The text of a cell that was read: without the apostrophe before what is a formula.
  static func exact(_ cell: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    guard cell.first == apostrophe, isFormula(cell) else { return cell }
    return UnsafeBufferPointer(rebasing: cell.dropFirst())
  }

  private static let apostrophe = UInt8(ascii: "'")

  /// Whether a spreadsheet could take a text for a formula, but for apostrophes before it.
  private static func isFormula(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    switch text.first(where: { $0 != apostrophe }) {
    case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), UInt8(ascii: "\t"),
      UInt8(ascii: "\r"):
      true
    default: false
    }
  }
}
