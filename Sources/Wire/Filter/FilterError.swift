/// Why a filter cannot be read: where, and what is the matter there.
public struct FilterError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Place: Sendable, Hashable {
    /// Of a line: its character where the wrong word begins, counted in Unicode scalars from 1. After the last one it is the line's end.
    case character(Int)
    /// Of a tree: the way to the wrong value, as in `and[1].op`; empty for the tree as a whole.
    case path(String)
  }

  public let place: Place
  /// A clause without a full stop, which may end with a question mark.
  public let problem: String

  public init(_ place: Place, _ problem: String) {
    self.place = place
    self.problem = problem
  }

  /// `at 17: no field is called contry; did you mean country?`
  public var description: String {
    switch place {
    case .character(let position): "at \(position): \(problem)"
    case .path(""): "at the top: \(problem)"
    case .path(let path): "at \(path): \(problem)"
    }
  }
}

/// Finds the known word that a misspelled one may stand for.
enum FilterSuggestion {
  /// `no field is called contry; did you mean country?`, or the known words where none is near.
  static func unknown(_ noun: String, _ word: String, _ known: [String], otherwise: String? = nil) -> String {
    let clause = "no \(noun) is called \(shown(word)); "
    if let near = nearest(to: word, of: known) { return clause + "did you mean \(near)?" }
    return clause + (otherwise ?? "known are \(known.joined(separator: ", "))")
  }

  /// The word as sentences show it, cut where it is long.
  static func shown(_ word: String) -> String {
    let scalars = word.unicodeScalars
    let visible = scalars.prefix(longest).map { isVisible($0) ? String($0) : "U+" + hex($0) }
    return visible.joined() + (scalars.count > longest ? "…" : "")
  }

  /// The first of the words that are nearest; nil if none is near.
  static func nearest(to word: String, of words: [String]) -> String? {
    let scalars = Array(word.lowercasedASCII.unicodeScalars)
    guard !scalars.isEmpty, scalars.count <= longest else { return nil }
    var best: (word: String, distance: Int)?
    for known in words {
      let distance = distance(scalars, Array(known.lowercasedASCII.unicodeScalars))
      let most = known.utf8.count <= 3 ? 1 : known.utf8.count <= 7 ? 2 : 3
      guard distance <= most, distance < scalars.count, distance < best?.distance ?? .max else { continue }
      best = (known, distance)
    }
    return best?.word
  }

  /// The optimal string alignment distance: letters added, removed, changed, or swapped with their neighbour.
  private static func distance(_ one: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Int {
    var rows = [Array(0...other.count)]
    for (i, letter) in one.enumerated() {
      var row = [i + 1]
      for (j, opposite) in other.enumerated() {
        var least = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (letter == opposite ? 0 : 1))
        if i > 0, j > 0, letter == other[j - 1], one[i - 1] == opposite { least = min(least, rows[i - 1][j - 1] + 1) }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[one.count][other.count]
  }

  /// Most characters of a word that are shown or compared.
  private static let longest = 40

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator:
      scalar == " "
    default: true
    }
  }

  private static func hex(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }
}
