/// The words of a filter's line one after the other, and errors at the next one.
struct FilterTokens {
  private var lexer: FilterLexer
  private(set) var next: FilterToken

  init(_ line: String) throws(FilterError) {
    lexer = FilterLexer(line)
    next = try lexer.next()
  }

  mutating func advance() throws(FilterError) { next = try lexer.next() }

  /// - Parameter example: how it is written, as in `as in bucket(0, 10)`.
  mutating func expect(_ symbol: String, _ example: String) throws(FilterError) {
    guard next.kind == .symbol(symbol) else { throw error("\(symbol) is expected here, \(example), not \(shown)") }
    try advance()
  }

  mutating func expect(word: String, _ example: String) throws(FilterError) {
    guard next.kind == .word(word) else { throw unexpected("\(word), \(example)", [word]) }
    try advance()
  }

  mutating func wholeNumber(_ range: ClosedRange<Int>) throws(FilterError) -> Int {
    guard case .number(let number) = next.kind, let whole = number.integer, range.contains(Int(clamping: whole)) else {
      throw error("a whole number from \(range.lowerBound) to \(range.upperBound) is expected here, not \(shown)")
    }
    try advance()
    return Int(whole)
  }

  mutating func direction() throws(FilterError) -> FilterWindow.Direction {
    for direction in FilterWindow.Direction.allCases where next.kind == .word(direction.rawValue) {
      try advance()
      return direction
    }
    throw unexpected("last or next", FilterWindow.Direction.allCases.map(\.rawValue))
  }

  mutating func span() throws(FilterError) -> FilterSpan {
    let number = next
    guard case .number(let amount) = number.kind else { throw error("a whole number is expected here, not \(shown)") }
    try advance()
    for unit in FilterSpan.Unit.allCases where next.kind == .word(unit.rawValue) {
      let amount = amount.integer.flatMap { Int(exactly: $0) }
      if let problem = unit.problem(of: amount) { throw FilterError(.character(number.position), problem) }
      try advance()
      return FilterSpan(amount ?? 1, unit)
    }
    throw unexpected("days or hours", FilterSpan.Unit.allCases.map(\.rawValue))
  }

  /// Of the next word.
  var place: FilterPlace { FilterPlace(.character(next.position)) }

  // MARK: Errors

  func error(_ problem: String) -> FilterError { FilterError(.character(next.position), problem) }

  /// - Parameter words: what may have been meant.
  func unexpected(_ expected: String, _ words: [String]) -> FilterError {
    let clause = "\(expected) is expected here, not \(shown)"
    guard case .word(let word) = next.kind, let near = FilterSuggestion.nearest(to: word, of: words) else {
      return error(clause)
    }
    return error("\(clause); did you mean \(near)?")
  }

  var outsideOfDevice: FilterError { error("\(shown) is about a contact, and stands outside of device(…)") }

  /// The next word, as sentences show it.
  var shown: String { next.kind == .end ? "the line's end" : FilterSuggestion.shown(next.written) }
}
