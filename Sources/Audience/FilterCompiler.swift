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
  /// Whether activity is counted in the ledger, contact by contact: in statements about one contact, and of contacts with notes.
  private var countsInLedger: Bool
  /// How many segments are around what is compiled. `Segments` refuses circles, so this is for a database that has one nonetheless.
  private var level = 0

  init(_ segments: SegmentDefinitions, callsSegments: Bool = false, ofOne isOfOne: Bool = false) {
    self.segments = segments
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
    let rolledUp = parts.filter { readsRollUp($0) }
    guard !countsInLedger, !rolledUp.isEmpty else { return condition(filter) }
    join = ActivitySQL.join
    var conditions: [Condition] = []
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
    guard !callsSegments, case .number(let number) = reference, case .filter(let filter)? = segments[number] else {
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
    return Self.joined(conditions, word)
  }

  private static func joined(_ conditions: [Condition], _ word: String) -> Condition {
    Condition(
      "(\(conditions.map(\.sql).joined(separator: " \(word) ")))", isNullable: conditions.contains { $0.isNullable })
  }

  private func negated(_ condition: Condition) -> Condition {
    Condition(condition.isNullable ? "(\(condition.sql) IS NOT TRUE)" : "(NOT \(condition.sql))", isNullable: false)
  }

  private static let bucket = "filter_bucket(contact.contact_id)"

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
    Condition(
      countsInLedger
        ? ActivitySQL.conditionOfOne(activity, now: FilterSQL.nowMark) { self.integer($0) }
        : ActivitySQL.condition(activity, now: FilterSQL.nowMark) { self.integer($0) }, isNullable: false)
  }

  private mutating func birthday(_ field: FilterField, _ window: FilterWindow) -> Condition {
    let today = "(\(FilterSQL.nowMark) AT TIME ZONE 'UTC')::date"
    guard let day = day(field) else { return .never }
    let distance = "filter_days_to_birthday(\(day), \(today), \(window.direction == .next))"
    return Condition("(\(distance) <= \(integer(Int64(window.span.amount))))")
  }

  // MARK: - Literals

  /// SQL of a text.
  private mutating func literal(_ text: String) -> String {
    literals.append(text)
    return "(\(FilterSQL.literalsMark))[\(literals.count)]"
  }

  private mutating func integer(_ number: Int64) -> String { "\(literal(String(number)))::bigint" }

  private mutating func number(_ reference: FilterReference) -> String {
    // Names have become numbers before: see `Segments.resolve`.
    guard case .number(let number) = reference else { return "NULL::bigint" }
    return integer(number)
  }

  /// SQL of the moment at which a day begins, so many days later.
  private mutating func moment(_ day: CalendarDay, plus days: Int = 0) -> String {
    "((date '1970-01-01' + \(literal(String(day.number + days)))::int)::timestamp AT TIME ZONE 'UTC')"
  }
}

extension FilterCompiler {
  /// Looks at a contact's activity and devices: for tests, which prepare every statement.
  static let sample = ResolvedFilter(
    .and([.activity(FilterActivity(.received, count: 3, within: FilterSpan(30, .days))), .device(.everyone)])
  ).sql
}

// MARK: - Comparisons

extension FilterCompiler {
  /// What a field holds, as SQL that is NULL where it is unset.
  private enum Operand {
    case text(String)
    case moment(String)
    case boolean(String)
    /// The SQL of its name.
    case property(String)
  }

  private mutating func operand(_ field: FilterField) -> Operand {
    switch field {
    case .contact(let field): .text(ContactConditions.column(field))
    case .originalId: .text(ContactConditions.originalID)
    case .dateOfBirth: .moment("(\(ContactConditions.dateOfBirth)::timestamp AT TIME ZONE 'UTC')")
    case .createdAt: .moment(ContactConditions.createdAt)
    case .updatedAt: .moment(ContactConditions.updatedAt)
    case .property(let name): .property(literal(name.text))
    case .device(let field):
      switch field {
      case .app: .text(ContactConditions.appID)
      case .platform: .text(ContactConditions.platform)
      case .sandbox: .boolean("device.sandbox")
      case .registeredAt: .moment("device.registered_at")
      case .manufacturer, .model, .osVersion, .country: .text(ContactConditions.column(field) ?? "NULL::text")
      }
    }
  }

  /// The day of a field in UTC.
  private mutating func day(_ field: FilterField) -> String? {
    if field == .dateOfBirth { return ContactConditions.dateOfBirth }
    return switch operand(field) {
    case .moment(let moment): "(\(moment) AT TIME ZONE 'UTC')::date"
    case .property(let name): "(filter_moment(\(ContactConditions.property(name))) AT TIME ZONE 'UTC')::date"
    case .text, .boolean: nil
    }
  }

  private mutating func condition(_ field: FilterField, _ comparison: FilterComparison) -> Condition {
    let operand = operand(field)
    let found = condition(operand, comparison)
    switch field {
    case .device(.app), .device(.platform): return Condition(ContactConditions.appIs(found.sql), isNullable: false)
    default: return found
    }
  }

  private mutating func condition(_ operand: Operand, _ comparison: FilterComparison) -> Condition {
    switch comparison {
    case .compare(let op, let value): Condition(compared(operand, op, value))
    case .oneOf(let values): Condition(oneOf(operand, values))
    case .contains(let text): Condition(folded(operand, text) { "strpos(\($0), \($1)) > 0" })
    case .startsWith(let text): Condition(folded(operand, text) { "starts_with(\($0), \($1))" })
    case .endsWith(let text): Condition(folded(operand, text) { "right(\($0), length(\($1))) = \($1)" })
    case .isSet: Condition("(\(raw(operand)) IS NOT NULL)", isNullable: false)
    case .isNotSet: Condition("(\(raw(operand)) IS NULL)", isNullable: false)
    case .within(let window): Condition(within(operand, window))
    }
  }

  private func raw(_ operand: Operand) -> String {
    switch operand {
    case .text(let sql), .moment(let sql), .boolean(let sql): sql
    case .property(let name): ContactConditions.propertyText(name)
    }
  }

  /// A condition on a text; of a property, that it is a text as well.
  private func ofText(_ operand: Operand, _ body: (String) -> String) -> String {
    switch operand {
    case .text(let sql): "(\(body(sql)))"
    case .property(let name):
      // The type is looked at only where the text fits, as each look reads the JSON.
      "(\(body(ContactConditions.propertyText(name))) AND json_typeof(\(ContactConditions.property(name))) = 'string')"
    case .moment, .boolean: "false"
    }
  }

  private mutating func folded(
    _ operand: Operand, _ text: UTF8String, _ body: (String, String) -> String
  ) -> String {
    let searched = "filter_fold(\(literal(text.text)))"
    return ofText(operand) { body("filter_fold(\($0))", searched) }
  }

  private mutating func compared(_ operand: Operand, _ op: FilterOperator, _ value: FilterLiteral) -> String {
    switch value {
    case .text(let text):
      let literal = literal(text.text)
      return ofText(operand) { "\($0) COLLATE \"C\" \(op.sql) \(literal)" }
    case .version(let version):
      let literal = literal(version.text)
      return ofText(operand) { "filter_version(\($0)) \(op.sql) filter_version(\(literal))" }
    case .number(let number):
      guard case .property(let name) = operand else { return "false" }
      return "(filter_number(\(ContactConditions.propertyText(name))) \(op.sql) \(literal(number.text))::numeric)"
    case .boolean(let isTrue):
      switch operand {
      case .boolean(let sql): return "(\(sql) \(op.sql) \(isTrue))"
      case .property(let name):
        let property = "\(ContactConditions.property(name))::text"
        return "(\(property) IN ('true', 'false') AND (\(property) = 'true') \(op.sql) \(isTrue))"
      case .text, .moment: return "false"
      }
    case .date(let day): return compared(moment(operand), op, day)
    }
  }

  /// SQL of the moment that a field holds.
  private func moment(_ operand: Operand) -> String? {
    switch operand {
    case .moment(let sql): sql
    case .property(let name): "filter_moment(\(ContactConditions.property(name)))"
    case .text, .boolean: nil
    }
  }

  /// A day equals all of its moments.
  private mutating func compared(_ moment: String?, _ op: FilterOperator, _ day: CalendarDay) -> String {
    guard let moment else { return "false" }
    switch op {
    case .equal: return "(\(moment) >= \(self.moment(day)) AND \(moment) < \(self.moment(day, plus: 1)))"
    case .notEqual: return "(\(moment) < \(self.moment(day)) OR \(moment) >= \(self.moment(day, plus: 1)))"
    case .less: return "(\(moment) < \(self.moment(day)))"
    case .lessOrEqual: return "(\(moment) < \(self.moment(day, plus: 1)))"
    case .greater: return "(\(moment) >= \(self.moment(day, plus: 1)))"
    case .greaterOrEqual: return "(\(moment) >= \(self.moment(day)))"
    }
  }

  private mutating func within(_ operand: Operand, _ window: FilterWindow) -> String {
    guard let moment = moment(operand) else { return "false" }
    let (now, span) = (FilterSQL.nowMark, "make_interval(secs => \(integer(Int64(window.span.seconds))))")
    return switch window.direction {
    case .last: "(\(moment) BETWEEN \(now) - \(span) AND \(now))"
    case .next: "(\(moment) BETWEEN \(now) AND \(now) + \(span))"
    }
  }

  /// Texts and numbers are compared with all of their kind at once.
  private mutating func oneOf(_ operand: Operand, _ values: [FilterLiteral]) -> String {
    var (texts, numbers, others): ([String], [String], [String]) = ([], [], [])
    for value in values {
      switch (value, operand) {
      case (.text(let text), _): texts.append(literal(text.text))
      case (.number(let number), .property): numbers.append("\(literal(number.text))::numeric")
      default: others.append(compared(operand, .equal, value))
      }
    }
    if !texts.isEmpty {
      others.append(ofText(operand) { "\($0) COLLATE \"C\" = ANY (ARRAY[\(texts.joined(separator: ", "))])" })
    }
    if !numbers.isEmpty, case .property(let name) = operand {
      let number = "filter_number(\(ContactConditions.propertyText(name)))"
      others.append("(\(number) = ANY (ARRAY[\(numbers.joined(separator: ", "))]))")
    }
    return others.isEmpty ? "false" : "(\(others.joined(separator: " OR ")))"
  }
}

// MARK: - Explaining

extension FilterCompiler {
  /// SQL of what a contact has where a condition looks; nil where there is nothing to show.
  mutating func value(_ filter: Filter) -> String? {
    switch filter {
    case .compare(let field, _): return value(of: field)
    case .birthday(let field, _): return value(of: field)
    case .activity(let activity):
      return "\(ActivitySQL.count(activity, now: FilterSQL.nowMark) { self.integer($0) })::text"
    case .bucket: return "\(Self.bucket)::text"
    case .everyone, .and, .or, .not, .list, .segment, .device: return nil
    }
  }

  private mutating func value(of field: FilterField) -> String? {
    if field == .dateOfBirth { return "to_char(\(ContactConditions.dateOfBirth), 'YYYY-MM-DD')" }
    return switch operand(field) {
    case .text(let sql): sql
    case .moment(let sql): #"to_char(\#(sql) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"#
    case .property(let name): ContactConditions.propertyText(name)
    case .boolean(let sql): "\(sql)::text"
    }
  }
}
