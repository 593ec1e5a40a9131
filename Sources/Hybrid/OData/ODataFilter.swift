import Wire

/// A `$filter` over a phone's messages. The hub evaluates it (`ODataEvaluation`), so that no text of a phone becomes SQL, and its work
/// is counted.
struct ODataFilter: Sendable {
  /// The condition; nil without a filter.
  private(set) var condition: ODataExpression?
  /// The dates in it, as PostgreSQL reads them: it knows clock zones.
  private(set) var moments: [PhoneMoment] = []

  /// Longest filter, in characters.
  static let longest = 2000
  /// Most words of a filter, and how deep it can be nested.
  static let mostWords = 200
  static let deepest = 32

  init(_ text: String) throws(ODataProblem) {
    guard text.unicodeScalars.count <= Self.longest else {
      throw ODataProblem(problem: "is one more than \(Self.longest)", position: Self.longest)
    }
    var parser = try ODataParser(text)
    condition = try parser.condition()
    moments = parser.moments
  }

  /// Of all messages.
  init() {}
}

/// Reads an expression (OData v3, "URL Conventions", section 5.1.1; protocol notes, section 11), and checks that its operators and
/// functions get what they take.
private struct ODataParser {
  private enum Kind: String {
    case text = "a text"
    case whole = "a whole number"
    case number = "a number"
    case bool = "a condition"
    case moment = "a date"
    case guid = "a GUID"
    case null
  }

  private struct Term {
    var expression: ODataExpression
    var kind: Kind
    var position: Int
  }

  private var lexer: ODataLexer
  private var token: ODataToken
  private(set) var moments: [PhoneMoment] = []
  private var words = 0
  private var depth = 0

  init(_ text: String) throws(ODataProblem) {
    lexer = ODataLexer(text)
    token = try lexer.next()
  }

  mutating func condition() throws(ODataProblem) -> ODataExpression {
    let term = try or()
    guard token.kind == .end else { throw ODataProblem(problem: "is unexpected", position: token.position) }
    return try boolean(term).expression
  }

  // MARK: - Grammar

  private mutating func or() throws(ODataProblem) -> Term {
    var left = try and()
    while try take("or") { left = try logical(left, ODataExpression.or, try and()) }
    return left
  }

  private mutating func and() throws(ODataProblem) -> Term {
    var left = try not()
    while try take("and") { left = try logical(left, ODataExpression.and, try not()) }
    return left
  }

  /// `not Sender eq 'x'` means `not (Sender eq 'x')`, as the usual servers read it.
  private mutating func not() throws(ODataProblem) -> Term {
    let position = token.position
    guard try take("not") else { return try equality() }
    try enter()
    defer { depth -= 1 }
    return Term(expression: .not(try boolean(try not()).expression), kind: .bool, position: position)
  }

  private mutating func equality() throws(ODataProblem) -> Term {
    var left = try relation()
    while case .word(let word) = token.kind, word == "eq" || word == "ne" {
      try advance()
      left = try equal(left, isNegated: word == "ne", try relation())
    }
    return left
  }

  private mutating func relation() throws(ODataProblem) -> Term {
    var left = try sum()
    while case .word(let word) = token.kind, word != "eq", word != "ne",
      let comparison = ODataComparison(rawValue: word)
    {
      try advance()
      left = try ordered(left, comparison, try sum())
    }
    return left
  }

  private mutating func sum() throws(ODataProblem) -> Term {
    var left = try product()
    while case .word(let word) = token.kind, word == "add" || word == "sub" {
      try advance()
      left = try arithmetic(left, word == "add" ? .add : .subtract, try product())
    }
    return left
  }

  private mutating func product() throws(ODataProblem) -> Term {
    var left = try negation()
    let operators: [String: ODataOperator] = ["mul": .multiply, "div": .divide, "mod": .remainder]
    while case .word(let word) = token.kind, let operation = operators[word] {
      try advance()
      left = try arithmetic(left, operation, try negation())
    }
    return left
  }

  private mutating func negation() throws(ODataProblem) -> Term {
    let position = token.position
    guard token.kind == .minus else { return try primary() }
    try advance()
    try enter()
    defer { depth -= 1 }
    let term = try number(try negation())
    return Term(expression: .negate(term.expression), kind: term.kind, position: position)
  }

  private mutating func primary() throws(ODataProblem) -> Term {
    let (kind, position) = (token.kind, token.position)
    switch kind {
    case .text(let text): return try literal(.text(Array(text.utf8)), .text)
    case .number(let text, let isWhole):
      guard let number = ODataNumber(text) else {
        throw ODataProblem(problem: "begins a number that is too large", position: position)
      }
      return try literal(.number(number), isWhole ? .whole : .number)
    case .guid(let text): return try literal(.text(Array(text.utf8)), .guid)
    case .moment(let moment):
      moments.append(moment)
      return try literal(.moment(moments.count - 1), .moment)
    case .open:
      try advance()
      try enter()
      defer { depth -= 1 }
      var inner = try or()
      guard try takeClose() else { throw ODataProblem(problem: "stands where ) is missing", position: token.position) }
      inner.position = position
      return inner
    case .word("null"): return try literal(.null, .null)
    case .word("true"): return try literal(.bool(true), .bool)
    case .word("false"): return try literal(.bool(false), .bool)
    case .word(let word):
      try advance()
      if token.kind == .open { return try function(word, at: position) }
      guard let property = PhoneMessageReply.Member(rawValue: word) else {
        throw ODataProblem(
          problem: "begins an unknown property; known are \(PhoneMessageReply.Member.comparableNames)",
          position: position)
      }
      let kind: Kind
      switch property {
      case .id: kind = .guid
      case .dateTime: kind = .moment
      case .updateID, .recipient, .sender, .body, .status: kind = .text
      case .updateIDs:
        throw ODataProblem(problem: "begins a property that is a list: filter by UpdateID", position: position)
      }
      return Term(expression: .property(property), kind: kind, position: position)
    case .end: throw ODataProblem(problem: "is the end, where a value is missing", position: position)
    case .close, .comma, .minus: throw ODataProblem(problem: "stands where a value is missing", position: position)
    }
  }

  // MARK: - Functions

  private mutating func function(_ name: String, at position: Int) throws(ODataProblem) -> Term {
    try advance()
    try enter()
    defer { depth -= 1 }
    var arguments: [Term] = []
    if token.kind != .close {
      repeat { arguments.append(try or()) } while try takeComma()
    }
    guard try takeClose() else { throw ODataProblem(problem: "stands where ) is missing", position: token.position) }
    guard let function = ODataFunction.named.first(where: { $0.rawValue == name }) else {
      throw ODataProblem(
        problem: "begins an unknown function; known are "
          + ODataFunction.named.map(\.rawValue).sorted().joined(separator: ", "), position: position)
    }
    guard function.arguments.contains(arguments.count) else {
      throw ODataProblem(problem: "begins \(name) with a wrong number of arguments", position: position)
    }
    for (argument, kinds) in zip(arguments, Self.kinds(of: function)) where argument.kind != .null {
      guard kinds.contains(argument.kind) else {
        throw ODataProblem(
          problem: "begins \(argument.kind.rawValue), where \(name) takes \(kinds[0].rawValue)",
          position: argument.position)
      }
    }
    return Term(
      expression: .call(function, arguments.map(\.expression)), kind: Self.result(of: function), position: position)
  }

  /// What its arguments can be.
  private static func kinds(of function: ODataFunction) -> [[Kind]] {
    switch function {
    case .substring: [[.text], [.whole, .number], [.whole, .number]]
    case .year, .month, .day, .hour, .minute, .second: [[.moment]]
    case .round, .floor, .ceiling: [[.whole, .number]]
    default: [[.text], [.text], [.text]]
    }
  }

  private static func result(of function: ODataFunction) -> Kind {
    switch function {
    case .substringof, .startswith, .endswith: .bool
    case .replace, .substring, .tolower, .toupper, .trim, .concat, .lowerGUID: .text
    default: .whole
    }
  }

  // MARK: - Operators

  private func logical(
    _ left: Term, _ operation: (ODataExpression, ODataExpression) -> ODataExpression, _ right: Term
  ) throws(ODataProblem) -> Term {
    Term(
      expression: operation(try boolean(left).expression, try boolean(right).expression), kind: .bool,
      position: left.position)
  }

  private func equal(_ left: Term, isNegated: Bool, _ right: Term) throws(ODataProblem) -> Term {
    let comparison = isNegated ? ODataComparison.notEqual : .equal
    func isNull(_ term: Term) -> ODataExpression {
      isNegated ? .not(.isNull(term.expression)) : .isNull(term.expression)
    }
    func lower(_ term: Term) -> ODataExpression { .call(.lowerGUID, [term.expression]) }
    let expression: ODataExpression
    switch (left.kind, right.kind) {
    case (.null, .null): expression = .bool(!isNegated)
    case (_, .null): expression = isNull(left)
    case (.null, _): expression = isNull(right)
    // Phones write GUIDs as texts, too.
    case (.guid, .text): expression = .compare(left.expression, comparison, lower(right))
    case (.text, .guid): expression = .compare(lower(left), comparison, right.expression)
    default:
      try checkSame(left, right)
      expression = .compare(left.expression, comparison, right.expression)
    }
    return Term(expression: expression, kind: .bool, position: left.position)
  }

  private func ordered(_ left: Term, _ comparison: ODataComparison, _ right: Term) throws(ODataProblem) -> Term {
    if left.kind == .null || right.kind == .null {
      return Term(expression: .bool(false), kind: .bool, position: left.position)
    }
    try checkSame(left, right)
    guard left.kind != .bool else {
      throw ODataProblem(problem: "begins a condition, which has no order", position: left.position)
    }
    return Term(
      expression: .compare(left.expression, comparison, right.expression), kind: .bool, position: left.position)
  }

  private func arithmetic(_ left: Term, _ operation: ODataOperator, _ right: Term) throws(ODataProblem) -> Term {
    let (one, other) = (try number(left), try number(right))
    let isWhole = one.kind == .whole && other.kind == .whole
    return Term(
      expression: .arithmetic(
        one.expression, operation == .divide && isWhole ? .divideWhole : operation, other.expression),
      kind: isWhole ? .whole : .number, position: left.position)
  }

  private func checkSame(_ left: Term, _ right: Term) throws(ODataProblem) {
    let numbers: Set<Kind> = [.whole, .number]
    guard left.kind == right.kind || numbers.contains(left.kind) && numbers.contains(right.kind) else {
      throw ODataProblem(
        problem: "begins \(right.kind.rawValue), which is compared with \(left.kind.rawValue)", position: right.position
      )
    }
  }

  private func boolean(_ term: Term) throws(ODataProblem) -> Term {
    if term.kind == .null { return Term(expression: .null, kind: .bool, position: term.position) }
    guard term.kind == .bool else {
      throw ODataProblem(
        problem: "begins \(term.kind.rawValue), where a condition is wanted", position: term.position)
    }
    return term
  }

  private func number(_ term: Term) throws(ODataProblem) -> Term {
    if term.kind == .null { return Term(expression: .null, kind: .number, position: term.position) }
    guard term.kind == .whole || term.kind == .number else {
      throw ODataProblem(problem: "begins \(term.kind.rawValue), where a number is wanted", position: term.position)
    }
    return term
  }

  // MARK: - Words

  private mutating func literal(_ expression: ODataExpression, _ kind: Kind) throws(ODataProblem) -> Term {
    let term = Term(expression: expression, kind: kind, position: token.position)
    try advance()
    return term
  }

  private mutating func advance() throws(ODataProblem) {
    words += 1
    guard words <= ODataFilter.mostWords else {
      throw ODataProblem(problem: "begins one word more than \(ODataFilter.mostWords)", position: token.position)
    }
    token = try lexer.next()
  }

  private mutating func take(_ word: String) throws(ODataProblem) -> Bool {
    guard token.kind == .word(word) else { return false }
    try advance()
    return true
  }

  private mutating func takeClose() throws(ODataProblem) -> Bool {
    guard token.kind == .close else { return false }
    try advance()
    return true
  }

  private mutating func takeComma() throws(ODataProblem) -> Bool {
    guard token.kind == .comma else { return false }
    try advance()
    return true
  }

  private mutating func enter() throws(ODataProblem) {
    depth += 1
    guard depth <= ODataFilter.deepest else {
      throw ODataProblem(problem: "is nested deeper than \(ODataFilter.deepest)", position: token.position)
    }
  }
}
