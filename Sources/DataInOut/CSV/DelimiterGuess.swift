/// Finds what stands between the cells of a file, by its first rows.
package enum DelimiterGuess {
  /// How much of a file is looked at, in bytes of UTF-8.
  package static let sample = 64 * 1024
  package static let candidates = Array(",;\t|".utf8)
  private static let rows = 20

  /// The delimiter that Excel's own line `sep=;` names, and that line's length with its line end; `nil` if the file does not begin with one.
  package static func named(in head: [UInt8]) -> (delimiter: UInt8, length: Int)? {
    guard head.count >= 5, head.prefix(4).elementsEqual("sep=".utf8), head[4] < 0x80, head[4] >= 0x20 || head[4] == 9,
      head[4] != UInt8(ascii: "\"")
    else { return nil }
    switch head.dropFirst(5).first {
    case nil: return (head[4], 5)
    case UInt8(ascii: "\n"): return (head[4], 6)
    case UInt8(ascii: "\r"): return (head[4], head.dropFirst(6).first == UInt8(ascii: "\n") ? 7 : 6)
    default: return nil
    }
  }

  /// The candidate by which most of the first rows have as many cells as the heading, and most cells of those; a comma if none makes
  /// two cells of the heading.
  package static func delimiter(of head: [UInt8]) -> UInt8 {
    var best = (delimiter: candidates[0], share: 0.0, columns: 1)
    for candidate in candidates {
      var counts: [Int] = []
      var reader = CSVReader(delimiter: candidate)
      // A row that is too long, or the twenty-first, ends the look.
      try? reader.read(head.prefix(sample)) { row in
        counts.append(row.count)
        if counts.count == rows { throw Enough() }
      }
      if counts.isEmpty { try? reader.finish { counts.append($0.count) } }
      guard let columns = counts.first, columns > 1 else { continue }
      let share = Double(counts.count { $0 == columns }) / Double(counts.count)
      if share > best.share || share == best.share && columns > best.columns { best = (candidate, share, columns) }
    }
    return best.delimiter
  }

  private struct Enough: Error {}
}
