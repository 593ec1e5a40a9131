import Delivery
import Registry
import Wire

/// Conditions on a field, and what a contact has there.
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
  mutating func day(_ field: FilterField) -> String? {
    if field == .dateOfBirth { return ContactConditions.dateOfBirth }
    return switch operand(field) {
    case .moment(let moment): "(\(moment) AT TIME ZONE 'UTC')::date"
    case .property(let name): "(filter_moment(\(ContactConditions.property(name))) AT TIME ZONE 'UTC')::date"
    case .text, .boolean: nil
    }
  }

  mutating func condition(_ field: FilterField, _ comparison: FilterComparison) -> Condition {
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
    // Most columns are ASCII, which needs none of Unicode's rules: that takes a third of the time.
    if case .text(let sql) = operand {
      let folded =
        "CASE WHEN octet_length(\(sql)) = length(\(sql)) THEN upper(\(sql) COLLATE \"C\") ELSE filter_fold(\(sql)) END"
      return "(\(body("(\(folded))", searched)))"
    }
    return ofText(operand) { body("filter_fold(\($0))", searched) }
  }

  private mutating func compared(_ operand: Operand, _ op: FilterOperator, _ value: FilterLiteral) -> String {
    switch value {
    case .text(let text):
      let literal = literal(text.text)
      return ofText(operand) { "\($0) COLLATE \"C\" \(op.sql) \(literal)" }
    case .version(let version):
      let literal = literal(version.text)
      return ofText(operand) { text in
        let parts =
          text == ContactConditions.column(.osVersion) ? ContactConditions.osVersionParts : "filter_version(\(text))"
        return "\(parts) \(op.sql) filter_version(\(literal))"
      }
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
    case .everyone, .and, .or, .not, .list, .segment, .device, .outcome: return nil
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
