/// Reads single conditions of a line.
extension FilterTokens {
  /// Words that begin a condition which stands outside of `device`.
  private static let ofContacts =
    ["in", "has", "outcome", "bucket", "birthday"] + FilterActivity.Kind.allCases.map(\.rawValue)
  /// What an unknown field outside of `device` may have been meant for.
  static let beginnings = ["everyone", "not", "device", "properties"] + ofContacts

  mutating func condition(inDevice: Bool) throws(FilterError) -> Filter {
    switch next.kind {
    case .word("everyone"):
      try advance()
      return .everyone
    case .word(let word) where Self.ofContacts.contains(where: word.hasSameBytes):
      if inDevice { throw outsideOfDevice }
      let place = place
      try advance()
      return try ofContact(word, at: place)
    case .word, .property: return try comparison(inDevice: inDevice)
    case .end: throw error("the line ends where a condition is expected")
    case .text, .number: throw error("a field stands before a value, as in country = 'SE'")
    case .symbol: throw error("a condition is expected here, not \(shown)")
    }
  }

  /// Reads what follows the first word of a condition, which is one of `ofContacts`.
  private mutating func ofContact(_ word: String, at place: FilterPlace) throws(FilterError) -> Filter {
    switch word {
    case "in": return try membership()
    case "has":
      try expect(word: "device", "as in has device")
      return .device(.everyone)
    case "outcome": return try outcome()
    case "bucket": return try bucket()
    case "birthday": return try birthday()
    default: return try activity(FilterActivity.Kind(rawValue: word) ?? .received, at: place)
    }
  }

  private mutating func membership() throws(FilterError) -> Filter {
    switch next.kind {
    case .word("list"):
      try advance()
      return .list(try reference("list"))
    case .word("segment"):
      try advance()
      return .segment(try reference("segment"))
    default: throw unexpected("list or segment", ["list", "segment"])
    }
  }

  private mutating func reference(_ noun: String) throws(FilterError) -> FilterReference {
    let place = place
    switch next.kind {
    case .text(let name) where !name.isEmpty:
      try advance()
      return .name(UTF8String(name), at: place)
    case .number(let number):
      guard let number = number.integer, number > 0 else { throw error("a \(noun)'s number is a whole number from 1") }
      try advance()
      return .number(number, at: place)
    default: throw error("a \(noun)'s number, or its name between quotes, is expected here, not \(shown)")
    }
  }

  private mutating func activity(_ kind: FilterActivity.Kind, at place: FilterPlace) throws(FilterError) -> Filter {
    var activity = FilterActivity(kind)
    activity.place = place
    if next.kind == .word("sendout") {
      try advance()
      guard case .number(let number) = next.kind, let number = number.integer, number > 0 else {
        throw error("a sendout's number is expected here, not \(shown)")
      }
      (activity.sendout, activity.sendoutPlace) = (number, self.place)
      try advance()
    }
    if case .symbol(let symbol) = next.kind, let op = FilterOperator(rawValue: symbol) {
      try advance()
      activity.op = op
      activity.count = try wholeNumber(0...FilterLimits.count)
    }
    if next.kind == .word("within") {
      try advance()
      if next.kind == .word("last") || next.kind == .word("next") {
        throw error("within looks back by itself here; leave out \(shown)")
      }
      activity.within = try span()
    }
    if next.kind == .word("of") {
      if activity.within != nil { throw error("of last does not go with within") }
      try advance()
      try expect(word: "last", "as in opened < 1 of last 5")
      activity.ofLast = try wholeNumber(1...FilterLimits.ofLast)
    }
    if activity.ofLast != nil, next.kind == .word("within") { throw error("of last does not go with within") }
    return .activity(activity)
  }

  private mutating func outcome() throws(FilterError) -> Filter {
    let example = "as in outcome of sendout 7 = 'failed'"
    try expect(word: "of", example)
    try expect(word: "sendout", example)
    guard case .number(let number) = next.kind, let sendout = number.integer, sendout > 0 else {
      throw error("a sendout's number is expected here, not \(shown)")
    }
    let place = place
    try advance()
    try expect("=", example)
    guard case .text(let word) = next.kind else {
      throw error("a text between quotes is expected here, \(example), not \(shown)")
    }
    guard let kind = FilterOutcome.Kind(rawValue: word) else {
      throw error(FilterSuggestion.unknown("outcome", word, FilterOutcome.kinds))
    }
    try advance()
    return .outcome(FilterOutcome(kind, of: sendout, at: place))
  }

  private mutating func bucket() throws(FilterError) -> Filter {
    try expect("(", "as in bucket(0, 10)")
    let from = try wholeNumber(0...99)
    try expect(",", "as in bucket(0, 10)")
    let to = try wholeNumber(from + 1...100)
    try expect(")", "as in bucket(0, 10)")
    return .bucket(from: from, to: to)
  }

  private mutating func birthday() throws(FilterError) -> Filter {
    try expect("(", "as in birthday(dateOfBirth)")
    let position = next.position
    let field = try field(inDevice: false)
    if let problem = field.birthdayProblem { throw FilterError(.character(position), problem) }
    try expect(")", "as in birthday(dateOfBirth)")
    try expect(word: "within", "as in birthday(dateOfBirth) within next 7 days")
    let direction = try direction()
    let days = try wholeNumber(1...FilterLimits.birthdayDays)
    if next.kind == .word("hours") { throw error("birthdays are counted in days, not in hours") }
    try expect(word: "days", "as in within next 7 days")
    return .birthday(field, FilterWindow(direction, days, .days))
  }
}
