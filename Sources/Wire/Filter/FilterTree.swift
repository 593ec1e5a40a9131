extension Filter {
  /// Reads a filter as bodies have it: a line of text or a tree.
  /// - Throws: `FilterError`.
  public init(json: JSONValue) throws(FilterError) {
    if case .string(let text) = json { try self.init(text: text) } else { try self.init(tree: json) }
  }

  /// Reads a tree.
  /// - Throws: `FilterError` with the path of the wrong value.
  public init(tree: JSONValue) throws(FilterError) {
    var reader = FilterTreeReader()
    let filter = try reader.filter(tree, at: "", level: 1, inDevice: false)
    guard filter.text.utf8.count <= FilterLimits.line else {
      throw FilterError(.path(""), "as a line, the filter is longer than \(FilterLimits.line) bytes")
    }
    self = filter
  }

  /// Reads a filter as query parameters and options have it: a line of text, or a tree as JSON, which no line begins like.
  /// - Throws: `FilterError`.
  public init(textOrTree text: String) throws(FilterError) {
    guard text.trimmed.utf8.first == UInt8(ascii: "{") else {
      try self.init(text: text)
      return
    }
    let tree: JSONValue
    do throws(JSONProblem) {
      tree = try JSONValue(json: Array(text.utf8))
    } catch {
      throw FilterError(.path(""), error.problem)
    }
    try self.init(tree: tree)
  }

  /// The tree that `init(tree:)` reads as this filter.
  public var tree: JSONValue {
    switch self {
    case .everyone: ["everyone": true]
    case .and(let filters): ["and": .array(filters.map(\.tree))]
    case .or(let filters): ["or": .array(filters.map(\.tree))]
    case .not(let filter): ["not": filter.tree]
    case .compare(let field, let comparison): .object(comparison.members.merging(["field": .string(field.name)]) { $1 })
    case .birthday(let field, let window):
      .object(["birthday": .string(field.name), UTF8String(window.direction.rawValue): window.span.json])
    case .list(let list): ["list": list.json]
    case .segment(let segment): ["segment": segment.json]
    case .device(let filter): ["device": filter.tree]
    case .activity(let activity): .object([UTF8String(activity.kind.rawValue): .object(activity.members)])
    case .outcome(let outcome):
      ["outcome": ["sendout": .integer(outcome.sendout), "is": .string(outcome.kind.rawValue)]]
    case .bucket(let from, let to): ["bucket": [.integer(from), .integer(to)]]
    }
  }
}

extension Filter: Codable {
  /// Reads either form.
  /// - Throws: `JSONProblem` with the body's field and the place in the filter.
  public init(from decoder: any Decoder) throws {
    let json = try JSONValue(from: decoder)
    do throws(FilterError) {
      self = try Filter(json: json)
    } catch {
      throw JSONProblem(error.description, at: decoder.codingPath.map(\.stringValue).joined(separator: "."))
    }
  }

  /// Writes the tree.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(tree)
  }
}

extension FilterComparison {
  fileprivate var members: [UTF8String: JSONValue] {
    var members: [UTF8String: JSONValue] = verb == .within ? [:] : ["op": .string(verb.word)]
    switch self {
    case .compare(_, let literal): members[literal.member.rawValue] = literal.json
    case .oneOf(let literals):
      members[(literals.first?.member ?? .value).rawValue] = .array(literals.map(\.json))
    case .contains(let text), .startsWith(let text), .endsWith(let text):
      members[FilterLiteral.Member.value.rawValue] = .string(text.text)
    case .isSet, .isNotSet: break
    case .within(let window):
      members[verb.word] = .object([UTF8String(window.direction.rawValue): window.span.json])
    }
    return members
  }
}

extension FilterLiteral {
  fileprivate var json: JSONValue {
    switch self {
    case .text(let text), .version(let text): .string(text.text)
    case .number(let number): .number(number)
    case .boolean(let flag): .bool(flag)
    case .date(let day): .string(day.description)
    }
  }
}

extension FilterReference {
  fileprivate var json: JSONValue {
    switch self {
    case .number(let number, _): .integer(number)
    case .name(let name, _): .string(name.text)
    }
  }
}

extension FilterSpan {
  /// As in `"30d"`.
  fileprivate var json: JSONValue { .string("\(amount)\(unit.letter)") }
}

extension FilterActivity {
  fileprivate var members: [UTF8String: JSONValue] {
    var members: [UTF8String: JSONValue] = ["op": .string(op.rawValue), "count": .integer(count)]
    members["sendout"] = sendout.map { .integer($0) }
    members["within"] = within.map(\.json)
    members["ofLast"] = ofLast.map { .integer($0) }
    return members
  }
}
