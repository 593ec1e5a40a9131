import FoundationEssentials
public import Wire

/// Makes random filters, and contacts of which each meets some of them. The same seed makes the same ones.
///
/// Values come from small pools, so that filters often hit. Many lie at the edges: the first and last moment of a day or a span, numbers that
/// differ in their writing alone, and texts that almost are numbers, dates or versions.
public struct FilterGenerator: Sendable {
  public var random: SeededGenerator
  /// Names of lists and segments are taken from it.
  public let model: FilterModel

  public init(seed: UInt64, model: FilterModel) {
    random = SeededGenerator(seed: seed)
    self.model = model
  }

  /// Makes filters without lists and segments, so that nothing has to be looked up.
  public init(seed: UInt64) { self.init(seed: seed, model: FilterModel(now: Self.usualNow)) }

  /// 2026-12-01T12:34:56.789Z.
  public static let usualNow: Int64 = 1_796_128_496_789

  public static let apps = ["com.acme.app", "com.acme.both", "se.färg"]
  /// Numbers of the sendouts of pushes.
  public static let sendouts: ClosedRange<Int64> = 1...4
  public static let propertyNames: [UTF8String] = [
    "food", "visits", "any name", "it's", "say \"x\"", "färg", "and", "3", "last.visit",
    "blood'; DROP TABLE contact; --",
  ]

  private mutating func one<Element>(of pool: [Element]) -> Element {
    pool[Int.random(in: pool.indices, using: &random)]
  }
  private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  private mutating func chance(_ hundredths: Int) -> Bool { number(1...100) <= hundredths }

  private static let texts = [
    "SE", "se", "NO", "meat", "Meat", "STRASSE", "straße", "Straẞe", "ΟΔΟΣ", "οδός", "οδος", "İstanbul", "ısı", "I",
    "i", "é",
    "e\u{301}", "É", "ﬁn", "FIN", "\u{212A}elvin", "kelvin", "%", "_", "\\", "it's", "'", "\"", "a b", " ", "🎂",
    "\u{1F469}\u{200D}\u{1F9B0}",
    "{literals}", "{now}", "$1", "null", "true", "false", "3", "z", "Z", "\u{FFFD}", "\u{10FFFF}", "ǆ", "ǅ", "ŉ", "ᾳ",
  ]
  private static let numbers = [
    "0", "-0", "1", "3", "3.0", "3.10", "3.1", "-3", "0.1", "0.10000000000000000001", "1e2", "100", "1E-2", "1e400",
    "1e-400",
    "12345678901234567890", "12345678901234567891", "9007199254740993", "1796083200000", "1796128496789",
  ]
  private static let almostNumbers = [
    "3", "+3", "3.0", " 3", "3 ", "03", ".5", "5.", "1e2", "1e", "0x10", "NaN", "Infinity", "-Infinity", "1_000",
    "1,000", "٣", "３", "3\n",
    "1e99999", "-1E+2", "--3", "",
  ]
  private static let dates = [
    "2026-12-01", "2026-12-01T00:00:00Z", "2026-12-01T23:59:59.999Z", "2026-12-01T00:30:00+01:00",
    "2026-11-30T23:30:00-0100",
    "2026-12-01 12:34", "2026-12-02", "2026-11-30T23:59:59.999Z", "2026-02-30", "2026-13-01", "2026-12-1", "1980-02-29",
    "1981-02-29",
    "2026-12-01T24:00:00Z", "2026-12-01T12:34:56.789Z", "0001-01-01", "9999-12-31", "today", "2026-12-01T12",
  ]
  private static let versions = [
    "17", "17.0", "17.0.0", "17.2", "17.10", "17.2.1", "017.2", "0", "9.9", "99999999999999999999.1",
  ]
  private static let almostVersions = ["17.2-beta", "17.", ".17", "17..2", "Android 14", "17,2", "v17", " 17"]
  private static let days = [
    "2026-12-01", "2026-11-30", "2026-12-02", "2026-11-24", "2026-12-08", "1980-02-29", "2000-02-29", "1981-03-01",
    "1981-02-28",
    "1990-12-01", "1990-12-08", "1990-12-09", "1990-11-24", "1990-01-01", "1990-12-31", "0001-01-01", "9999-12-31",
  ].compactMap { CalendarDay($0) }
}

// MARK: Filters

extension FilterGenerator {
  /// A filter as it can be read: within the limits, and with comparisons of the right types.
  public mutating func filter() -> Filter {
    // One in eight is as deep as can be.
    var conditions = 0
    return filter(depth: chance(12) ? FilterLimits.depth : number(1...4), inDevice: false, &conditions)
  }

  private mutating func filter(depth: Int, inDevice: Bool, _ conditions: inout Int) -> Filter {
    if depth > 1, conditions < FilterLimits.conditions / 2, chance(70) {
      switch number(1...10) {
      case 1...3: return .and(filters(depth: depth - 1, inDevice: inDevice, &conditions))
      case 4...6: return .or(filters(depth: depth - 1, inDevice: inDevice, &conditions))
      case 7...8: return .not(filter(depth: depth - 1, inDevice: inDevice, &conditions))
      default:
        if !inDevice { return .device(filter(depth: depth - 1, inDevice: true, &conditions)) }
      }
    }
    conditions += 1
    return inDevice ? deviceCondition() : condition()
  }

  private mutating func filters(depth: Int, inDevice: Bool, _ conditions: inout Int) -> [Filter] {
    var filters: [Filter] = []
    for _ in 0..<number(2...3) { filters.append(filter(depth: depth, inDevice: inDevice, &conditions)) }
    return filters
  }

  private mutating func condition() -> Filter {
    switch number(1...20) {
    case 1: return .everyone
    case 2...3:
      return .bucket(from: number(0...49), to: one(of: [50, 51, 99, 100]))
    case 4...5: return .activity(activity())
    case 6:
      let sendout = Int64.random(in: Self.sendouts, using: &random)
      return .outcome(FilterOutcome(one(of: FilterOutcome.Kind.allCases), of: sendout))
    case 7...8:
      let field = one(of: [FilterField.dateOfBirth, .createdAt, .property(one(of: Self.propertyNames))])
      return .birthday(field, FilterWindow(one(of: [.last, .next]), one(of: [1, 7, 8, 90, 91, 364, 365]), .days))
    case 9: return reference(model.lists).map { .list($0) } ?? .everyone
    case 10: return reference(model.segmentNumbers).map { .segment($0) } ?? .everyone
    case 11...15: return comparison(of: .property(one(of: Self.propertyNames)))
    default: return comparison(of: one(of: FilterField.ofContacts))
    }
  }

  private mutating func deviceCondition() -> Filter {
    chance(8) ? .everyone : comparison(of: one(of: FilterField.ofDevices))
  }

  private mutating func reference(_ numbers: [UTF8String: Int64]) -> FilterReference? {
    let sorted = numbers.sorted { $0.key < $1.key }
    if sorted.isEmpty { return nil }
    let (name, number) = one(of: sorted)
    return chance(50) ? .name(name) : .number(number)
  }

  private mutating func activity() -> FilterActivity {
    var activity = FilterActivity(one(of: FilterActivity.Kind.allCases))
    if chance(30) { activity.sendout = Int64.random(in: Self.sendouts, using: &random) }
    if chance(70) {
      activity.op = one(of: FilterOperator.allCases)
      activity.count = chance(10) ? number(29...34) : one(of: [0, 1, 1, 2, 3, 5])
    }
    switch number(1...3) {
    case 1: activity.within = span()
    case 2: activity.ofLast = one(of: [1, 2, 3, 5, 31, 32, 33, FilterLimits.ofLast])
    default: break
    }
    return activity
  }

  private mutating func span() -> FilterSpan {
    FilterSpan(one(of: [1, 2, 7, 30, FilterLimits.days]), one(of: [.days, .hours]))
  }

  private mutating func comparison(of field: FilterField) -> Filter {
    if chance(10) { return .compare(field, chance(50) ? .isSet : .isNotSet) }
    let literals = [literal(of: field), literal(of: field), literal(of: field)]
    switch field.type {
    case .date where chance(40): return .compare(field, .within(window()))
    case .property where chance(10): return .compare(field, .within(window()))
    case .text where chance(40), .property where chance(20), .version where chance(30):
      return .compare(field, search(one(of: Self.texts + Self.versions)))
    default: break
    }
    if chance(20) {
      let alike = literals.filter { $0.isDate == literals[0].isDate && $0.isVersion == literals[0].isVersion }
      return .compare(field, .oneOf(alike))
    }
    let hasOrder =
      switch (field.type, literals[0]) {
      case (.word, _), (.boolean, _), (_, .boolean): false
      default: true
      }
    return .compare(
      field, .compare(hasOrder ? one(of: FilterOperator.allCases) : one(of: [.equal, .notEqual]), literals[0]))
  }

  private mutating func window() -> FilterWindow {
    let span = span()
    return FilterWindow(one(of: [.last, .next]), span.amount, span.unit)
  }

  private mutating func search(_ text: String) -> FilterComparison {
    // Parts of texts are found, too.
    let scalars = Array(text.unicodeScalars)
    let from = number(0...max(0, min(2, scalars.count - 1)))
    let part = UTF8String(String(String.UnicodeScalarView(chance(50) ? scalars[from...] : scalars[...])))
    return one(of: [.contains(part), .startsWith(part), .endsWith(part)])
  }

  private mutating func literal(of field: FilterField) -> FilterLiteral {
    switch field.type {
    case .text:
      let known = field == .device(.app) ? Self.apps : field == .originalId ? ["a1", "a10", "A1", "a1'"] : Self.texts
      return .text(UTF8String(one(of: known)))
    case .word(let words): return .text(UTF8String(one(of: words)))
    case .version: return .version(UTF8String(one(of: Self.versions)))
    case .boolean: return .boolean(chance(50))
    case .date: return .date(one(of: Self.days))
    case .property:
      switch number(1...8) {
      case 1...3: return .number(JSONNumber(one(of: Self.numbers)) ?? 0)
      case 4: return .boolean(chance(50))
      case 5: return .date(one(of: Self.days))
      case 6: return .version(UTF8String(one(of: Self.versions)))
      default: return .text(UTF8String(one(of: Self.texts + Self.almostNumbers)))
      }
    }
  }
}

extension FilterLiteral {
  fileprivate var isDate: Bool { if case .date = self { true } else { false } }
  fileprivate var isVersion: Bool { if case .version = self { true } else { false } }
}

// MARK: Contacts

extension FilterGenerator {
  /// A contact with devices and pushes; static segments and lists are of the model.
  public mutating func contact(_ id: Int64) -> FilterModel.Contact {
    var contact = FilterModel.Contact(id: id, originalId: "a\(id)", createdAt: moment(), updatedAt: moment())
    for field in ContactField.allCases where chance(40) { contact.texts[field] = text(of: field) }
    if chance(60) { contact.dateOfBirth = one(of: Self.days) }
    for name in Self.propertyNames where chance(40) { contact.properties[name] = property() }
    for list in model.lists.values.sorted() where chance(30) { contact.lists.insert(list) }
    for segment in model.segmentNumbers.values.sorted() where model.segmentFilters[segment] == nil && chance(30) {
      contact.segments.insert(segment)
    }
    for _ in 0..<one(of: [0, 1, 1, 2, 3]) { contact.devices.append(device()) }
    // A few have more than the roll-up has moments of.
    for _ in 0..<(chance(6) ? number(30...36) : one(of: [0, 0, 1, 2, 6])) {
      contact.pushes.append(push(of: id, contact.pushes.count))
    }
    return contact
  }

  /// Another push of a contact.
  public mutating func push(of contact: FilterModel.Contact) -> FilterModel.Push {
    push(of: contact.id, contact.pushes.count)
  }

  /// Of a field that takes only some texts, one of these.
  private mutating func text(of field: ContactField) -> String {
    switch field.name {
    case "timeZone": one(of: ["Europe/Stockholm", "Europe/Oslo", "UTC"])
    case "language": one(of: ["sv", "nb", "en-GB"])
    default: one(of: Self.texts)
    }
  }

  private mutating func device() -> FilterModel.Device {
    var device = FilterModel.Device(app: one(of: Self.apps), platform: one(of: AppType.ofApps), registeredAt: moment())
    if chance(50) { device.manufacturer = one(of: Self.texts) }
    if chance(50) { device.model = one(of: Self.texts) }
    if chance(80) { device.osVersion = one(of: Self.versions + Self.almostVersions) }
    if chance(50) { device.country = one(of: Self.texts) }
    device.sandbox = chance(30)
    device.isValid = chance(80)
    return device
  }

  /// Its number is no other push's. Some have the same moment.
  /// - Parameter place: which of the contact's it is, from 0.
  private mutating func push(of contact: Int64, _ place: Int) -> FilterModel.Push {
    let accepted = chance(80) ? moment() : nil
    return FilterModel.Push(
      sendout: Int64.random(in: Self.sendouts, using: &random), number: Int32(contact * 100 + Int64(place)),
      acceptedAt: accepted,
      openedAt: chance(40) ? moment() : nil,
      state: one(of: [.failed, .failed, .uncertain, .skipped, .skipped, .cancelled, .queued, .waiting]),
      reason: one(of: [nil, "suppressed", "held_out", "capped", "capped 3/24h marketing", "quiet", "no_winner"]))
  }

  private mutating func property() -> JSONValue {
    switch number(1...10) {
    case 1...3: .number(JSONNumber(one(of: Self.numbers)) ?? 0)
    case 4: .bool(chance(50))
    case 5...6: .string(one(of: Self.texts))
    case 7: .string(one(of: Self.dates))
    case 8: .string(one(of: Self.versions + Self.almostVersions))
    default: .string(one(of: Self.almostNumbers))
    }
  }

  /// At an edge of a day or a span from now, or a millisecond beside it.
  private mutating func moment() -> Int64 {
    let edges = [
      model.now, model.now / 86_400_000 * 86_400_000, model.now - Int64(span().seconds) * 1000,
      model.now + Int64(span().seconds) * 1000, one(of: Self.days.filter { $0.number > 0 }).milliseconds,
    ]
    return max(0, one(of: edges) + Int64(one(of: [-1, 0, 0, 1])))
  }
}
