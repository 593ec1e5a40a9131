/// A word of a filter's line.
struct FilterToken {
  enum Kind: Equatable {
    /// Letters, digits and underscores.
    case word(String)
    /// `properties.food` or `properties."any name"`.
    case property(String)
    /// What stands between quotes.
    case text(String)
    /// As JSON has it: without a plus sign and zeros before it.
    case number(JSONNumber)
    /// A parenthesis, a comma or an operator.
    case symbol(String)
    case end
  }

  let kind: Kind
  /// Where it begins, from 1.
  let position: Int
  /// As it is written, for sentences.
  let written: String
}

/// Cuts a filter's line into words.
struct FilterLexer {
  private let line: [Unicode.Scalar]
  private var place = 0

  init(_ line: String) { self.line = Array(line.unicodeScalars) }

  mutating func next() throws(FilterError) -> FilterToken {
    while place < line.count, line[place].properties.isWhitespace { place += 1 }
    let start = place
    let kind = try kind()
    return FilterToken(kind: kind, position: start + 1, written: text(line[start..<place]))
  }

  private var current: Unicode.Scalar? { place < line.count ? line[place] : nil }

  private mutating func kind() throws(FilterError) -> FilterToken.Kind {
    guard let first = current else { return .end }
    switch first {
    case "'": return .text(try quoted())
    case "(", ")", ",":
      place += 1
      return .symbol(String(first))
    case "=", "!", "<", ">", "&", "|": return .symbol(try mark())
    case "0"..."9", "+", "-", ".": return .number(try number())
    default:
      guard Self.isWord(first) else { throw unexpected(first) }
      let word = text(take(Self.isWord))
      guard word == "properties", current == "." else { return .word(word) }
      return .property(try property())
    }
  }

  /// Whether words, and names of properties without quotes, can have it.
  static func isWord(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isXIDContinue }

  private mutating func take(_ isTaken: (Unicode.Scalar) -> Bool) -> ArraySlice<Unicode.Scalar> {
    let taken = line[place...].prefix(while: isTaken)
    place += taken.count
    return taken
  }

  private func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    for scalar in scalars { view.append(scalar) }
    return String(view)
  }

  /// What stands between two of the mark that stands here; a doubled one inside is one of it.
  private mutating func quoted() throws(FilterError) -> String {
    let (start, quote) = (place, line[place])
    var view = String.UnicodeScalarView()
    place += 1
    while place < line.count {
      if line[place] == quote {
        place += 1
        guard current == quote else {
          let text = String(view)
          if quote == "'", let problem = FilterLiteral.problem(ofText: text) { throw error(problem, start) }
          return text
        }
      }
      view.append(line[place])
      place += 1
    }
    throw error("the \(quote) that opens here is never closed", start)
  }

  private mutating func property() throws(FilterError) -> String {
    let start = place - "properties".utf8.count
    place += 1
    let name = current == "\"" ? try quoted() : text(take(Self.isWord))
    if let problem = FilterLiteral.problem(ofProperty: name) {
      throw error(name.isEmpty ? "properties. needs a name, as in properties.food" : problem, start)
    }
    return name
  }

  private mutating func mark() throws(FilterError) -> String {
    let start = place
    let marks = text(take { "=!<>&|".unicodeScalars.contains($0) })
    if FilterOperator(rawValue: marks) != nil { return marks }
    throw error(Self.instead[marks].map { "\(marks) is written \($0)" } ?? "no operator is written \(marks)", start)
  }

  /// What other languages write.
  private static let instead = [
    "==": "=", "===": "=", "<>": "!=", "!==": "!=", "=<": "<=", "=>": ">=", "&&": "and", "&": "and", "||": "or",
    "|": "or", "!": "not",
  ]

  private static let numberProblem = "a number is written like 0.5 or -3"

  private mutating func number() throws(FilterError) -> JSONNumber {
    let start = place
    let sign = text(take { $0 == "+" || $0 == "-" })
    let whole = text(take(Self.isDigit))
    guard sign.utf8.count <= 1, !whole.isEmpty else {
      let isNumber = !whole.isEmpty || current == "." && place + 1 < line.count && Self.isDigit(line[place + 1])
      throw error(isNumber ? Self.numberProblem : "\(line[start]) cannot stand here", start)
    }
    var number = (sign == "-" ? "-" : "") + (whole.utf8.drop { $0 == UInt8(ascii: "0") }.isEmpty ? "0" : "")
    number += String(Substring(whole.utf8.drop { $0 == UInt8(ascii: "0") }))
    if current == "." {
      place += 1
      number += "." + text(take(Self.isDigit))
    }
    if current == "e" || current == "E" { number += try exponent(start) }
    guard number.utf8.count <= JSONNumber.longest else {
      throw error("the number is longer than \(JSONNumber.longest) characters", start)
    }
    guard let read = JSONNumber(number), current.map(Self.isWord) != true, current != "." else {
      throw error(Self.numberProblem, start)
    }
    if let problem = FilterLiteral.problem(of: read) { throw error(problem, start) }
    return read
  }

  private mutating func exponent(_ start: Int) throws(FilterError) -> String {
    let mark = text([line[place]])
    place += 1
    return mark + text(take { $0 == "+" || $0 == "-" }) + text(take(Self.isDigit))
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

  private func unexpected(_ scalar: Unicode.Scalar) -> FilterError {
    switch scalar {
    case "\"", "‘", "’", "‚", "“", "”", "„", "«", "»", "`", "´":
      error("texts stand between straight quotes, as in 'SE'", place)
    case "[", "{": error("a list stands between parentheses, as in ('SE', 'NO')", place)
    default: error("\(FilterSuggestion.shown(String(scalar))) cannot stand here", place)
    }
  }

  private func error(_ problem: String, _ place: Int) -> FilterError { FilterError(.character(place + 1), problem) }
}
