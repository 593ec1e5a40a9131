extension Filter: CustomStringConvertible {
  /// The line of text that `init(text:)` reads as this filter, with as few parentheses as that takes.
  public var text: String {
    switch self {
    case .everyone: "everyone"
    case .and(let filters): filters.map { $0.operand(in: self) }.joined(separator: " and ")
    case .or(let filters): filters.map { $0.operand(in: self) }.joined(separator: " or ")
    case .not(let filter): "not " + filter.operand(in: self)
    case .compare(let field, let comparison): "\(field.lineName) \(comparison.text)"
    case .birthday(let field, let window): "birthday(\(field.lineName)) within \(window.text)"
    case .list(let list): "in list \(list.text)"
    case .segment(let segment): "in segment \(segment.text)"
    case .device(.everyone): "has device"
    case .device(let filter): "device(\(filter.text))"
    case .activity(let activity): activity.text
    case .outcome(let outcome): "outcome of sendout \(outcome.sendout) = '\(outcome.kind.rawValue)'"
    case .bucket(let from, let to): "bucket(\(from), \(to))"
    }
  }

  public var description: String { text }

  private func operand(in outer: Filter) -> String { binding > outer.binding || isNot ? text : "(\(text))" }

  private var isNot: Bool { if case .not = self { true } else { false } }

  /// How tightly it holds what is in it.
  private var binding: Int {
    switch self {
    case .or: 1
    case .and: 2
    case .not: 3
    default: 4
    }
  }
}

extension FilterField {
  /// As lines have it: a property's name is quoted unless it is a word.
  public var lineName: String {
    guard case .property(let property) = self else { return name }
    if !property.text.isEmpty, property.text.unicodeScalars.allSatisfy(FilterLexer.isWord) { return name }
    return Self.propertyPrefix + FilterLiteral.quoted(property.text, "\"")
  }
}

extension FilterComparison {
  fileprivate var text: String {
    switch self {
    case .compare(let op, let literal): "\(op.rawValue) \(literal.text)"
    case .oneOf(let literals): "in (\(literals.map(\.text).joined(separator: ", ")))"
    case .contains(let text), .startsWith(let text), .endsWith(let text):
      "\(verb.word) \(FilterLiteral.quoted(text.text, "'"))"
    case .isSet, .isNotSet: verb.word
    case .within(let window): "within \(window.text)"
    }
  }

  var verb: FilterVerb {
    switch self {
    case .compare(let op, _): .compare(op)
    case .oneOf: .oneOf
    case .contains: .contains
    case .startsWith: .startsWith
    case .endsWith: .endsWith
    case .isSet: .isSet
    case .isNotSet: .isNotSet
    case .within: .within
    }
  }
}

extension FilterLiteral {
  fileprivate var text: String {
    switch self {
    case .text(let text): Self.quoted(text.text, "'")
    case .number(let number): number.text
    case .boolean(let flag): "\(flag)"
    case .date(let day): "date '\(day)'"
    case .version(let version): "version '\(version)'"
    }
  }

  /// The text between these marks, which are doubled in it.
  fileprivate static func quoted(_ text: String, _ mark: Unicode.Scalar) -> String {
    var quoted = String.UnicodeScalarView([mark])
    for scalar in text.unicodeScalars {
      if scalar == mark { quoted.append(mark) }
      quoted.append(scalar)
    }
    quoted.append(mark)
    return String(quoted)
  }
}

extension FilterReference {
  fileprivate var text: String {
    switch self {
    case .number(let number, _): "\(number)"
    case .name(let name, _): FilterLiteral.quoted(name.text, "'")
    }
  }
}

extension FilterSpan {
  fileprivate var text: String { "\(amount) \(unit.rawValue)" }
}

extension FilterWindow {
  fileprivate var text: String { "\(direction.rawValue) \(span.text)" }
}

extension FilterActivity {
  fileprivate var text: String {
    let parts = [
      kind.rawValue, sendout.map { "sendout \($0)" }, "\(op.rawValue) \(count)", within.map { "within \($0.text)" },
      ofLast.map { "of last \($0)" },
    ]
    return parts.compactMap(\.self).joined(separator: " ")
  }
}
