/// Reads what is asked of a field.
extension FilterTokens {
  mutating func field(inDevice: Bool) throws(FilterError) -> FilterField {
    switch next.kind {
    case .property(let name):
      if inDevice { throw error("properties are a contact's, and stand outside of device(…)") }
      try advance()
      return .property(UTF8String(name))
    case .word(let word):
      guard let field = FilterField(word, inDevice: inDevice) else {
        throw error(FilterField.problem(ofName: word, inDevice: inDevice, Self.beginnings))
      }
      try advance()
      return field
    default: throw error("a field is expected here, not \(shown)")
    }
  }

  mutating func comparison(inDevice: Bool) throws(FilterError) -> Filter {
    let field = try field(inDevice: inDevice)
    let position = next.position
    let verb = try verb(of: field)
    if let problem = field.problem(of: verb) { throw FilterError(.character(position), problem) }
    switch verb {
    case .compare(let op): return .compare(field, .compare(op, try literal(of: field, verb)))
    case .oneOf: return .compare(field, .oneOf(try literals(of: field)))
    case .contains: return .compare(field, .contains(try pattern(verb)))
    case .startsWith: return .compare(field, .startsWith(try pattern(verb)))
    case .endsWith: return .compare(field, .endsWith(try pattern(verb)))
    case .isSet: return .compare(field, .isSet)
    case .isNotSet: return .compare(field, .isNotSet)
    case .within:
      let direction = try direction()
      let span = try span()
      return .compare(field, .within(FilterWindow(direction, span.amount, span.unit)))
    }
  }

  private mutating func verb(of field: FilterField) throws(FilterError) -> FilterVerb {
    switch next.kind {
    case .symbol(let symbol):
      guard let op = FilterOperator(rawValue: symbol) else { break }
      try advance()
      return .compare(op)
    case .word("not"): throw error("not stands before the condition, as in not \(field.lineName) in (…)")
    case .word(let word):
      // Several can begin with the word, as is set and is not set do.
      let verbs = FilterVerb.all.filter { $0.words[0].hasSameBytes(as: word) }
      guard !verbs.isEmpty else {
        throw error(FilterSuggestion.unknown("operator", word, FilterVerb.all.map(\.word)))
      }
      try advance()
      return try rest(of: verbs)
    default: break
    }
    throw error("an operator is expected after \(field.lineName), not \(shown)")
  }

  /// Reads what follows the first word of an operator.
  private mutating func rest(of verbs: [FilterVerb]) throws(FilterError) -> FilterVerb {
    var (verbs, index) = (verbs, 1)
    while verbs.contains(where: { $0.words.count > index }) {
      let matching = verbs.filter { $0.words.count > index && next.kind == .word($0.words[index]) }
      guard !matching.isEmpty else {
        let words = Set(verbs.map { $0.words[index...].joined(separator: " ") }).sorted()
        throw unexpected(Array(words.reversed()).asList("or"), words)
      }
      try advance()
      (verbs, index) = (matching, index + 1)
    }
    return verbs[0]
  }

  private mutating func pattern(_ verb: FilterVerb) throws(FilterError) -> UTF8String {
    guard case .text(let text) = next.kind else {
      throw error("a text between quotes is expected after \(verb.word), not \(shown)")
    }
    try advance()
    return UTF8String(text)
  }

  private mutating func literals(of field: FilterField) throws(FilterError) -> [FilterLiteral] {
    try expect("(", "as in \(field.lineName) in (…)")
    var literals: [FilterLiteral] = []
    repeat {
      if !literals.isEmpty { try advance() }
      let position = next.position
      let literal = try literal(of: field, .oneOf)
      if let first = literals.first, first.member != literal.member {
        throw FilterError(.character(position), "dates and versions stand in lists of their own")
      }
      literals.append(literal)
    } while next.kind == .symbol(",")
    guard next.kind == .symbol(")") else { throw error(", or ) is expected here, not \(shown)") }
    try advance()
    return literals
  }

  private mutating func literal(of field: FilterField, _ verb: FilterVerb) throws(FilterError) -> FilterLiteral {
    let position = next.position
    let literal = try literal(of: field)
    if let problem = field.problem(of: literal, verb, inTree: false) {
      throw FilterError(.character(position), problem)
    }
    return literal
  }

  private mutating func literal(of field: FilterField) throws(FilterError) -> FilterLiteral {
    let word = next
    switch word.kind {
    case .text(let text):
      try advance()
      return .text(UTF8String(text))
    case .number(let number):
      try advance()
      return .number(number)
    case .word("true"), .word("false"):
      try advance()
      return .boolean(word.kind == .word("true"))
    case .word("date"):
      try advance()
      guard let text = try tagged("date '2026-12-01'"), let day = CalendarDay(text) else {
        throw error(FilterLiteral.dateProblem)
      }
      try advance()
      return .date(day)
    case .word("version"):
      try advance()
      guard let text = try tagged("version '17.2'"), let version = FilterLiteral.version(of: text) else {
        throw error(FilterLiteral.versionProblem)
      }
      try advance()
      return version
    case .word:
      if field.type == .date { throw error("no word is a date; write date '2026-12-01'") }
      throw error("\(shown) is no value; texts stand between quotes, as in 'SE'")
    default: throw error("a value is expected here, not \(shown)")
    }
  }

  /// The text that stands next, after a word that says what it is.
  private func tagged(_ example: String) throws(FilterError) -> String? {
    guard case .text(let text) = next.kind else {
      throw error("a text between quotes is expected here, as in \(example), not \(shown)")
    }
    return text
  }
}
