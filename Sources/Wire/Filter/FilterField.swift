/// What a comparison is about.
public enum FilterField: Sendable, Hashable {
  case contact(ContactField)
  case originalId
  case dateOfBirth
  case createdAt
  case updatedAt
  /// A property of that name, of whatever type.
  case property(UTF8String)
  /// Only in `device(…)`.
  case device(DeviceFilterField)

  /// All of a contact but its properties.
  public static let ofContacts: [FilterField] =
    [.originalId] + ContactField.allCases.map(FilterField.contact) + [.dateOfBirth, .createdAt, .updatedAt]
  public static let ofDevices = DeviceFilterField.allCases.map(FilterField.device)

  /// As trees have it: the name in the API, or `properties.` and a property's name as it is.
  public var name: String {
    switch self {
    case .contact(let field): field.name
    case .originalId: "originalId"
    case .dateOfBirth: "dateOfBirth"
    case .createdAt: "createdAt"
    case .updatedAt: "updatedAt"
    case .property(let name): Self.propertyPrefix + name.text
    case .device(let field): field.rawValue
    }
  }

  static let propertyPrefix = "properties."

  /// Whether a user must see personal fields of contacts to filter by it.
  public var isPersonal: Bool {
    switch self {
    case .contact, .originalId, .dateOfBirth, .property: true
    case .createdAt, .updatedAt, .device: false
    }
  }

  public var type: FilterFieldType {
    switch self {
    case .contact, .originalId: .text
    case .dateOfBirth, .createdAt, .updatedAt: .date
    case .property: .property
    case .device(let field): field.type
    }
  }

  /// The field of a contact or a device; nil for properties and unknown names.
  init?(_ name: String, inDevice: Bool) {
    let fields = inDevice ? Self.ofDevices : Self.ofContacts
    guard let field = fields.first(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
    self = field
  }
}

/// A field of a device, in `device(…)`.
public enum DeviceFilterField: String, Sendable, Hashable, CaseIterable {
  /// The app's appId.
  case app
  /// The app's platform: an `AppType.name`.
  case platform
  case manufacturer, model, osVersion, country, sandbox, registeredAt

  public var type: FilterFieldType {
    switch self {
    case .app, .manufacturer, .model, .country: .text
    case .platform: .word(AppType.allCases.map(\.name))
    case .osVersion: .version
    case .sandbox: .boolean
    case .registeredAt: .date
    }
  }
}

/// What a field holds, which says what it can be compared with.
public enum FilterFieldType: Sendable, Hashable {
  case text
  /// One of these words. It has no order.
  case word([String])
  /// A text that is a version, or is not: then comparisons with versions are false. It is searched as a text.
  case version
  case boolean
  case date
  /// Any of text, number and boolean. A text can stand for a number, a date or a version.
  case property

  /// As in `createdAt is a date`.
  var noun: String {
    switch self {
    case .text: "a text"
    case .word(let words): "one of \(words.joined(separator: ", "))"
    case .version: "a version"
    case .boolean: "true or false"
    case .date: "a date"
    case .property: "a property"
    }
  }
}

/// The word of a comparison: in lines all of them, in trees the `op` of all but `within`.
enum FilterVerb: Sendable, Hashable {
  case compare(FilterOperator)
  case oneOf, contains, startsWith, endsWith, isSet, isNotSet, within

  static let all: [FilterVerb] =
    FilterOperator.allCases.map { .compare($0) }
    + [.oneOf, .contains, .startsWith, .endsWith, .isSet, .isNotSet, .within]
  /// What `op` can be.
  static let ofTrees = all.filter { $0 != .within }

  var word: String {
    switch self {
    case .compare(let op): op.rawValue
    case .oneOf: "in"
    case .contains: "contains"
    case .startsWith: "starts with"
    case .endsWith: "ends with"
    case .isSet: "is set"
    case .isNotSet: "is not set"
    case .within: "within"
    }
  }

  var words: [String] { word.split(separator: " ").map { String($0) } }
}

extension FilterField {
  /// What is wrong with asking this of the field.
  func problem(of verb: FilterVerb) -> String? {
    switch (verb, type) {
    case (.compare(let op), .word), (.compare(let op), .boolean):
      op.isOrder ? "\(name) is \(type.noun), which has no order; compare it with =, != or in" : nil
    case (.contains, .word), (.contains, .boolean), (.contains, .date), (.startsWith, .word), (.startsWith, .boolean),
      (.startsWith, .date), (.endsWith, .word), (.endsWith, .boolean), (.endsWith, .date):
      "\(name) is \(type.noun); \(verb.word) is for texts"
    case (.within, .text), (.within, .word), (.within, .version), (.within, .boolean):
      "\(name) is \(type.noun); within is for dates"
    default: nil
    }
  }

  /// What is wrong with comparing the field with a literal, in a line or a tree.
  func problem(of literal: FilterLiteral, _ verb: FilterVerb, inTree: Bool) -> String? {
    switch (type, literal) {
    case (.text, .text), (.version, .version), (.boolean, .boolean), (.date, .date): return nil
    case (.property, .boolean(let flag)):
      guard case .compare(let op) = verb, op.isOrder else { return nil }
      return "\(flag) has no order; compare it with =, != or in"
    case (.property, _): return nil
    case (.word(let words), .text(let word)):
      if words.contains(where: word.text.hasSameBytes) { return nil }
      return FilterSuggestion.unknown("\(name)", word.text, words)
    case (.text, _): return "\(name) is a text; write it between \(inTree ? "quotation marks" : "quotes, as in 'SE'")"
    case (.word, _):
      return "\(name) is \(type.noun); write it between \(inTree ? "quotation marks" : "quotes")"
    case (.version, _):
      return "\(name) is a version; write \(inTree ? #""version":"17.2""# : "version '17.2'")"
    case (.boolean, _): return "\(name) is true or false, without quotes"
    case (.date, _):
      return "\(name) is a date; write \(inTree ? #""date":"2026-12-01""# : "date '2026-12-01'")"
    }
  }

  /// Why no field has that name.
  /// - Parameter others: what could stand in its place.
  static func problem(ofName name: String, inDevice: Bool, _ others: [String] = []) -> String {
    if Self(name, inDevice: !inDevice) != nil {
      return inDevice
        ? "\(name) is a contact's, and stands outside of device(…)"
        : "\(name) is a device's, as in device(\(name) is set)"
    }
    let known = (inDevice ? ofDevices : ofContacts).map(\.name)
    if inDevice { return FilterSuggestion.unknown("device field", name, known) }
    if name.hasSameBytes(as: "properties") { return "properties needs a name, as in properties.food" }
    let shown = FilterSuggestion.shown(name)
    return FilterSuggestion.unknown(
      "field", name, known + others, otherwise: "a property is written \(propertyPrefix)\(shown)")
  }

  /// What is wrong with asking for birthdays by the field.
  var birthdayProblem: String? {
    switch type {
    case .date, .property: nil
    default: "\(name) is \(type.noun); a birthday is a date"
    }
  }
}

extension FilterLiteral {
  /// Which member of a tree has it; a list has literals of one member.
  enum Member: String, CaseIterable { case value, date, version }

  var member: Member {
    switch self {
    case .text, .number, .boolean: .value
    case .date: .date
    case .version: .version
    }
  }

  /// What is wrong with a text, whatever it is for.
  static func problem(ofText text: String) -> String? {
    if text.unicodeScalars.count > FilterLimits.literal {
      return "the text is longer than \(FilterLimits.literal) characters"
    }
    if text.utf8.contains(0) { return "the text holds U+0000" }
    return CombiningMarks.areFew(in: text) ? nil : "the text \(CombiningMarks.problem)"
  }

  /// What is wrong with the name of a property.
  static func problem(ofProperty name: String) -> String? {
    let length = name.unicodeScalars.count
    if length == 0 || length > PropertyLimits.name || name.utf8.contains(0) || !CombiningMarks.areFew(in: name) {
      return "a property has a name of 1 to \(PropertyLimits.name) characters without U+0000"
    }
    return nil
  }

  /// - Returns: nil for what is not a version.
  static func version(of text: String) -> FilterLiteral? {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard text.utf8.count <= FilterLimits.literal, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(digits.contains) })
    else { return nil }
    return .version(UTF8String(text))
  }

  static let dateProblem = "the date must be a day such as 2026-12-01"
  static let versionProblem = "the version must be digits and dots, such as 17.2"

  /// What is wrong with a number, which is one of JSON.
  static func problem(of number: JSONNumber) -> String? {
    let exponent = number.text.utf8.drop { $0 | 0x20 != UInt8(ascii: "e") }.dropFirst()
    let digits = exponent.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "+") }
    return digits.count > FilterLimits.exponentDigits
      ? "the number has an exponent of more than \(FilterLimits.exponentDigits) digits" : nil
  }
}

extension FilterSpan.Unit {
  /// As in `30d`.
  var letter: String { self == .days ? "d" : "h" }

  /// What is wrong with so many of them; nil means that it is no whole number.
  func problem(of amount: Int?, maximum: Int? = nil) -> String? {
    let maximum = maximum ?? self.maximum
    guard let amount, (1...maximum).contains(amount) else {
      return "the \(rawValue) must be a whole number from 1 to \(maximum)"
    }
    return nil
  }
}
