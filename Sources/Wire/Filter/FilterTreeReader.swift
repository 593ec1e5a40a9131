/// Reads a filter's tree. A null means the same as an absent member, and unknown members are refused by name.
struct FilterTreeReader {
  private var conditions = 0

  /// The members of which each tree has one, which says what it is, and those that may stand beside it.
  private static let forms: [(head: String, others: [String])] =
    [("and", []), ("or", []), ("not", []), ("field", ["op", "value", "date", "version", "within"])]
    + [("birthday", FilterWindow.Direction.allCases.map(\.rawValue)), ("list", []), ("segment", []), ("device", [])]
    + FilterActivity.Kind.allCases.map { ($0.rawValue, []) } + [("outcome", []), ("bucket", []), ("everyone", [])]

  /// - Parameter level: how deep the filter lies, from 1.
  mutating func filter(
    _ json: JSONValue, at path: String, level: Int, inDevice: Bool
  ) throws(FilterError) -> Filter {
    guard level <= FilterLimits.depth else { throw error(path, FilterLimits.depthProblem) }
    let tree = try object(json, at: path, "a filter is a line of text or an object")
    let heads = Self.forms.filter { tree[$0.head] != nil }
    guard let form = heads.first else {
      let known = Self.forms.map(\.head)
      try refuse(tree, but: known + Self.forms.flatMap(\.others), at: path)
      throw error(path, "the filter needs one of \(known.joined(separator: ", "))")
    }
    try refuse(tree, but: [form.head] + form.others, at: path)
    let value = tree[form.head] ?? .null
    let place = member(form.head, path)
    switch form.head {
    case "and": return try joined(value, at: place, level, inDevice) { .and($0) }
    case "or": return try joined(value, at: place, level, inDevice) { .or($0) }
    case "not": return .not(try filter(value, at: place, level: level + 1, inDevice: inDevice))
    case "device":
      if inDevice { throw error(place, "device does not stand in device") }
      return .device(try filter(value, at: place, level: level + 1, inDevice: true))
    default: break
    }
    guard conditions < FilterLimits.conditions else {
      throw error(path, FilterLimits.conditionsProblem)
    }
    conditions += 1
    switch form.head {
    case "everyone":
      guard value == .bool(true) else { throw error(place, "everyone must be true") }
      return .everyone
    case "field": return try comparison(tree, at: path, inDevice)
    case _ where inDevice: throw error(place, "\(form.head) is about a contact, and stands outside of device")
    case "birthday": return try birthday(tree, at: path)
    case "list": return .list(try reference(value, "list", at: place))
    case "segment": return .segment(try reference(value, "segment", at: place))
    case "outcome": return try outcome(value, at: place)
    case "bucket": return try bucket(value, at: place)
    default: return try activity(form.head, value, at: place)
    }
  }

  private mutating func joined(
    _ json: JSONValue, at path: String, _ level: Int, _ inDevice: Bool, _ join: ([Filter]) -> Filter
  ) throws(FilterError) -> Filter {
    guard case .array(let values) = json, !values.isEmpty else {
      throw error(path, "a list of filters is expected here")
    }
    var filters: [Filter] = []
    for (index, value) in values.enumerated() {
      filters.append(try filter(value, at: "\(path)[\(index)]", level: level + 1, inDevice: inDevice))
    }
    return filters.count == 1 ? filters[0] : join(filters)
  }

  private func reference(_ json: JSONValue, _ noun: String, at path: String) throws(FilterError) -> FilterReference {
    switch json {
    case .number(let number):
      if let number = number.integer, number > 0 { return .number(number, at: FilterPlace(.path(path))) }
    case .string(let name) where !name.isEmpty:
      if let problem = FilterLiteral.problem(ofText: name) { throw error(path, problem) }
      return .name(UTF8String(name), at: FilterPlace(.path(path)))
    default: break
    }
    throw error(path, "a \(noun)'s number or name is expected here")
  }

  private func bucket(_ json: JSONValue, at path: String) throws(FilterError) -> Filter {
    guard case .array(let bounds) = json, bounds.count == 2, let from = bounds[0].integer, let to = bounds[1].integer,
      from >= 0, from < to, to <= 100
    else { throw error(path, "two whole numbers from 0 to 100 are expected here, the larger one last, as in [0,10]") }
    return .bucket(from: Int(from), to: Int(to))
  }

  private func birthday(_ tree: [UTF8String: JSONValue], at path: String) throws(FilterError) -> Filter {
    let field = try field(tree, "birthday", at: path, inDevice: false)
    if let problem = field.birthdayProblem { throw error(member("birthday", path), problem) }
    let window = try window(tree, at: path)
    let place = member(window.direction.rawValue, path)
    if window.span.unit != .days { throw error(place, "birthdays are counted in days, as in 7d") }
    if let problem = window.span.unit.problem(of: window.span.amount, maximum: FilterLimits.birthdayDays) {
      throw error(place, problem)
    }
    return .birthday(field, window)
  }

  private func outcome(_ json: JSONValue, at path: String) throws(FilterError) -> Filter {
    let tree = try object(json, at: path, #"outcome is an object, such as {"sendout":7,"is":"failed"}"#)
    try refuse(tree, but: ["sendout", "is"], at: path)
    guard let sendout = tree["sendout"]?.integer, sendout > 0 else {
      throw error(member("sendout", path), "a sendout's number is expected here")
    }
    guard case .string(let word) = tree["is"], let kind = FilterOutcome.Kind(rawValue: word) else {
      throw error(member("is", path), "one of \(FilterOutcome.kinds.joined(separator: ", ")) is expected here")
    }
    return .outcome(FilterOutcome(kind, of: sendout, at: FilterPlace(.path(member("sendout", path)))))
  }

  private func activity(_ head: String, _ json: JSONValue, at path: String) throws(FilterError) -> Filter {
    var activity = FilterActivity(FilterActivity.Kind(rawValue: head) ?? .received)
    activity.place = FilterPlace(.path(path))
    let tree = try object(json, at: path, "\(head) is an object, such as {}")
    try refuse(tree, but: ["sendout", "op", "count", "within", "ofLast"], at: path)
    if let sendout = tree["sendout"] {
      guard let number = sendout.integer, number > 0 else {
        throw error(member("sendout", path), "a sendout's number is expected here")
      }
      (activity.sendout, activity.sendoutPlace) = (number, FilterPlace(.path(member("sendout", path))))
    }
    if let op = tree["op"] {
      guard case .string(let word) = op, let op = FilterOperator(rawValue: word) else {
        let known = FilterOperator.allCases.map(\.rawValue).joined(separator: ", ")
        throw error(member("op", path), "one of \(known) is expected here")
      }
      activity.op = op
      guard tree["count"] != nil else { throw error(path, "op needs count") }
    }
    if tree["count"] != nil {
      guard tree["op"] != nil else { throw error(path, "count needs op") }
      activity.count = try whole(tree["count"], 0...FilterLimits.count, at: member("count", path))
    }
    if let within = tree["within"] { activity.within = try span(within, at: member("within", path)) }
    if tree["ofLast"] != nil {
      let place = member("ofLast", path)
      if activity.within != nil { throw error(place, "ofLast does not go with within") }
      activity.ofLast = try whole(tree["ofLast"], 1...FilterLimits.ofLast, at: place)
    }
    return .activity(activity)
  }
}

extension FilterTreeReader {
  private func comparison(
    _ tree: [UTF8String: JSONValue], at path: String, _ inDevice: Bool
  ) throws(FilterError) -> Filter {
    let field = try field(tree, "field", at: path, inDevice: inDevice)
    if tree["within"] != nil {
      try refuse(tree, but: ["field", "within"], at: path) { "\($0) does not go with within" }
      let place = member("within", path)
      if let problem = field.problem(of: .within) { throw error(place, problem) }
      let directions = try object(tree["within"] ?? .null, at: place, #"within is an object, such as {"last":"30d"}"#)
      try refuse(directions, but: FilterWindow.Direction.allCases.map(\.rawValue), at: place)
      return .compare(field, .within(try window(directions, at: place)))
    }
    let verb = try verb(tree, at: path)
    if let problem = field.problem(of: verb) { throw error(member("op", path), problem) }
    switch verb {
    case .compare(let op): return .compare(field, .compare(op, try literal(tree, of: field, verb, at: path)))
    case .oneOf: return .compare(field, .oneOf(try literals(tree, of: field, at: path)))
    case .contains: return .compare(field, .contains(try pattern(tree, verb, at: path)))
    case .startsWith: return .compare(field, .startsWith(try pattern(tree, verb, at: path)))
    case .endsWith: return .compare(field, .endsWith(try pattern(tree, verb, at: path)))
    case .isSet, .isNotSet, .within:
      try refuse(tree, but: ["field", "op"], at: path) { "\($0) does not go with \(verb.word)" }
      return .compare(field, verb == .isSet ? .isSet : .isNotSet)
    }
  }

  private func field(
    _ tree: [UTF8String: JSONValue], _ name: String, at path: String, inDevice: Bool
  ) throws(FilterError) -> FilterField {
    let place = member(name, path)
    guard case .string(let text) = tree[name] else { throw error(place, "a field's name is expected here") }
    let prefix = FilterField.propertyPrefix
    guard text.utf8.starts(with: prefix.utf8) else {
      if let field = FilterField(text, inDevice: inDevice) { return field }
      throw error(place, FilterField.problem(ofName: text, inDevice: inDevice))
    }
    if inDevice { throw error(place, "properties are a contact's, and stand outside of device") }
    let property = String(Substring(text.utf8.dropFirst(prefix.utf8.count)))
    if let problem = FilterLiteral.problem(ofProperty: property) { throw error(place, problem) }
    return .property(UTF8String(property))
  }

  private func verb(_ tree: [UTF8String: JSONValue], at path: String) throws(FilterError) -> FilterVerb {
    guard let op = tree["op"] else { throw error(path, "a field needs op or within") }
    guard case .string(let word) = op else { throw error(member("op", path), "an operator is expected here") }
    guard let verb = FilterVerb.ofTrees.first(where: { $0.word.hasSameBytes(as: word) }) else {
      throw error(
        member("op", path), FilterSuggestion.unknown("operator", word, FilterVerb.ofTrees.map(\.word)))
    }
    return verb
  }

  /// The one member that has what the field is compared with.
  private func operand(
    _ tree: [UTF8String: JSONValue], _ verb: FilterVerb, at path: String
  ) throws(FilterError) -> (member: FilterLiteral.Member, json: JSONValue, place: String) {
    let members = FilterLiteral.Member.allCases.filter { tree[$0.rawValue] != nil }
    guard let first = members.first, let json = tree[first.rawValue] else {
      throw error(path, "\(verb.word) needs value, date or version")
    }
    if members.count > 1 {
      throw error(member(members[1].rawValue, path), "\(members[1].rawValue) does not go with \(first.rawValue)")
    }
    return (first, json, member(first.rawValue, path))
  }

  private func literal(
    _ tree: [UTF8String: JSONValue], of field: FilterField, _ verb: FilterVerb, at path: String
  ) throws(FilterError) -> FilterLiteral {
    let (member, json, place) = try operand(tree, verb, at: path)
    return try literal(json, member, of: field, verb, at: place)
  }

  private func literals(
    _ tree: [UTF8String: JSONValue], of field: FilterField, at path: String
  ) throws(FilterError) -> [FilterLiteral] {
    let (member, json, place) = try operand(tree, .oneOf, at: path)
    guard case .array(let values) = json, !values.isEmpty else { throw error(place, "a list is expected here") }
    var literals: [FilterLiteral] = []
    for (index, value) in values.enumerated() {
      literals.append(try literal(value, member, of: field, .oneOf, at: "\(place)[\(index)]"))
    }
    return literals
  }

  private func pattern(
    _ tree: [UTF8String: JSONValue], _ verb: FilterVerb, at path: String
  ) throws(FilterError) -> UTF8String {
    let (member, json, place) = try operand(tree, verb, at: path)
    guard member == .value, case .string(let text) = json else {
      throw error(place, "\(verb.word) needs a text as value")
    }
    if let problem = FilterLiteral.problem(ofText: text) { throw error(place, problem) }
    return UTF8String(text)
  }

  private func literal(
    _ json: JSONValue, _ member: FilterLiteral.Member, of field: FilterField, _ verb: FilterVerb, at place: String
  ) throws(FilterError) -> FilterLiteral {
    let literal: FilterLiteral
    switch (member, json) {
    case (.value, .string(let text)):
      if let problem = FilterLiteral.problem(ofText: text) { throw error(place, problem) }
      literal = .text(UTF8String(text))
    case (.value, .number(let number)):
      if let problem = FilterLiteral.problem(of: number) { throw error(place, problem) }
      literal = .number(number)
    case (.value, .bool(let flag)): literal = .boolean(flag)
    case (.value, _): throw error(place, "a text, a number, true or false is expected here")
    case (.date, _):
      guard case .string(let text) = json, let day = CalendarDay(text) else {
        throw error(place, FilterLiteral.dateProblem)
      }
      literal = .date(day)
    case (.version, _):
      guard case .string(let text) = json, let version = FilterLiteral.version(of: text) else {
        throw error(place, FilterLiteral.versionProblem)
      }
      literal = version
    }
    if let problem = field.problem(of: literal, verb, inTree: true) { throw error(place, problem) }
    return literal
  }
}

extension FilterTreeReader {
  private func window(_ tree: [UTF8String: JSONValue], at path: String) throws(FilterError) -> FilterWindow {
    let directions = FilterWindow.Direction.allCases.filter { tree[$0.rawValue] != nil }
    guard directions.count == 1, let json = tree[directions[0].rawValue] else {
      throw error(path, "either last or next is needed")
    }
    let span = try span(json, at: member(directions[0].rawValue, path))
    return FilterWindow(directions[0], span.amount, span.unit)
  }

  private func span(_ json: JSONValue, at path: String) throws(FilterError) -> FilterSpan {
    guard case .string(let text) = json,
      let unit = FilterSpan.Unit.allCases.first(where: { text.utf8.last == $0.letter.utf8.first }),
      text.utf8.dropLast().allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), text.utf8.count > 1
    else { throw error(path, "a span such as 30d or 12h is expected here") }
    let amount = Int(Substring(text.utf8.dropLast()))
    if let problem = unit.problem(of: amount) { throw error(path, problem) }
    return FilterSpan(amount ?? 1, unit)
  }

  private func whole(_ json: JSONValue?, _ range: ClosedRange<Int>, at path: String) throws(FilterError) -> Int {
    guard let number = json?.integer, range.contains(Int(clamping: number)) else {
      throw error(path, "a whole number from \(range.lowerBound) to \(range.upperBound) is expected here")
    }
    return Int(number)
  }

  /// The members that are not null.
  private func object(
    _ json: JSONValue, at path: String, _ problem: String
  ) throws(FilterError) -> [UTF8String: JSONValue] {
    guard case .object(let members) = json else { throw error(path, problem) }
    return members.filter { $0.value != .null }
  }

  /// Refuses the first member, by name, that is none of these.
  private func refuse(
    _ tree: [UTF8String: JSONValue], but known: [String], at path: String, _ problem: ((String) -> String)? = nil
  ) throws(FilterError) {
    let unknown = tree.keys.filter { name in !known.contains(where: name.text.hasSameBytes) }.min()
    guard let name = unknown?.text else { return }
    let shown = FilterSuggestion.shown(name)
    throw error(member(shown, path), problem?(shown) ?? FilterSuggestion.unknown("member", name, known))
  }

  private func member(_ name: String, _ path: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

  private func error(_ path: String, _ problem: String) -> FilterError { FilterError(.path(path), problem) }
}
