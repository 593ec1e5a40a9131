import FoundationEssentials
public import Wire

/// What filters mean, written a second time without SQL: tests compare the hub's answers with it.
///
/// Moments are milliseconds since 1970-01-01T00:00Z.
public struct FilterModel: Sendable {
  public struct Contact: Sendable {
    public var id: Int64
    public var originalId: String
    public var texts = ContactTexts()
    public var dateOfBirth: CalendarDay?
    public var properties: [UTF8String: JSONValue] = [:]
    public var createdAt: Int64
    public var updatedAt: Int64
    public var lists: Set<Int64> = []
    /// Static segments.
    public var segments: Set<Int64> = []
    public var devices: [Device] = []
    public var pushes: [Push] = []

    public init(id: Int64, originalId: String, createdAt: Int64, updatedAt: Int64) {
      self.id = id
      self.originalId = originalId
      self.createdAt = createdAt
      self.updatedAt = updatedAt
    }
  }

  public struct Device: Sendable {
    public var app: String
    public var platform: AppType
    public var manufacturer: String?
    public var model: String?
    public var osVersion: String?
    public var country: String?
    public var sandbox = false
    public var registeredAt: Int64
    public var isValid = true

    public init(app: String, platform: AppType, registeredAt: Int64) {
      self.app = app
      self.platform = platform
      self.registeredAt = registeredAt
    }
  }

  public struct Push: Sendable {
    public var sendout: Int64
    /// Its number in the sendout.
    public var number: Int32
    public var state: PushState
    /// When it was accepted; nil if it was not.
    public var acceptedAt: Int64?
    /// When a person opened it first.
    public var openedAt: Int64?
    /// Why it was not sent, perhaps with a detail behind a space.
    public var reason: String?

    /// - Parameters:
    ///   - state: of a push that was not accepted.
    ///   - reason: of a push that was skipped or cancelled.
    public init(
      sendout: Int64, number: Int32, acceptedAt: Int64?, openedAt: Int64? = nil, state: PushState = .failed,
      reason: String? = nil
    ) {
      self.state = acceptedAt == nil ? state : .accepted
      self.reason = self.state == .skipped || self.state == .cancelled ? reason : nil
      self.sendout = sendout
      self.number = number
      self.acceptedAt = acceptedAt
      self.openedAt = openedAt
    }
  }

  public var now: Int64
  /// The numbers of lists by their names.
  public var lists: [UTF8String: Int64] = [:]
  /// The numbers of segments by their names.
  public var segmentNumbers: [UTF8String: Int64] = [:]
  /// The filters of those segments that have one.
  public var segmentFilters: [Int64: Filter] = [:]

  public init(now: Int64) { self.now = now }

  /// Whether the filter takes the contact.
  public func matches(_ filter: Filter, _ contact: Contact) -> Bool {
    switch filter {
    case .everyone: true
    case .and(let filters): filters.allSatisfy { matches($0, contact) }
    case .or(let filters): filters.contains { matches($0, contact) }
    case .not(let filter): !matches(filter, contact)
    case .compare(let field, let comparison): compare(value(of: field, contact), comparison)
    case .birthday(let field, let window): isBirthday(value(of: field, contact), window)
    case .list(let list): number(list, in: lists).map { contact.lists.contains($0) } ?? false
    case .segment(let segment): isIn(segment, contact)
    case .device(let filter): contact.devices.contains { $0.isValid && matches(filter, $0) }
    case .activity(let activity): compare(activity.op, count(activity, contact.pushes), activity.count)
    case .outcome(let outcome): Self.meets(outcome, contact.pushes)
    case .bucket(let from, let to): (from..<to).contains(Self.bucket(of: contact.id))
    }
  }

  /// Whether the filter, which stands in `device`, takes the device.
  public func matches(_ filter: Filter, _ device: Device) -> Bool {
    switch filter {
    case .everyone: true
    case .and(let filters): filters.allSatisfy { matches($0, device) }
    case .or(let filters): filters.contains { matches($0, device) }
    case .not(let filter): !matches(filter, device)
    case .compare(.device(let field), let comparison): compare(Self.value(of: field, device), comparison)
    default: preconditionFailure("\(filter) does not stand in device")
    }
  }

  private func number(_ reference: FilterReference, in numbers: [UTF8String: Int64]) -> Int64? {
    switch reference {
    case .number(let number, _): number
    case .name(let name, _): numbers[name]
    }
  }

  private func isIn(_ segment: FilterReference, _ contact: Contact) -> Bool {
    guard let number = number(segment, in: segmentNumbers) else { return false }
    return segmentFilters[number].map { matches($0, contact) } ?? contact.segments.contains(number)
  }

  /// `filter_bucket` of PostgreSQL's `hashint8extended`.
  public static func bucket(of contact: Int64) -> Int {
    let hash = HashOfInt8.extended(contact, seed: 20_261_201)
    return Int((hash % 100 + 100) % 100)
  }
}

// MARK: Comparisons

extension FilterModel {
  private enum Value {
    case unset, text(String), moment(Int64), boolean(Bool), property(JSONValue)
  }

  private func value(of field: FilterField, _ contact: Contact) -> Value {
    switch field {
    case .contact(let field): Self.text(contact.texts[field])
    case .originalId: .text(contact.originalId)
    case .dateOfBirth: contact.dateOfBirth.map { .moment($0.milliseconds) } ?? .unset
    case .createdAt: .moment(contact.createdAt)
    case .updatedAt: .moment(contact.updatedAt)
    case .property(let name): contact.properties[name].map { $0 == .null ? .unset : .property($0) } ?? .unset
    case .device: preconditionFailure("\(field) stands outside of device")
    }
  }

  private static func value(of field: DeviceFilterField, _ device: Device) -> Value {
    switch field {
    case .app: .text(device.app)
    case .platform: .text(device.platform.name)
    case .manufacturer: text(device.manufacturer)
    case .model: text(device.model)
    case .osVersion: text(device.osVersion)
    case .country: text(device.country)
    case .sandbox: .boolean(device.sandbox)
    case .registeredAt: .moment(device.registeredAt)
    }
  }

  private static func text(_ text: String?) -> Value { text.map { .text($0) } ?? .unset }

  private func compare(_ value: Value, _ comparison: FilterComparison) -> Bool {
    switch comparison {
    case .compare(let op, let literal): order(value, literal).map { Self.holds(op, $0) } ?? false
    case .oneOf(let literals): literals.contains { order(value, $0) == 0 }
    case .contains(let pattern):
      search(value, pattern) { text, pattern in
        pattern.isEmpty || text.indices.contains { text[$0...].starts(with: pattern) }
      }
    case .startsWith(let pattern): search(value, pattern) { $0.starts(with: $1) }
    case .endsWith(let pattern): search(value, pattern) { $0.reversed().starts(with: $1.reversed()) }
    case .isSet: if case .unset = value { false } else { true }
    case .isNotSet: if case .unset = value { true } else { false }
    case .within(let window):
      moment(value).map { moment in
        let span = Int64(window.span.seconds) * 1000
        return window.direction == .last ? (now - span...now).contains(moment) : (now...now + span).contains(moment)
      } ?? false
    }
  }

  /// Below 0 if the value is less than the literal, 0 if both are equal, above 0 if it is greater; nil if it is of another type.
  private func order(_ value: Value, _ literal: FilterLiteral) -> Int? {
    switch literal {
    case .text(let text): plainText(value).map { Self.order(Array($0.utf8), Array(text.text.utf8)) }
    case .version(let version):
      plainText(value).flatMap(Self.parts).flatMap { parts in Self.parts(version.text).map { Self.order(parts, $0) } }
    case .boolean(let flag): boolean(value).map { $0 == flag ? 0 : 1 }
    case .number(let number):
      self.number(value).flatMap { value in ExactNumber(number.text).map { value.order(to: $0) } }
    case .date(let day):
      moment(value).map { moment in
        moment < day.milliseconds ? -1 : moment < day.milliseconds + 86_400_000 ? 0 : 1
      }
    }
  }

  private static func order<Element: Comparable>(_ one: [Element], _ other: [Element]) -> Int {
    one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
  }

  private static func holds(_ op: FilterOperator, _ order: Int) -> Bool {
    switch op {
    case .equal: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    }
  }

  private func compare(_ op: FilterOperator, _ one: Int, _ other: Int) -> Bool { Self.holds(op, one - other) }

  private func search(_ value: Value, _ pattern: UTF8String, _ isFound: ([UInt8], [UInt8]) -> Bool) -> Bool {
    plainText(value).map { isFound(Self.folded($0), Self.folded(pattern.text)) } ?? false
  }

  /// In lower and then in upper case, each character by itself.
  static func folded(_ text: String) -> [UInt8] {
    let small = text.unicodeScalars.map(\.properties.lowercaseMapping).joined()
    return Array(small.unicodeScalars.map(\.properties.uppercaseMapping).joined().utf8)
  }

  private func plainText(_ value: Value) -> String? {
    switch value {
    case .text(let text), .property(.string(let text)): text
    default: nil
    }
  }

  private func boolean(_ value: Value) -> Bool? {
    switch value {
    case .boolean(let flag), .property(.bool(let flag)): flag
    default: nil
    }
  }

  private func number(_ value: Value) -> ExactNumber? {
    switch value {
    case .property(.number(let number)): ExactNumber(number.text)
    case .property(.string(let text)): ExactNumber(text)
    default: nil
    }
  }

  private func moment(_ value: Value) -> Int64? {
    switch value {
    case .moment(let moment): moment
    case .property(.number(let number)):
      ExactNumber(number.text)?.integer.flatMap { CarmaDate.range.contains($0) ? $0 : nil }
    case .property(.string(let text)): Self.moment(text)
    default: nil
    }
  }

  private static func moment(_ text: String) -> Int64? {
    let digits = text.utf8.drop { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
    let isNumber = !digits.isEmpty && digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    if isNumber && digits.count > 18 || text.utf8.last == UInt8(ascii: ":") { return nil }
    return CarmaDate(text)?.milliseconds
  }

  /// The parts of a version without zeros at the end; nil for another text.
  private static func parts(_ version: String) -> [ExactNumber]? {
    let parts = version.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(digits.contains) }) else { return nil }
    var numbers = parts.compactMap { ExactNumber(String(Substring($0))) }
    while numbers.last?.isZero == true { numbers.removeLast() }
    return numbers
  }

  // MARK: Time

  private func isBirthday(_ value: Value, _ window: FilterWindow) -> Bool {
    guard let born = moment(value).flatMap(Self.day), let today = Self.day(of: now) else { return false }
    return (0...window.span.amount).contains { distance in
      let day = CalendarDay(number: today.number + (window.direction == .next ? distance : -distance))
      return day.map { Self.isBirthday(born, on: $0) } ?? false
    }
  }

  private static func isBirthday(_ born: CalendarDay, on day: CalendarDay) -> Bool {
    let (birthday, today) = (born.description.suffix(5), day.description.suffix(5))
    if birthday == "02-29", today == "03-01" {
      return CalendarDay("\(day.description.prefix(4))-02-29") == nil
    }
    return birthday == today
  }

  private static func day(of moment: Int64) -> CalendarDay? {
    CalendarDay(number: Int((Double(moment) / 86_400_000).rounded(.down)))
  }

  /// Whether the best of a contact's pushes of the sendout came as far as is asked for.
  private static func meets(_ outcome: FilterOutcome, _ pushes: [Push]) -> Bool {
    let pushes = pushes.filter { $0.sendout == outcome.sendout }
    let best = pushes.map { push in
      if push.openedAt != nil { return 6 }
      return switch push.state {
      case .accepted: 5
      case .queued, .waiting: 4
      case .uncertain: 3
      case .failed: 2
      case .skipped: 1
      case .cancelled: 0
      }
    }.max()
    return switch outcome.kind {
    case .any: best != nil
    case .opened: best == 6
    case .notOpened: best == 5
    case .uncertain: best == 3
    case .failed: best == 2
    case .skipped: best == 1
    case .suppressed, .heldOut, .capped, .quiet, .missed, .expired, .noWinner:
      (best == 0 || best == 1)
        && pushes.contains { $0.reason?.split(separator: " ").first.map(String.init) == outcome.kind.reason?.rawValue }
    }
  }

  private func count(_ activity: FilterActivity, _ pushes: [Push]) -> Int {
    let named = pushes.filter { activity.sendout == nil || $0.sendout == activity.sendout }
    if let most = activity.ofLast {
      let received = named.filter { $0.acceptedAt != nil }.sorted { one, other in
        (one.acceptedAt ?? 0, one.sendout, one.number) > (other.acceptedAt ?? 0, other.sendout, other.number)
      }
      return received.prefix(most).count(where: { activity.kind == .received || $0.openedAt != nil })
    }
    let earliest = activity.within.map { now - Int64($0.seconds) * 1000 }
    let moments = named.compactMap { activity.kind == .received ? $0.acceptedAt : $0.openedAt }
    return moments.count(where: { moment in earliest.map { ($0...now).contains(moment) } ?? true })
  }
}

/// A decimal number of any size, exactly.
struct ExactNumber: Comparable {
  private let isNegative: Bool
  /// From 0 to 9, without zeros at either end; none for zero.
  private let digits: [UInt8]
  /// The power of ten of the first digit.
  private let magnitude: Int

  /// Reads `[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`, of at most 6000 bytes and with an exponent of at most four digits.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    func takeDigits(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      rest = rest.dropFirst(digits.count)
      return digits.isEmpty ? nil : digits.map { $0 - UInt8(ascii: "0") }
    }
    func take(_ marks: String, _ rest: inout ArraySlice<UInt8>) -> UInt8? {
      guard let byte = rest.first, marks.utf8.contains(byte) else { return nil }
      rest = rest.dropFirst()
      return byte
    }
    guard rest.count <= 6000 else { return nil }
    let sign = take("+-", &rest)
    guard let whole = takeDigits(&rest) else { return nil }
    var fraction: [UInt8] = []
    if take(".", &rest) != nil {
      guard let digits = takeDigits(&rest) else { return nil }
      fraction = digits
    }
    var exponent = 0
    if take("eE", &rest) != nil {
      let sign = take("+-", &rest)
      guard let digits = takeDigits(&rest)?.drop(while: { $0 == 0 }), digits.count <= 4 else { return nil }
      exponent = digits.reduce(0) { $0 * 10 + Int($1) } * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
    guard rest.isEmpty else { return nil }
    let all = whole + fraction
    let leading = all.prefix { $0 == 0 }.count
    var significant = all.dropFirst(leading)
    while significant.last == 0 { significant.removeLast() }
    digits = Array(significant)
    magnitude = digits.isEmpty ? 0 : whole.count - 1 - leading + exponent
    isNegative = sign == UInt8(ascii: "-") && !digits.isEmpty
  }

  var isZero: Bool { digits.isEmpty }

  /// The number if it is a whole one of at most 18 digits.
  var integer: Int64? {
    if isZero { return 0 }
    guard magnitude >= digits.count - 1, magnitude < 18 else { return nil }
    let number = (0...magnitude).reduce(Int64(0)) { $0 * 10 + ($1 < digits.count ? Int64(digits[$1]) : 0) }
    return isNegative ? -number : number
  }

  func order(to other: ExactNumber) -> Int { self == other ? 0 : self < other ? -1 : 1 }

  static func < (one: ExactNumber, other: ExactNumber) -> Bool {
    if one.isNegative != other.isNegative { return one.isNegative }
    if one.isNegative { return isNearerToZero(other, one) }
    return isNearerToZero(one, other)
  }

  private static func isNearerToZero(_ one: ExactNumber, _ other: ExactNumber) -> Bool {
    if one.isZero || other.isZero { return one.isZero && !other.isZero }
    if one.magnitude != other.magnitude { return one.magnitude < other.magnitude }
    return one.digits.lexicographicallyPrecedes(other.digits)
  }
}

/// PostgreSQL's `hashint8extended`, by Bob Jenkins' lookup3 (src/common/hashfn.c).
enum HashOfInt8 {
  static func extended(_ value: Int64, seed: UInt64) -> Int64 {
    let bits = UInt64(bitPattern: value)
    let high = UInt32(truncatingIfNeeded: bits >> 32)
    let word = UInt32(truncatingIfNeeded: bits) ^ (value >= 0 ? high : ~high)
    var (a, b, c): (UInt32, UInt32, UInt32) = (0x9E37_79B9 &+ 4 &+ 3_923_095, 0, 0)
    (b, c) = (a, a)
    a &+= UInt32(truncatingIfNeeded: seed >> 32)
    b &+= UInt32(truncatingIfNeeded: seed)
    mix(&a, &b, &c)
    a &+= word
    finish(&a, &b, &c)
    return Int64(bitPattern: UInt64(b) << 32 | UInt64(c))
  }

  private static func mix(_ a: inout UInt32, _ b: inout UInt32, _ c: inout UInt32) {
    func step(_ x: inout UInt32, _ y: inout UInt32, _ z: UInt32, _ turn: UInt32) {
      x &-= y
      x ^= turned(y, turn)
      y &+= z
    }
    step(&a, &c, b, 4)
    step(&b, &a, c, 6)
    step(&c, &b, a, 8)
    step(&a, &c, b, 16)
    step(&b, &a, c, 19)
    step(&c, &b, a, 4)
  }

  private static func finish(_ a: inout UInt32, _ b: inout UInt32, _ c: inout UInt32) {
    func step(_ x: inout UInt32, _ y: UInt32, _ turn: UInt32) {
      x ^= y
      x &-= turned(y, turn)
    }
    step(&c, b, 14)
    step(&a, c, 11)
    step(&b, a, 25)
    step(&c, b, 16)
    step(&a, c, 4)
    step(&b, a, 14)
    step(&c, b, 24)
  }

  private static func turned(_ word: UInt32, _ places: UInt32) -> UInt32 { word << places | word >> (32 - places) }
}
