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

/// Reads how `and`, `or`, `not` and parentheses join the conditions of a filter's line.
///
/// Parentheses are kept in a list of open groups instead of calls: a line may open thousands of them, since they add nothing to its depth.
struct FilterReader {
  private var tokens: FilterTokens
  private var groups = [Group()]
  private var conditions = 0

  fileprivate init(_ line: String) throws(FilterError) { tokens = try FilterTokens(line) }

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
    if tokens.next.kind == .end { throw tokens.error("the filter is empty; everyone stands for all contacts") }
    while true {
      if let condition = try condition() {
        try add(condition)
        if let whole = try afterOperand() { return whole }
      }
    }
  }

  /// Reads the condition that stands next; nil if it was a word before one.
  private mutating func condition() throws(FilterError) -> Operand? {
    let position = tokens.next.position
    switch tokens.next.kind {
    case .word("not"):
      groups[groups.count - 1].negations += 1
      try tokens.advance()
      return nil
    case .symbol("("):
      try tokens.advance()
      groups.append(Group(opening: position, isInDevice: group.isInDevice))
      return nil
    case .word("device"):
      if group.isInDevice { throw tokens.outsideOfDevice }
      try tokens.advance()
      let opening = tokens.next.position
      try tokens.expect("(", "as in device(platform = 'ios')")
      groups.append(Group(opening: opening, isDevice: true, isInDevice: true))
      return nil
    default:
      guard conditions < FilterLimits.conditions else {
        throw tokens.error(FilterLimits.conditionsProblem)
      }
      conditions += 1
      let filter = try tokens.condition(inDevice: group.isInDevice)
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
      switch tokens.next.kind {
      case .word("and"):
        try tokens.advance()
        return nil
      case .word("or"):
        let alternative = try Self.joined(group.conjuncts) { .and($0) }
        groups[groups.count - 1].alternatives.append(alternative)
        groups[groups.count - 1].conjuncts = []
        try tokens.advance()
        return nil
      case .symbol(")"):
        guard group.opening != nil else { throw tokens.error("nothing is open that ) could close") }
        let closed = try closed()
        try tokens.advance()
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
      throw FilterError(.character(operand.position), FilterLimits.depthProblem)
    }
    return Operand(filter: filter, depth: operand.depth + 1, position: operand.position)
  }

  private var unexpectedAfterCondition: FilterError { tokens.unexpected("and, or or the line's end", ["and", "or"]) }
}
