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

  /// Which contacts a statement looks at, and so how what stands in other tables is found.
  enum Reach: Hashable {
    /// Any number.
    case all
    /// So few that the rows of each are looked up, where the planner would read a whole table or sendout.
    case few
    /// Those whose numbers meet this SQL, as in `BETWEEN 1 AND 9`. Other tables are read in the same range alone: the planner does not see by
    /// itself that a contact's rows there have its number.
    case numbers(String)

    fileprivate var range: String? { if case .numbers(let range) = self { range } else { nil } }
  }

  private(set) var literals: [String] = []
  /// What the conditions need beside the row `contact`.
  private(set) var join = ""
  /// Of every segment that the filter names.
  private let segments: SegmentDefinitions
  /// Whether segments inside become a call of `report.segment_contacts`, so that later changes of them count.
  private let callsSegments: Bool
  private let reach: Reach
  /// Whether what a text implies of an index stands beside it.
  private let namesIndexes: Bool
  /// Whether activity is counted in the ledger, contact by contact: in statements about one contact, and of contacts with notes.
  private var countsInLedger: Bool
  /// How many segments are around what is compiled. `Segments` refuses circles, so this is for a database that has one nonetheless.
  private var level = 0

  init(
    _ segments: SegmentDefinitions, callsSegments: Bool = false, ofOne isOfOne: Bool = false, reach: Reach = .all,
    namingIndexes namesIndexes: Bool = false
  ) {
    self.namesIndexes = namesIndexes
    self.segments = segments
    self.reach = reach
    countsInLedger = isOfOne
    self.callsSegments = callsSegments
  }

  /// The condition of a whole filter.
  ///
  /// Whether a contact has a note is asked once, of all conditions that read the roll-up: to answer it, PostgreSQL hashes the notes, for which
  /// it keeps to no limit. A million of them take 135 MB, and would take it for each condition. What else all contacts have to meet stands beside
  /// it, where the planner finds it.
  mutating func whole(_ filter: Filter) -> Condition {
    let parts = parts(of: filter)
    var conditions = namesIndexes ? parts.compactMap { indexed($0) } : []
    let rolledUp = parts.filter { readsRollUp($0) }
    guard !countsInLedger, !rolledUp.isEmpty else {
      let condition = condition(filter)
      return conditions.isEmpty ? condition : Self.joined(conditions + [condition], "AND")
    }
    join = reach == .few ? ActivitySQL.lookUp : ActivitySQL.join(within: reach.range)
    for part in parts where !readsRollUp(part) { conditions.append(condition(part)) }
    countsInLedger = true
    let byLedger = joined(rolledUp, "AND")
    countsInLedger = false
    let byRow = joined(rolledUp, "AND")
    conditions.append(
      Condition(
        "(CASE WHEN \(ActivitySQL.hasChanged) THEN \(byLedger.sql) ELSE \(byRow.sql) END)",
        isNullable: byLedger.isNullable || byRow.isNullable))
    return Self.joined(conditions, "AND")
  }

  /// What a condition implies that an index of contacts has.
  private mutating func indexed(_ filter: Filter) -> Condition? {
    guard case .compare(.contact(let field), .compare(.equal, .text(let text))) = filter,
      let condition = ContactConditions.indexed(where: field)
    else { return nil }
    return Condition("(\(condition(literal(text.text))))")
  }

  /// What all has to be met, those of segments inside as well.
  private func parts(of filter: Filter, level: Int = 0) -> [Filter] {
    switch filter {
    case .and(let parts): return parts.flatMap { self.parts(of: $0, level: level) }
    case .segment(let segment):
      guard level < Segments.mostLevels, let inside = inside(segment) else { return [filter] }
      return parts(of: inside, level: level + 1)
    default: return [filter]
    }
  }

  /// The filter of a segment that is compiled in place; nil for others.
  private func inside(_ reference: FilterReference) -> Filter? {
    guard !callsSegments, case .number(let number, _) = reference, case .filter(let filter)? = segments[number] else {
      return nil
    }
    return filter
  }

  private func readsRollUp(_ filter: Filter, level: Int = 0) -> Bool {
    filter.conditions.contains { condition in
      switch condition {
      case .activity(let activity): activity.sendout == nil
      case .segment(let segment):
        level < Segments.mostLevels && inside(segment).map { readsRollUp($0, level: level + 1) } == true
      default: false
      }
    }
  }

  mutating func condition(_ filter: Filter) -> Condition {
    switch filter {
    case .everyone: Condition("true", isNullable: false)
    case .and(let parts): joined(parts, "AND")
    case .or(let parts): joined(parts, "OR")
    case .not(let part): negated(condition(part))
    case .compare(let field, let comparison): condition(field, comparison)
    case .birthday(let field, let window): birthday(field, window)
    case .list(let list): Condition(ContactConditions.isOnList(number(list), within: reach.range), isNullable: false)
    case .segment(let segment): self.segment(segment)
    case .device(let inside):
      Condition(ContactConditions.hasDevice(condition(inside).sql, within: reach.range), isNullable: false)
    case .activity(let activity): self.activity(activity)
    case .outcome(let outcome):
      Condition(
        ActivitySQL.condition(outcome, byContact: reach == .few, within: reach.range) { self.integer($0) },
        isNullable: false)
    case .bucket(let from, let to):
      Condition(
        "(\(Self.bucket) >= \(integer(Int64(from))) AND \(Self.bucket) < \(integer(Int64(to))))", isNullable: false)
    }
  }

  private mutating func joined(_ parts: [Filter], _ word: String) -> Condition {
    var conditions: [Condition] = []
    for part in parts { conditions.append(condition(part)) }
    return Self.joined(conditions, word)
  }

  private static func joined(_ conditions: [Condition], _ word: String) -> Condition {
    Condition(
      "(\(conditions.map(\.sql).joined(separator: " \(word) ")))", isNullable: conditions.contains { $0.isNullable })
  }

  private func negated(_ condition: Condition) -> Condition {
    Condition(condition.isNullable ? "(\(condition.sql) IS NOT TRUE)" : "(NOT \(condition.sql))", isNullable: false)
  }

  static let bucket = "filter_bucket(contact.contact_id)"

  private mutating func segment(_ reference: FilterReference) -> Condition {
    guard case .number(let number, _) = reference else { return .never }
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
      return Condition(
        MemberTable.segment.isMember("contact.contact_id", of: integer(number), within: reach.range), isNullable: false)
    case .filter(let filter):
      guard level < Segments.mostLevels else { return .never }
      level += 1
      defer { level -= 1 }
      return condition(filter)
    }
  }

  private mutating func activity(_ activity: FilterActivity) -> Condition {
    let isOfOne = countsInLedger || reach == .few && activity.sendout != nil
    return Condition(
      isOfOne
        ? ActivitySQL.conditionOfOne(activity, now: FilterSQL.nowMark) { self.integer($0) }
        : ActivitySQL.condition(activity, now: FilterSQL.nowMark, within: reach.range) { self.integer($0) },
      isNullable: false)
  }

  /// That the birthday is on a day of the window. The birthdays of these days are found once, as month and day.
  private mutating func birthday(_ field: FilterField, _ window: FilterWindow) -> Condition {
    guard let day = day(field) else { return .never }
    let today = "(\(FilterSQL.nowMark) AT TIME ZONE 'UTC')::date"
    let days = "\(literal(String(window.span.amount)))::int"
    return Condition(
      """
      (to_char(\(day)::timestamp, 'MMDD') IN (
        SELECT filter_birthdays(\(today) \(window.direction == .next ? "+" : "-") away) FROM generate_series(0, \(days)) AS away))
      """)
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
    guard case .number(let number, _) = reference else { return "NULL::bigint" }
    return integer(number)
  }

  /// SQL of the moment at which a day begins, so many days later.
  mutating func moment(_ day: CalendarDay, plus days: Int = 0) -> String {
    "((date '1970-01-01' + \(literal(String(day.number + days)))::int)::timestamp AT TIME ZONE 'UTC')"
  }
}

extension FilterCompiler {
  /// Looks at a contact's activity and devices: for tests, which prepare every statement.
  static let sample = sample(for: .all)

  static func sample(for reach: Reach) -> FilterSQL {
    ResolvedFilter(
      .and([
        .activity(FilterActivity(.received, count: 3, within: FilterSpan(30, .days))), .device(.everyone),
        .activity(FilterActivity(.opened, sendout: 7)), .outcome(FilterOutcome(.failed, of: 7)),
      ])
    ).sql(for: reach)
  }
}
