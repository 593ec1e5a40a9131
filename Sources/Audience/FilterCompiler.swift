import Delivery
import Registry
import Wire

/// Makes SQL of a filter, from an allow-list: whatever a user wrote becomes a literal.
///
/// NULL means false: WHERE, AND and OR treat both alike. NOT does not, so it becomes IS NOT TRUE where the condition can be NULL.
struct FilterCompiler {
  /// A condition as SQL that can stand beside any operator.
  struct Condition {
    let sql: String
    /// Whether it can be NULL.
    let isNullable: Bool

    init(_ sql: String, isNullable: Bool = true) {
      self.sql = sql
      self.isNullable = isNullable
    }

    static let never = Condition("false", isNullable: false)
  }

  private(set) var literals: [String] = []
  /// What the conditions need beside the row `contact`.
  private(set) var join = ""
  /// Of every segment that the filter names.
  private let segments: SegmentDefinitions
  /// Whether segments inside become a call of `report.segment_contacts`, so that later changes of them count.
  private let callsSegments: Bool
  /// Whether it is for statements about one contact.
  private let isOfOne: Bool
  /// How many segments are around what is compiled. `Segments` refuses circles, so this is for a database that has one nonetheless.
  private var level = 0

  init(_ segments: SegmentDefinitions, callsSegments: Bool = false, ofOne isOfOne: Bool = false) {
    self.segments = segments
    self.isOfOne = isOfOne
    self.callsSegments = callsSegments
  }

  mutating func condition(_ filter: Filter) -> Condition {
    switch filter {
    case .everyone: Condition("true", isNullable: false)
    case .and(let parts): joined(parts, "AND")
    case .or(let parts): joined(parts, "OR")
    case .not(let part): negated(condition(part))
    case .compare(let field, let comparison): condition(field, comparison)
    case .birthday(let field, let window): birthday(field, window)
    case .list(let list): Condition(ContactConditions.isOnList(number(list)), isNullable: false)
    case .segment(let segment): self.segment(segment)
    case .device(let inside): Condition(ContactConditions.hasDevice(condition(inside).sql), isNullable: false)
    case .activity(let activity): self.activity(activity)
    case .bucket(let from, let to):
      Condition(
        "(\(Self.bucket) >= \(integer(Int64(from))) AND \(Self.bucket) < \(integer(Int64(to))))", isNullable: false)
    }
  }

  private mutating func joined(_ parts: [Filter], _ word: String) -> Condition {
    var conditions: [Condition] = []
    for part in parts { conditions.append(condition(part)) }
    return Condition(
      "(\(conditions.map(\.sql).joined(separator: " \(word) ")))", isNullable: conditions.contains { $0.isNullable })
  }

  private func negated(_ condition: Condition) -> Condition {
    Condition(condition.isNullable ? "(\(condition.sql) IS NOT TRUE)" : "(NOT \(condition.sql))", isNullable: false)
  }

  static let bucket = "filter_bucket(contact.contact_id)"

  private mutating func segment(_ reference: FilterReference) -> Condition {
    guard case .number(let number) = reference else { return .never }
    if callsSegments {
      return Condition(
        """
        (contact.contact_id IN (SELECT inside.contact_id
                                  FROM report.segment_contacts($1::bigint, \(integer(number))) AS inside))
        """, isNullable: false)
    }
    switch segments[number] {
    case nil: return .never
    case .members:
      return Condition(MemberTable.segment.isMember("contact.contact_id", of: integer(number)), isNullable: false)
    case .filter(let filter):
      guard level < Segments.mostLevels else { return .never }
      level += 1
      defer { level -= 1 }
      return condition(filter)
    }
  }

  private mutating func activity(_ activity: FilterActivity) -> Condition {
    if isOfOne {
      return Condition(
        ActivitySQL.conditionOfOne(activity, now: FilterSQL.nowMark) { self.integer($0) }, isNullable: false)
    }
    join = ActivitySQL.join
    return Condition(
      ActivitySQL.condition(activity, now: FilterSQL.nowMark) { self.integer($0) }, isNullable: false)
  }

  private mutating func birthday(_ field: FilterField, _ window: FilterWindow) -> Condition {
    let today = "(\(FilterSQL.nowMark) AT TIME ZONE 'UTC')::date"
    guard let day = day(field) else { return .never }
    let distance = "filter_days_to_birthday(\(day), \(today), \(window.direction == .next))"
    return Condition("(\(distance) <= \(integer(Int64(window.span.amount))))")
  }

  // MARK: - Literals

  /// SQL of a text.
  mutating func literal(_ text: String) -> String {
    literals.append(text)
    return "(\(FilterSQL.literalsMark))[\(literals.count)]"
  }

  mutating func integer(_ number: Int64) -> String { "\(literal(String(number)))::bigint" }

  private mutating func number(_ reference: FilterReference) -> String {
    // Names have become numbers before: see `Segments.resolve`.
    guard case .number(let number) = reference else { return "NULL::bigint" }
    return integer(number)
  }

  /// SQL of the moment at which a day begins, so many days later.
  mutating func moment(_ day: CalendarDay, plus days: Int = 0) -> String {
    "((date '1970-01-01' + \(literal(String(day.number + days)))::int)::timestamp AT TIME ZONE 'UTC')"
  }
}

extension FilterCompiler {
  /// Looks at a contact's activity and devices: for tests, which prepare every statement.
  static let sample = ResolvedFilter(
    .and([.activity(FilterActivity(.received, count: 3, within: FilterSpan(30, .days))), .device(.everyone)])
  ).sql
}
