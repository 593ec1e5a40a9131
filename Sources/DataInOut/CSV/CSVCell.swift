/// Cells of CSV that no spreadsheet takes for a formula.
///
/// The rule is that of `report.cell` in `sql/migrations/0009_reports.sql`, by which PostgreSQL writes cells of reports: an apostrophe
/// stands before a text that begins with `=`, `+`, `-`, `@`, a tab or a CR, and before such a text that has apostrophes already. So one
/// apostrophe can be taken off again (`exact`, as `report.exact`). A test holds both against each other.
///
/// Excel where `;` separates cells opens a file with commas as if these were text. It splits at each `;` or line break, within quotes, too,
/// unless a cell of its own begins with the quote, which is the first of a line alone. Only apostrophes behind each of them would
/// help. They would stand in the middle of addresses and lists in every other program, so there are none: see docs/exports.md.
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
  ///
  /// COPY leaves a cell with `;` or a tab without quotes, at which other programs may split it: LibreOffice splits at commas, semicolons
  /// and tabs alike. In quotes such a cell is one.
  /// - Parameter isGuarded: of each cell in order, whether a spreadsheet could take it for a formula; cells without a value here cannot.
  static func append(cells row: ArraySlice<UInt8>, isGuarded: [Bool], to csv: inout [UInt8]) {
    guard isGuarded.contains(true) else { return csv.append(contentsOf: row) }
    row.withUnsafeBufferPointer { row in
      let last = row.last == UInt8(ascii: "\n") ? row.count - 1 : row.count
      var (written, start, cell) = (0, 0, 0)
      while start <= last, cell < isGuarded.count {
        let isQuoted = start < last && row[start] == quote
        var (end, isInside, isSplit) = (start, false, false)
        while end < last, isInside || row[end] != UInt8(ascii: ",") {
          switch row[end] {
          case quote: isInside.toggle()
          case UInt8(ascii: ";"), UInt8(ascii: "\t"): isSplit = true
          default: break
          }
          end += 1
        }
        if isGuarded[cell] {
          let text = isQuoted ? start + 1 : start
          let needsQuotes = isSplit && !isQuoted
          let needsApostrophe = isFormula(UnsafeBufferPointer(rebasing: row[text..<end]))
          if needsQuotes || needsApostrophe {
            csv.append(contentsOf: row[written..<text])
            if needsQuotes { csv.append(quote) }
            if needsApostrophe { csv.append(apostrophe) }
            csv.append(contentsOf: row[text..<end])
            if needsQuotes { csv.append(quote) }
            written = end
          }
        }
        (start, cell) = (end + 1, cell + 1)
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
  private static let quote = UInt8(ascii: "\"")

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
