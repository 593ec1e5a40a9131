import Operations
import Wire

/// The customer's quiet hours and caps in the form of settings.
enum LimitForm {
  static let quietFields = [
    FormField(
      "quietHours.start", label: "Quiet from", hint: "Such as 21:00. Empty, as the next field, for no quiet hours."),
    FormField("quietHours.end", label: "Quiet until", hint: "Such as 08:00, of the next day if it is earlier."),
    FormField(
      "quietHours.policy", label: "What falls into them",
      kind: .choice([
        FormField.Choice(QuietPolicy.hold.rawValue, "It waits, and goes when they end"),
        FormField.Choice(QuietPolicy.skip.rawValue, "It is not sent"),
      ]), isRequired: true),
  ]

  private static let both = "both"

  /// Those of one rule.
  private static func capFields(_ row: Int) -> [FormField] {
    [
      FormField("caps[\(row)].count", label: "Most messages", kind: .number),
      FormField("caps[\(row)].per", label: "Span", kind: .number),
      FormField(
        "caps[\(row)].unit", label: "Unit of the span",
        kind: .choice([FormField.Choice("h", "hours"), FormField.Choice("d", "days")]), isRequired: true),
      FormField(
        "caps[\(row)].purpose", label: "Which messages",
        kind: .choice([
          FormField.Choice(MessagePurpose.marketing.rawValue, "Marketing"),
          FormField.Choice(MessagePurpose.transactional.rawValue, "Transactional"),
          FormField.Choice(both, "All"),
        ]), isRequired: true),
    ]
  }

  static let fields = quietFields + (0..<Cap.maximumCount).flatMap(capFields)

  /// What the fields have at first.
  static func values(_ customer: CustomerReply) -> [String: String?] {
    var values: [String: String?] = [
      "quietHours.start": customer.quietHours?.start.description,
      "quietHours.end": customer.quietHours?.end.description,
      "quietHours.policy": (customer.quietHours?.policy ?? .hold).rawValue,
    ]
    for row in 0..<Cap.maximumCount {
      let cap = row < customer.caps.count ? customer.caps[row] : nil
      let span = cap?.per.description
      values["caps[\(row)].count"] = cap.map { "\($0.count)" }
      values["caps[\(row)].per"] = span.map { String($0.dropLast()) }
      values["caps[\(row)].unit"] = span.map { String($0.suffix(1)) } ?? "h"
      values["caps[\(row)].purpose"] = cap.map { $0.purpose?.rawValue ?? both } ?? MessagePurpose.marketing.rawValue
    }
    return values
  }

  // MARK: What was typed

  /// - Returns: `nil` for none.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  static func quietHours(_ form: FormValues) throws -> QuietHours? {
    let names = ["quietHours.start", "quietHours.end"]
    let texts = names.map { name in form.text(name).map { String($0.trimmed) }.flatMap { $0.isEmpty ? nil : $0 } }
    guard texts.contains(where: { $0 != nil }) else { return nil }
    let times = try zip(names, texts).map { name, text in
      guard let text else { throw HTTPErrorResponse.badRequest("\(name) is missing: give both times, or neither.") }
      guard let time = TimeOfDay(text) else {
        throw HTTPErrorResponse.badRequest("\(name) must be a time of day such as 21:00.")
      }
      return time
    }
    guard times[0] != times[1] else {
      throw HTTPErrorResponse.badRequest(
        "quietHours.end is when they begin: give another time, or leave both empty for no quiet hours.")
    }
    return QuietHours(start: times[0], end: times[1], policy: try form.choice("quietHours.policy") ?? .hold)
  }

  /// The rules, without rows in which nothing was typed.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  static func caps(_ form: FormValues) throws -> [Cap] {
    var caps: [Cap] = []
    for row in 0..<Cap.maximumCount {
      guard let cap = try cap(form, row) else { continue }
      guard !caps.contains(cap) else {
        throw HTTPErrorResponse.badRequest(
          "caps[\(row)].count repeats a rule above: leave it empty.")
      }
      caps.append(cap)
    }
    return caps
  }

  private static func cap(_ form: FormValues, _ row: Int) throws -> Cap? {
    let (count, per, unit) = ("caps[\(row)].count", "caps[\(row)].per", form.text("caps[\(row)].unit") ?? "h")
    let (number, span): (Int?, Int?) = (try form.number(count), try form.number(per))
    if number == nil, span == nil { return nil }
    guard let number, Cap.counts.contains(Int64(number)) else {
      throw HTTPErrorResponse.badRequest(
        "\(count) must be a whole number from \(Cap.counts.lowerBound) to \(Cap.counts.upperBound).")
    }
    guard let span, let period = CapPeriod("\(span)\(unit)") else {
      throw HTTPErrorResponse.badRequest("\(per) must be 1 to 720 hours or 1 to 30 days.")
    }
    let purpose = form.text("caps[\(row)].purpose") ?? both
    return Cap(count: number, per: period, purpose: MessagePurpose(rawValue: purpose))
  }

  // MARK: What it means

  /// For the template: the rules with their sentences, and the empty ones behind the first of these apart.
  /// - Parameters:
  ///   - form: as `ConsoleCall.formView` makes it.
  ///   - caps: what the page has been asked for, or what is saved.
  static func rows(_ form: [String: Any], _ caps: (Int) -> Cap?) -> (shown: [[String: Any]], more: [[String: Any]]) {
    let rows = (0..<Cap.maximumCount).map { row -> (isUsed: Bool, values: [String: Any]) in
      let fields = capFields(row).compactMap { form[$0.name] as? [String: Any] }
      let isTyped = fields.prefix(2).contains {
        ($0["value"] as? String ?? "") != "" || ($0["error"] as? String ?? "") != ""
      }
      return (isTyped, ["number": row + 1, "fields": fields, "sentence": caps(row).map(sentence) ?? ""])
    }
    let used = (rows.lastIndex { $0.isUsed } ?? -1) + 2
    return (rows.prefix(used).map(\.values), rows.dropFirst(used).map(\.values))
  }

  /// The rule of a row as it is typed, if it can be read.
  static func typed(_ form: FormValues, _ row: Int) -> Cap? { try? cap(form, row) }

  static func sentence(_ cap: Cap) -> String {
    let count = cap.count
    let span = cap.span.replacing(" days", with: " days of 24 hours")
    let what =
      switch cap.purpose {
      case .marketing:
        count == 1 ? "One marketing sendout or message" : "At most \(count) marketing sendouts and messages"
      case .transactional:
        count == 1
          ? "One transactional sendout or message" : "At most \(count) transactional sendouts and messages"
      case nil: count == 1 ? "One sendout or message" : "At most \(count) sendouts and messages of either purpose"
      }
    return """
      \(what) \(count == 1 ? "reaches" : "reach") a contact within any \(span). Whoever would get more is left out of the rest as \
      \u{201C}capped \(cap.name)\u{201D}.
      """
  }

  static func sentence(_ hours: QuietHours?) -> String {
    guard let hours else { return "There are no quiet hours: marketing goes at any time of the day." }
    let minutes = (hours.end.minutes - hours.start.minutes + 1440) % 1440
    let parts = [(minutes / 60, "hour"), (minutes % 60, "minute")].filter { $0.0 > 0 }
      .map { "\($0) \($1)\($0 == 1 ? "" : "s")" }
    let night = hours.end < hours.start ? " the next day" : ""
    let span =
      "from \(hours.start) to \(hours.end)\(night), \(parts.joined(separator: " and ")) by each recipient's own clock"
    return hours.policy == .skip
      ? "Marketing is not sent \(span). Transactional messages go at any time."
      : "Marketing waits \(span). It goes when they end, spread over 15 minutes. Transactional messages go at any time."
  }
}

extension Cap {
  /// As in `24 hours`, `7 days` and `hour`.
  fileprivate var span: String {
    let hours = per.hours
    return per.description.hasSuffix("d") && hours > 24
      ? "\(hours / 24) days" : hours == 1 ? "hour" : "\(hours) hours"
  }

  /// As in `3 marketing messages per 24 hours`.
  var words: String {
    let kind = purpose.map { "\($0.rawValue) " } ?? ""
    return "\(count) \(kind)message\(count == 1 ? "" : "s") per \(span)"
  }
}
