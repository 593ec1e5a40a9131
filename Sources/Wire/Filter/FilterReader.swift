extension Filter {
  /// Reads a line of text.
  /// - Throws: `FilterError` with the character where the wrong word begins.
  public init(text: String) throws(FilterError) {
    guard text.utf8.count <= FilterLimits.line else {
      throw FilterError(.character(1), "the line is longer than \(FilterLimits.line) bytes")
    }
    var reader = try FilterReader(text)
    self = try reader.filter()
  }
}

/// Reads a filter's line word by word.
///
/// Parentheses are kept in a list of open groups instead of calls: a line may open thousands of them, since they add nothing to its depth.
struct FilterReader {
  private var lexer: FilterLexer
  /// The word that stands next.
  private var token: FilterToken
  private var groups = [Group()]
  private var conditions = 0

  fileprivate init(_ line: String) throws(FilterError) {
    lexer = FilterLexer(line)
    token = try lexer.next()
  }

  /// What a parenthesis opens, or the line as a whole.
  private struct Group {
    /// Where the parenthesis stands; nil for the line.
    var opening: Int?
    var isDevice = false
    /// Whether this or a group around it is of a device.
    var isInDevice = false
    /// Those that `or` joins, but the last.
    var alternatives: [Operand] = []
    /// Those that `and` joins since the last `or`.
    var conjuncts: [Operand] = []
    /// How many `not` stand before what comes next.
    var negations = 0
  }

  private struct Operand {
    var filter: Filter
    var depth = 1
    /// Where its deepest condition begins.
    var position: Int
  }

  fileprivate mutating func filter() throws(FilterError) -> Filter {
    if token.kind == .end { throw error("the filter is empty; everyone stands for all contacts") }
    while true {
      if let condition = try condition() {
        try add(condition)
        if let whole = try afterOperand() { return whole }
      }
    }
  }

  /// Reads the condition that stands next; nil if it was a word before one.
  private mutating func condition() throws(FilterError) -> Operand? {
    let position = token.position
    switch token.kind {
    case .word("not"):
      groups[groups.count - 1].negations += 1
      _ = try advance()
      return nil
    case .symbol("("):
      _ = try advance()
      groups.append(Group(opening: position, isInDevice: group.isInDevice))
      return nil
    case .word("device"):
      try refuseInDevice()
      _ = try advance()
      let opening = token.position
      try expect("(", "as in device(platform = 'ios')")
      groups.append(Group(opening: opening, isDevice: true, isInDevice: true))
      return nil
    default:
      guard conditions < FilterLimits.conditions else {
        throw error("a filter has at most \(FilterLimits.conditions) conditions")
      }
      conditions += 1
      let filter = try simpleCondition()
      let isNested = filter == .device(.everyone)
      return Operand(filter: filter, depth: isNested ? 2 : 1, position: position)
    }
  }

  private var group: Group { groups[groups.count - 1] }

  private mutating func add(_ operand: Operand) throws(FilterError) {
    var operand = operand
    for _ in 0..<group.negations { operand = try Self.deeper(.not(operand.filter), operand) }
    groups[groups.count - 1].negations = 0
    groups[groups.count - 1].conjuncts.append(operand)
  }

  /// Reads what may follow a condition, up to the next one.
  /// - Returns: the filter, at the line's end.
  private mutating func afterOperand() throws(FilterError) -> Filter? {
    while true {
      switch token.kind {
      case .word("and"):
        _ = try advance()
        return nil
      case .word("or"):
        let alternative = try Self.joined(group.conjuncts) { .and($0) }
        groups[groups.count - 1].alternatives.append(alternative)
        groups[groups.count - 1].conjuncts = []
        _ = try advance()
        return nil
      case .symbol(")"):
        guard group.opening != nil else { throw error("nothing is open that ) could close") }
        let closed = try closed()
        _ = try advance()
        try add(closed)
      case .end:
        if let opening = group.opening {
          throw FilterError(.character(opening), "the ( that opens here is never closed")
        }
        return try closed().filter
      default: throw unexpectedAfterCondition
      }
    }
  }

  /// What the innermost group stands for; it is open no more, unless it is the line.
  private mutating func closed() throws(FilterError) -> Operand {
    let group = group
    let last = try Self.joined(group.conjuncts) { .and($0) }
    let operand = try Self.joined(group.alternatives + [last]) { .or($0) }
    if group.opening != nil { groups.removeLast() }
    return group.isDevice ? try Self.deeper(.device(operand.filter), operand) : operand
  }

  private static func joined(_ operands: [Operand], _ join: ([Filter]) -> Filter) throws(FilterError) -> Operand {
    var deepest = operands[0]
    for operand in operands where operand.depth > deepest.depth { deepest = operand }
    return operands.count == 1 ? deepest : try deeper(join(operands.map(\.filter)), deepest)
  }

  /// What holds the operand that is the deepest in it.
  private static func deeper(_ filter: Filter, _ operand: Operand) throws(FilterError) -> Operand {
    guard operand.depth < FilterLimits.depth else {
      throw FilterError(.character(operand.position), depthProblem)
    }
    return Operand(filter: filter, depth: operand.depth + 1, position: operand.position)
  }

  static let depthProblem = "a filter is at most \(FilterLimits.depth) deep, where each and, or, not and device adds 1"

  private var unexpectedAfterCondition: FilterError {
    guard case .word(let word) = token.kind else {
      return error("and, or or the line's end is expected here, not \(shown)")
    }
    if let near = FilterSuggestion.nearest(to: word, of: ["and", "or"]) {
      return error("and, or or the line's end is expected here, not \(shown); did you mean \(near)?")
    }
    return error("and, or or the line's end is expected here, not \(shown)")
  }
}

// MARK: Conditions

extension FilterReader {
  /// Words that begin a condition, but for those of devices.
  private static let beginnings = [
    "everyone", "not", "in", "has", "device", "received", "opened", "bucket", "birthday", "properties",
  ]

  private mutating func simpleCondition() throws(FilterError) -> Filter {
    switch token.kind {
    case .word("everyone"):
      _ = try advance()
      return .everyone
    case .word("in"): return try membership()
    case .word("has"):
      try refuseInDevice()
      _ = try advance()
      try expect(word: "device", "as in has device")
      return .device(.everyone)
    case .word("received"): return try activity(.received)
    case .word("opened"): return try activity(.opened)
    case .word("bucket"): return try bucket()
    case .word("birthday"): return try birthday()
    case .word, .property: return try comparison()
    case .end: throw error("the line ends where a condition is expected")
    case .text, .number: throw error("a field stands before a value, as in country = 'SE'")
    case .symbol: throw error("a condition is expected here, not \(shown)")
    }
  }

  private mutating func membership() throws(FilterError) -> Filter {
    try refuseInDevice()
    _ = try advance()
    switch token.kind {
    case .word("list"):
      _ = try advance()
      return .list(try reference("list"))
    case .word("segment"):
      _ = try advance()
      return .segment(try reference("segment"))
    default: throw unexpected("list or segment", ["list", "segment"])
    }
  }

  private mutating func reference(_ noun: String) throws(FilterError) -> FilterReference {
    switch token.kind {
    case .text(let name) where !name.isEmpty:
      _ = try advance()
      return .name(UTF8String(name))
    case .number(let number):
      guard let number = number.integer, number > 0 else { throw error("a \(noun)'s number is a whole number from 1") }
      _ = try advance()
      return .number(number)
    default: throw error("a \(noun)'s number, or its name between quotes, is expected here, not \(shown)")
    }
  }

  private mutating func activity(_ kind: FilterActivity.Kind) throws(FilterError) -> Filter {
    try refuseInDevice()
    _ = try advance()
    var activity = FilterActivity(kind)
    if token.kind == .word("sendout") {
      _ = try advance()
      guard case .number(let number) = token.kind, let number = number.integer, number > 0 else {
        throw error("a sendout's number is expected here, not \(shown)")
      }
      activity.sendout = number
      _ = try advance()
    }
    if case .symbol(let symbol) = token.kind, let op = FilterOperator(rawValue: symbol) {
      _ = try advance()
      activity.op = op
      activity.count = try wholeNumber(0...FilterLimits.count)
    }
    if token.kind == .word("within") {
      _ = try advance()
      if token.kind == .word("last") || token.kind == .word("next") {
        throw error("within looks back by itself here; leave out \(shown)")
      }
      activity.within = try span()
    }
    if token.kind == .word("of") {
      if activity.within != nil { throw error("of last does not go with within") }
      _ = try advance()
      try expect(word: "last", "as in opened < 1 of last 5")
      activity.ofLast = try wholeNumber(1...FilterLimits.ofLast)
    }
    if activity.ofLast != nil, token.kind == .word("within") { throw error("of last does not go with within") }
    return .activity(activity)
  }

  private mutating func bucket() throws(FilterError) -> Filter {
    try refuseInDevice()
    _ = try advance()
    try expect("(", "as in bucket(0, 10)")
    let from = try wholeNumber(0...99)
    try expect(",", "as in bucket(0, 10)")
    let to = try wholeNumber(from + 1...100)
    try expect(")", "as in bucket(0, 10)")
    return .bucket(from: from, to: to)
  }

  private mutating func birthday() throws(FilterError) -> Filter {
    try refuseInDevice()
    _ = try advance()
    try expect("(", "as in birthday(dateOfBirth)")
    let position = token.position
    let field = try field()
    if let problem = field.birthdayProblem { throw FilterError(.character(position), problem) }
    try expect(")", "as in birthday(dateOfBirth)")
    try expect(word: "within", "as in birthday(dateOfBirth) within next 7 days")
    let direction = try direction()
    let days = try wholeNumber(1...FilterLimits.birthdayDays)
    if token.kind == .word("hours") { throw error("birthdays are counted in days, not in hours") }
    try expect(word: "days", "as in within next 7 days")
    return .birthday(field, FilterWindow(direction, days, .days))
  }
}

// MARK: Comparisons

extension FilterReader {
  private mutating func field() throws(FilterError) -> FilterField {
    switch token.kind {
    case .property(let name):
      if group.isInDevice { throw error("properties are a contact's, and stand outside of device(…)") }
      _ = try advance()
      return .property(UTF8String(name))
    case .word(let word):
      guard let field = FilterField(word, inDevice: group.isInDevice) else {
        throw error(Self.problem(ofField: word, inDevice: group.isInDevice, FilterReader.beginnings))
      }
      _ = try advance()
      return field
    default: throw error("a field is expected here, not \(shown)")
    }
  }

  /// Why no field has that name.
  /// - Parameter others: what could stand in its place.
  static func problem(ofField name: String, inDevice: Bool, _ others: [String] = []) -> String {
    if FilterField(name, inDevice: !inDevice) != nil {
      return inDevice
        ? "\(name) is a contact's, and stands outside of device(…)"
        : "\(name) is a device's, as in device(\(name) is set)"
    }
    let known = (inDevice ? FilterField.ofDevices : FilterField.ofContacts).map(\.name)
    if inDevice { return FilterSuggestion.unknown("device field", name, known) }
    if name.hasSameBytes(as: "properties") { return "properties needs a name, as in properties.food" }
    let shown = FilterSuggestion.shown(name)
    return FilterSuggestion.unknown(
      "field", name, known + others, otherwise: "a property is written \(FilterField.propertyPrefix)\(shown)")
  }

  private mutating func comparison() throws(FilterError) -> Filter {
    let field = try field()
    let position = token.position
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
    let first = token
    switch first.kind {
    case .symbol(let symbol):
      guard let op = FilterOperator(rawValue: symbol) else { break }
      _ = try advance()
      return .compare(op)
    case .word("not"): throw error("not stands before the condition, as in not \(field.lineName) in (…)")
    case .word(let word):
      // Those of several words are told apart by their first one.
      let verbs = FilterVerb.all.filter { $0.words[0].hasSameBytes(as: word) }
      guard !verbs.isEmpty else {
        throw error(FilterSuggestion.unknown("operator", word, FilterVerb.all.map(\.word)))
      }
      _ = try advance()
      return try rest(of: verbs)
    default: break
    }
    throw error("an operator is expected after \(field.lineName), not \(shown)")
  }

  /// Reads what follows the first word of an operator.
  private mutating func rest(of verbs: [FilterVerb]) throws(FilterError) -> FilterVerb {
    var (verbs, index) = (verbs, 1)
    while verbs.contains(where: { $0.words.count > index }) {
      let next = verbs.filter { $0.words.count > index && token.kind == .word($0.words[index]) }
      guard !next.isEmpty else {
        let words = Set(verbs.map { $0.words[index...].joined(separator: " ") }).sorted()
        throw unexpected(Array(words.reversed()).asList("or"), words)
      }
      _ = try advance()
      (verbs, index) = (next, index + 1)
    }
    return verbs[0]
  }

  private mutating func pattern(_ verb: FilterVerb) throws(FilterError) -> UTF8String {
    guard case .text(let text) = token.kind else {
      throw error("a text between quotes is expected after \(verb.word), not \(shown)")
    }
    _ = try advance()
    return UTF8String(text)
  }

  private mutating func literals(of field: FilterField) throws(FilterError) -> [FilterLiteral] {
    try expect("(", "as in \(field.lineName) in (…)")
    var literals: [FilterLiteral] = []
    repeat {
      if !literals.isEmpty { _ = try advance() }
      let position = token.position
      let literal = try literal(of: field, .oneOf)
      if let first = literals.first, first.member != literal.member {
        throw FilterError(.character(position), Self.mixedProblem)
      }
      literals.append(literal)
    } while token.kind == .symbol(",")
    guard token.kind == .symbol(")") else { throw error(", or ) is expected here, not \(shown)") }
    _ = try advance()
    return literals
  }

  static let mixedProblem = "dates and versions stand in lists of their own"

  private mutating func literal(of field: FilterField, _ verb: FilterVerb) throws(FilterError) -> FilterLiteral {
    let position = token.position
    let literal = try literal(of: field)
    if let problem = field.problem(of: literal, verb, inTree: false) {
      throw FilterError(.character(position), problem)
    }
    return literal
  }

  private mutating func literal(of field: FilterField) throws(FilterError) -> FilterLiteral {
    let word = token
    switch word.kind {
    case .text(let text):
      _ = try advance()
      return .text(UTF8String(text))
    case .number(let number):
      _ = try advance()
      return .number(number)
    case .word("true"), .word("false"):
      _ = try advance()
      return .boolean(word.kind == .word("true"))
    case .word("date"):
      _ = try advance()
      guard let text = try tagged("date '2026-12-01'"), let day = CalendarDay(text) else {
        throw error(FilterLiteral.dateProblem)
      }
      _ = try advance()
      return .date(day)
    case .word("version"):
      _ = try advance()
      guard let text = try tagged("version '17.2'"), let version = FilterLiteral.version(of: text) else {
        throw error(FilterLiteral.versionProblem)
      }
      _ = try advance()
      return version
    case .word:
      if field.type == .date { throw error("no word is a date; write date '2026-12-01'") }
      throw error("\(shown) is no value; texts stand between quotes, as in 'SE'")
    default: throw error("a value is expected here, not \(shown)")
    }
  }

  /// The text that stands next, after a word that says what it is.
  private func tagged(_ example: String) throws(FilterError) -> String? {
    guard case .text(let text) = token.kind else {
      throw error("a text between quotes is expected here, as in \(example), not \(shown)")
    }
    return text
  }

  private mutating func direction() throws(FilterError) -> FilterWindow.Direction {
    for direction in FilterWindow.Direction.allCases where token.kind == .word(direction.rawValue) {
      _ = try advance()
      return direction
    }
    throw unexpected("last or next", FilterWindow.Direction.allCases.map(\.rawValue))
  }

  private mutating func span() throws(FilterError) -> FilterSpan {
    let number = token
    guard case .number(let amount) = number.kind else { throw error("a whole number is expected here, not \(shown)") }
    _ = try advance()
    for unit in FilterSpan.Unit.allCases where token.kind == .word(unit.rawValue) {
      let amount = amount.integer.flatMap { Int(exactly: $0) }
      if let problem = unit.problem(of: amount) { throw FilterError(.character(number.position), problem) }
      _ = try advance()
      return FilterSpan(amount ?? 1, unit)
    }
    throw unexpected("days or hours", FilterSpan.Unit.allCases.map(\.rawValue))
  }
}

// MARK: Words

extension FilterReader {
  private mutating func advance() throws(FilterError) -> FilterToken {
    let taken = token
    token = try lexer.next()
    return taken
  }

  private mutating func expect(_ symbol: String, _ example: String) throws(FilterError) {
    guard token.kind == .symbol(symbol) else { throw error("\(symbol) is expected here, \(example), not \(shown)") }
    _ = try advance()
  }

  private mutating func expect(word: String, _ example: String) throws(FilterError) {
    guard token.kind == .word(word) else { throw unexpected("\(word), \(example)", [word]) }
    _ = try advance()
  }

  private mutating func wholeNumber(_ range: ClosedRange<Int>) throws(FilterError) -> Int {
    guard case .number(let number) = token.kind, let whole = number.integer, range.contains(Int(clamping: whole)) else {
      throw error(
        "a whole number from \(range.lowerBound) to \(range.upperBound) is expected here, not \(shown)")
    }
    _ = try advance()
    return Int(whole)
  }

  private func refuseInDevice() throws(FilterError) {
    guard !group.isInDevice else { throw error("\(shown) is about a contact, and stands outside of device(…)") }
  }

  private func unexpected(_ expected: String, _ words: [String]) -> FilterError {
    let clause = "\(expected) is expected here, not \(shown)"
    guard case .word(let word) = token.kind, let near = FilterSuggestion.nearest(to: word, of: words) else {
      return error(clause)
    }
    return error("\(clause); did you mean \(near)?")
  }

  /// What stands next, as sentences show it.
  private var shown: String { token.kind == .end ? "the line's end" : FilterSuggestion.shown(token.written) }

  private func error(_ problem: String) -> FilterError { FilterError(.character(token.position), problem) }
}
