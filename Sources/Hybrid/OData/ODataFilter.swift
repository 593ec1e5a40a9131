import Wire

/// A `$filter` over a phone's messages, as SQL.
///
/// Literals become parameters of the statement, so that no text of a phone is part of its SQL. Its SQL names the columns of
/// `PhoneMessageQueries.columns`.
struct ODataFilter: Sendable, Equatable {
  /// A condition; `true` without a filter.
  private(set) var sql = "true"
  /// What its parameters hold, all of them texts.
  private(set) var parameters: [String] = []

  /// Longest filter, in characters.
  static let longest = 2000
  /// Most words of a filter, and how deep it can be nested.
  static let mostWords = 200
  static let deepest = 32

  /// - Parameter firstParameter: the number of the first parameter that is free. The parameter before it is the phones' clock zone.
  init(_ text: String, firstParameter: Int) throws(ODataProblem) {
    guard text.unicodeScalars.count <= Self.longest else {
      throw ODataProblem(problem: "is one more than \(Self.longest)", position: Self.longest)
    }
    var compiler = try ODataCompiler(text, firstParameter: firstParameter)
    sql = try compiler.condition()
    parameters = compiler.parameters
  }

  /// Of all messages.
  init() {}
}

/// Compiles an expression while it reads it (OData v3, "URL Conventions", section 5.1.1; protocol notes, section 11).
private struct ODataCompiler {
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
    var sql: String
    var kind: Kind
    var position: Int
  }

  private var lexer: ODataLexer
  private var token: ODataToken
  private let firstParameter: Int
  private(set) var parameters: [String] = []
  private var words = 0
  private var depth = 0

  init(_ text: String, firstParameter: Int) throws(ODataProblem) {
    lexer = ODataLexer(text)
    token = try lexer.next()
    self.firstParameter = firstParameter
  }

  mutating func condition() throws(ODataProblem) -> String {
    let term = try or()
    guard token.kind == .end else { throw ODataProblem(problem: "is unexpected", position: token.position) }
    return try boolean(term).sql
  }

  // MARK: - Grammar

  private mutating func or() throws(ODataProblem) -> Term {
    var left = try and()
    while try take("or") { left = try logical(left, "OR", try and()) }
    return left
  }

  private mutating func and() throws(ODataProblem) -> Term {
    var left = try not()
    while try take("and") { left = try logical(left, "AND", try not()) }
    return left
  }

  /// `not Sender eq 'x'` means `not (Sender eq 'x')`, as the usual servers read it.
  private mutating func not() throws(ODataProblem) -> Term {
    let position = token.position
    guard try take("not") else { return try equality() }
    try enter()
    defer { depth -= 1 }
    return Term(sql: "(NOT \(try boolean(try not()).sql))", kind: .bool, position: position)
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
    let operators = ["gt": ">", "ge": ">=", "lt": "<", "le": "<="]
    var left = try sum()
    while case .word(let word) = token.kind, let sql = operators[word] {
      try advance()
      left = try ordered(left, sql, try sum())
    }
    return left
  }

  private mutating func sum() throws(ODataProblem) -> Term {
    var left = try product()
    while case .word(let word) = token.kind, word == "add" || word == "sub" {
      try advance()
      left = try arithmetic(left, word == "add" ? "+" : "-", try product())
    }
    return left
  }

  private mutating func product() throws(ODataProblem) -> Term {
    var left = try negation()
    while case .word(let word) = token.kind, ["mul", "div", "mod"].contains(word) {
      try advance()
      left = try arithmetic(left, word == "mul" ? "*" : word == "div" ? "/" : "%", try negation())
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
    return Term(sql: "(- \(term.sql))", kind: term.kind, position: position)
  }

  private mutating func primary() throws(ODataProblem) -> Term {
    let (kind, position) = (token.kind, token.position)
    switch kind {
    case .text(let text): return try literal("\(parameter(text))", .text)
    case .number(let text, let isWhole): return try literal("\(parameter(text))::numeric", isWhole ? .whole : .number)
    case .guid(let text): return try literal("\(parameter(text))::uuid", .guid)
    case .moment(let text, let hasZone):
      return try literal(
        hasZone
          ? "\(parameter(text))::timestamptz"
          : "(\(parameter(text))::timestamp AT TIME ZONE $\(firstParameter - 1)::text)", .moment)
    case .open:
      try advance()
      try enter()
      defer { depth -= 1 }
      var inner = try or()
      guard try takeClose() else { throw ODataProblem(problem: "stands where ) is missing", position: token.position) }
      inner.position = position
      return inner
    case .word("null"): return try literal("NULL", .null)
    case .word("true"): return try literal("true", .bool)
    case .word("false"): return try literal("false", .bool)
    case .word(let word):
      try advance()
      if token.kind == .open { return try function(word, at: position) }
      guard let property = PhoneMessageReply.Member(rawValue: word) else {
        throw ODataProblem(
          problem: "begins an unknown property; known are \(Self.properties)", position: position)
      }
      switch property {
      case .id: return Term(sql: "v.message_guid", kind: .guid, position: position)
      case .updateID: return Term(sql: PhoneMessageQueries.updateID, kind: .text, position: position)
      case .recipient: return Term(sql: "v.recipient", kind: .text, position: position)
      case .sender: return Term(sql: "v.sender", kind: .text, position: position)
      case .body: return Term(sql: "v.body", kind: .text, position: position)
      case .dateTime: return Term(sql: "v.moment", kind: .moment, position: position)
      case .status: return Term(sql: "v.status", kind: .text, position: position)
      case .updateIDs:
        throw ODataProblem(problem: "begins a property that is a list: filter by UpdateID", position: position)
      }
    case .end: throw ODataProblem(problem: "is the end, where a value is missing", position: position)
    case .close, .comma, .minus: throw ODataProblem(problem: "stands where a value is missing", position: position)
    }
  }

  private static let properties = PhoneMessageReply.Member.allCases.filter { $0 != .updateIDs }.map(\.rawValue)
    .joined(separator: ", ")

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
    func sql(_ index: Int, _ kinds: Kind...) throws(ODataProblem) -> String {
      guard kinds.contains(arguments[index].kind) || arguments[index].kind == .null else {
        throw ODataProblem(
          problem: "begins \(arguments[index].kind.rawValue), where \(name) takes \(kinds[0].rawValue)",
          position: arguments[index].position)
      }
      // PostgreSQL has to know which function a null is for.
      return arguments[index].kind == .null ? "NULL::\(Self.sqlType(kinds[0]))" : arguments[index].sql
    }
    func text(_ index: Int) throws(ODataProblem) -> String { try sql(index, .text) }
    func number(_ index: Int) throws(ODataProblem) -> String { try sql(index, .whole, .number) }
    /// A count of characters, as PostgreSQL's functions take it.
    func count(_ index: Int) throws(ODataProblem) -> String {
      "least(greatest(trunc(\(try number(index))), 0), 100000)::int4"
    }
    func part(_ name: String) throws(ODataProblem) -> String {
      "floor(extract(\(name) FROM \(try sql(0, .moment)) AT TIME ZONE 'UTC'))"
    }
    let counts: [String: ClosedRange<Int>] = [
      "substringof": 2...2, "startswith": 2...2, "endswith": 2...2, "length": 1...1, "indexof": 2...2, "replace": 3...3,
      "substring": 2...3, "tolower": 1...1, "toupper": 1...1, "trim": 1...1, "concat": 2...2, "year": 1...1,
      "month": 1...1, "day": 1...1, "hour": 1...1, "minute": 1...1, "second": 1...1, "round": 1...1, "floor": 1...1,
      "ceiling": 1...1,
    ]
    guard let expected = counts[name] else {
      throw ODataProblem(
        problem: "begins an unknown function; known are \(counts.keys.sorted().joined(separator: ", "))",
        position: position)
    }
    guard expected.contains(arguments.count) else {
      throw ODataProblem(problem: "begins \(name) with a wrong number of arguments", position: position)
    }
    let (result, kind): (String, Kind)
    switch name {
    case "substringof": (result, kind) = ("(strpos(\(try text(1)), \(try text(0))) > 0)", .bool)
    case "startswith": (result, kind) = ("starts_with(\(try text(0)), \(try text(1)))", .bool)
    case "endswith":
      let suffix = try text(1)
      (result, kind) = ("(right(\(try text(0)), char_length(\(suffix))) = \(suffix))", .bool)
    case "length": (result, kind) = ("char_length(\(try text(0)))::numeric", .whole)
    case "indexof": (result, kind) = ("(strpos(\(try text(0)), \(try text(1))) - 1)::numeric", .whole)
    // Cut off, since nested replacements grow with each level.
    case "replace":
      (result, kind) = (
        "left(replace(left(\(try text(0)), 4000), \(try text(1)), left(\(try text(2)), 200)), 4000)", .text
      )
    case "concat": (result, kind) = ("left(\(try text(0)) || \(try text(1)), 4000)", .text)
    case "substring":
      let start = "substr(\(try text(0)), \(try count(1)) + 1"
      (result, kind) = (arguments.count == 3 ? "\(start), \(try count(2)))" : "\(start))", .text)
    case "tolower": (result, kind) = ("lower(\(try text(0)))", .text)
    case "toupper": (result, kind) = ("upper(\(try text(0)))", .text)
    case "trim": (result, kind) = ("btrim(\(try text(0)), E' \\t\\r\\n')", .text)
    case "round", "floor", "ceiling": (result, kind) = ("\(name)(\(try number(0)))", .whole)
    default: (result, kind) = (try part(name), .whole)
    }
    return Term(sql: result, kind: kind, position: position)
  }

  private static func sqlType(_ kind: Kind) -> String {
    switch kind {
    case .text, .null: "text"
    case .whole, .number: "numeric"
    case .bool: "boolean"
    case .moment: "timestamptz"
    case .guid: "uuid"
    }
  }

  // MARK: - Operators

  private func logical(_ left: Term, _ sql: String, _ right: Term) throws(ODataProblem) -> Term {
    Term(sql: "(\(try boolean(left).sql) \(sql) \(try boolean(right).sql))", kind: .bool, position: left.position)
  }

  private func equal(_ left: Term, isNegated: Bool, _ right: Term) throws(ODataProblem) -> Term {
    let sql: String
    switch (left.kind, right.kind) {
    case (.null, .null): sql = isNegated ? "false" : "true"
    case (_, .null): sql = "(\(left.sql) IS \(isNegated ? "NOT " : "")NULL)"
    case (.null, _): sql = "(\(right.sql) IS \(isNegated ? "NOT " : "")NULL)"
    // Phones write GUIDs as texts, too.
    case (.guid, .text): sql = "(\(left.sql)::text \(isNegated ? "<>" : "=") lower(\(right.sql)))"
    case (.text, .guid): sql = "(lower(\(left.sql)) \(isNegated ? "<>" : "=") \(right.sql)::text)"
    default:
      try checkSame(left, right)
      sql = "(\(left.sql) \(isNegated ? "<>" : "=") \(right.sql))"
    }
    return Term(sql: sql, kind: .bool, position: left.position)
  }

  private func ordered(_ left: Term, _ sql: String, _ right: Term) throws(ODataProblem) -> Term {
    if left.kind == .null || right.kind == .null { return Term(sql: "false", kind: .bool, position: left.position) }
    try checkSame(left, right)
    guard left.kind != .bool else {
      throw ODataProblem(problem: "begins a condition, which has no order", position: left.position)
    }
    // The same order whatever the database's language.
    let collation = left.kind == .text ? " COLLATE \"C\"" : ""
    return Term(sql: "(\(left.sql) \(sql) \(right.sql)\(collation))", kind: .bool, position: left.position)
  }

  private func arithmetic(_ left: Term, _ sql: String, _ right: Term) throws(ODataProblem) -> Term {
    let (one, other) = (try number(left), try number(right))
    let isWhole = one.kind == .whole && other.kind == .whole
    // A division by zero gives null, which no comparison finds.
    var result =
      sql == "/" || sql == "%" ? "(\(one.sql) \(sql) nullif(\(other.sql), 0))" : "(\(one.sql) \(sql) \(other.sql))"
    if sql == "/", isWhole { result = "trunc\(result)" }
    return Term(sql: result, kind: isWhole ? .whole : .number, position: left.position)
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
    if term.kind == .null { return Term(sql: "NULL::boolean", kind: .bool, position: term.position) }
    guard term.kind == .bool else {
      throw ODataProblem(
        problem: "begins \(term.kind.rawValue), where a condition is wanted", position: term.position)
    }
    return term
  }

  private func number(_ term: Term) throws(ODataProblem) -> Term {
    if term.kind == .null { return Term(sql: "NULL::numeric", kind: .number, position: term.position) }
    guard term.kind == .whole || term.kind == .number else {
      throw ODataProblem(problem: "begins \(term.kind.rawValue), where a number is wanted", position: term.position)
    }
    return term
  }

  // MARK: - Words

  private mutating func literal(_ sql: String, _ kind: Kind) throws(ODataProblem) -> Term {
    let term = Term(sql: sql, kind: kind, position: token.position)
    try advance()
    return term
  }

  private mutating func parameter(_ text: String) -> String {
    parameters.append(text)
    return "$\(firstParameter + parameters.count - 1)::text"
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
