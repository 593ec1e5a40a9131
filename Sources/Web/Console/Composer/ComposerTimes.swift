import Operations
import Wire

// When a sendout goes and how often it may reach somebody, as the composer's form has it.
extension ComposerForm {
  /// When it goes. What the form says of other ways is left out of the request.
  enum When: String, CaseIterable {
    case now, moment, local
  }

  /// Which quiet hours hold.
  private enum Quiet: String {
    case customer, set, lifted
  }

  /// Names of the fields that say when it goes, but for those of what repeats.
  static let times = ["when", "startAt", "startAt.exact", "localTime", "onMissed"]
  /// Names of the fields that only what has a time needs.
  static let repetitions = ["repeat.every", "repeat.on", "repeat.days", "repeat.until", "lateMinutes"]
  /// Names of the fields of its pace.
  static let paces = ["endAt", "endAt.exact", "spreadMinutes", "ratePerSecond"]
  static let limits = [
    "quietHours", "quietHours.start", "quietHours.end", "quietHours.policy", "ignoreCaps", "holdoutPercent",
    "pauseAtFailed",
  ]

  /// - Parameter customer: whose zone, quiet hours and caps the hints name.
  static func campaignFields(_ customer: CustomerReply) -> [FormField] {
    whenFields(customer) + limitFields(customer)
  }

  private static func whenFields(_ customer: CustomerReply) -> [FormField] {
    let request = SendoutRequest.form
    let weekdays = zip(
      Weekday.allCases, ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"])
    return [
      FormField(
        "when", label: "When",
        kind: .choice([
          FormField.Choice(When.now.rawValue, "As soon as it is sent"),
          FormField.Choice(When.moment.rawValue, "At a moment"),
          FormField.Choice(When.local.rawValue, "At the same time by each contact's own clock"),
        ]), isRequired: true),
      request.field("startAt", label: "Moment", hint: "In the zone \(customer.timeZone)."),
      FormField("startAt.exact", label: "Moment", kind: .hidden),
      request.field(
        "localTime", label: "Local time", kind: .moment,
        hint: "By each contact's own clock. Where nobody told a zone it is \(customer.timeZone)."),
      request.field(
        "onMissed", label: "Where that is over already",
        kind: .choice([
          FormField.Choice(MissedPolicy.skip.rawValue, "They get nothing"),
          FormField.Choice(MissedPolicy.now.rawValue, "They get it at the start"),
          FormField.Choice(MissedPolicy.nextDay.rawValue, "They get it a day later"),
        ]), hint: "They get nothing if none is chosen."),
      FormField(
        "repeat.every", label: "Repeat",
        kind: .choice([
          FormField.Choice(RepetitionUnit.day.rawValue, "Each day"),
          FormField.Choice(RepetitionUnit.week.rawValue, "Each week"),
          FormField.Choice(RepetitionUnit.month.rawValue, "Each month"),
        ]), hint: "Once if none is chosen. Each time is a sendout of its own."),
      FormField(
        "repeat.on", label: "Days of the week",
        kind: .choices(weekdays.map { FormField.Choice($0.rawValue, $1) }),
        hint: "That of the first time if none is ticked."),
      FormField(
        "repeat.days", label: "Days of the month",
        hint: "As in 1, 15, 31. A month without such a day has it on its last. That of the first time if empty."),
      FormField("repeat.until", label: "Last day", hint: "As in 2027-06-30. Until somebody ends it if empty."),
      request.field(
        "lateMinutes", label: "Minutes that it may be late",
        hint: """
          Counted where hubs or the database were away: what would be later is not sent. \(CampaignFields.usualLateMinutes) if empty.
          """),
      request.field("endAt", label: "End", hint: "Nothing leaves after it. In the zone \(customer.timeZone)."),
      FormField("endAt.exact", label: "End", kind: .hidden),
      request.field("spreadMinutes", label: "Spread over minutes", hint: "Evenly. At once if empty."),
      request.field("ratePerSecond", label: "Pushes a second", hint: "As many as go if empty."),
    ]
  }

  private static func limitFields(_ customer: CustomerReply) -> [FormField] {
    let caps = customer.caps.map(\.words).joined(separator: ", ")
    let request = SendoutRequest.form
    return [
      FormField(
        "quietHours", label: "Quiet hours",
        kind: .choice([
          FormField.Choice(Quiet.customer.rawValue, "The customer's: \(customer.quietHours?.choiceText ?? "none")"),
          FormField.Choice(Quiet.set.rawValue, "Others"), FormField.Choice(Quiet.lifted.rawValue, "None at all"),
        ]), hint: "By the recipient's clock, and for marketing alone. The audit log has who lifts them.",
        isRequired: true),
      FormField("quietHours.start", label: "Quiet from", hint: "As in 21:00.", limits: 5...5),
      FormField("quietHours.end", label: "Quiet until", hint: "As in 08:00, perhaps of the next day.", limits: 5...5),
      FormField(
        "quietHours.policy", label: "What falls into them",
        kind: .choice([
          FormField.Choice(QuietPolicy.hold.rawValue, "Waits until they end"),
          FormField.Choice(QuietPolicy.skip.rawValue, "Is not sent"),
        ]), hint: "It waits if none is chosen."),
      request.field(
        "ignoreCaps", label: "Reach also contacts whom caps would leave out",
        hint: "Caps of the customer: \(caps.isEmpty ? "none" : caps). It counts all the same, and the audit log has it."
      ),
      request.field(
        "holdoutPercent", label: "Held out, in percent", hint: "Drawn by lot. They get nothing, to compare with."),
      FormField(
        "pauseAtFailed", label: "Pause at failures, in percent",
        hint: """
          Of the last 1,000 outcomes, from 500 on. \(percent(CampaignFields.usualPauseAtFailed)) if empty, and 100 for never.
          """),
    ]
  }

  // MARK: Requests

  /// When it goes, as the form says.
  var when: When {
    get throws { try values.choice("when") ?? .now }
  }

  /// Times, limits and variants, as a request has them.
  /// - Throws: what becomes a 400 that names the field.
  func campaign() throws -> [UTF8String: JSONValue] {
    var members = try times()
    members["endAt"] = try moment("endAt")
    for name in ["spreadMinutes", "ratePerSecond", "holdoutPercent"] {
      members[UTF8String(name)] = try number(name)
    }
    members["quietHours"] = try quietHours()
    if values.flag("ignoreCaps") { members["ignoreCaps"] = .bool(true) }
    members["pauseAtFailed"] = try share("pauseAtFailed")
    members.merge(try variantMembers()) { $1 }
    return members
  }

  private func times() throws -> [UTF8String: JSONValue] {
    let when = try when
    guard when != .now else {
      guard values.text("repeat.every") == nil else {
        throw HTTPErrorResponse.badRequest(
          "repeat.every needs a moment or a local time, which says when the first time is: choose one, or no repetition."
        )
      }
      return [:]
    }
    var members: [UTF8String: JSONValue] = [:]
    if when == .moment {
      guard let moment = try moment("startAt") else {
        throw HTTPErrorResponse.badRequest("startAt is missing: say at which moment it starts.")
      }
      members["startAt"] = moment
    } else {
      guard let time = values.text("localTime") else {
        throw HTTPErrorResponse.badRequest("localTime is missing: say which day and time clocks are to show.")
      }
      members["localTime"] = .string(String(time.trimmed))
      members["onMissed"] = values.text("onMissed").map { .string($0) }
    }
    members["repeat"] = try repetition()
    members["lateMinutes"] = try number("lateMinutes")
    return members
  }

  private func repetition() throws -> JSONValue? {
    guard let unit = try values.choice("repeat.every", RepetitionUnit.self) else { return nil }
    var members: [UTF8String: JSONValue] = ["every": .string(unit.rawValue)]
    let days: [JSONValue] =
      switch unit {
      case .day: []
      case .week: values.all("repeat.on").map { .string($0) }
      case .month:
        try (values.text("repeat.days") ?? "").split(whereSeparator: { " ,\n".contains($0) }).map { text in
          guard let day = Int(text), (1...31).contains(day) else {
            throw HTTPErrorResponse.badRequest("repeat.days must be days of the month, such as 1, 15, 31.")
          }
          return .integer(day)
        }
      }
    if !days.isEmpty { members["on"] = .array(days) }
    members["until"] = values.text("repeat.until").map { .string(String($0.trimmed)) }
    return .object(members)
  }

  /// - Returns: null for none; `nil` for the customer's.
  private func quietHours() throws -> JSONValue? {
    switch values.text("quietHours").flatMap(Quiet.init(rawValue:)) ?? .customer {
    case .customer: return nil
    case .lifted: return .some(.null)
    case .set:
      var members: [UTF8String: JSONValue] = [:]
      for name in ["start", "end"] {
        guard let time = values.text("quietHours.\(name)") else {
          throw HTTPErrorResponse.badRequest("quietHours.\(name) is missing: give a time of day, such as 21:00.")
        }
        members[UTF8String(name)] = .string(String(time.trimmed))
      }
      members["policy"] = values.text("quietHours.policy").map { .string($0) }
      return .object(members)
    }
  }

  /// A moment of the customer's zone. A field has no seconds, so one that was left as it is stays as exact as it was.
  private func moment(_ name: String) throws -> JSONValue? {
    let exact = values.text("\(name).exact").flatMap { Timestamp($0) }
    if let exact, let typed = values.text(name), zone.field(exact.date).hasSameBytes(as: typed) {
      return .string(exact.description)
    }
    return try values.moment(name, in: zone).map { .string($0.description) }
  }

  func number(_ name: String) throws -> JSONValue? {
    try values.number(name, Int64.self).map { .integer($0) }
  }

  /// A share that is typed in percent.
  private func share(_ name: String) throws -> JSONValue? {
    guard let text = values.text(name) else { return nil }
    guard let percent = Double(String(text.trimmed)), percent > 0, percent <= 100 else {
      throw HTTPErrorResponse.badRequest("\(name) must be more than 0 and at most 100.")
    }
    return try JSONValue(json: Array("\(percent / 100)".utf8))
  }

  // MARK: Drafts

  /// What the fields have of a draft's times and limits.
  static func values(of campaign: CampaignFields, _ zone: ConsoleZone) -> [String: [String]] {
    var values: [String: String?] = [
      "when": (campaign.startAt != nil ? When.moment : campaign.localTime != nil ? .local : .now).rawValue,
      "localTime": campaign.localTime?.description, "onMissed": campaign.onMissed?.rawValue,
      "repeat.every": campaign.repeat?.every.rawValue, "repeat.until": campaign.repeat?.until?.description,
      "lateMinutes": campaign.lateMinutes.map { "\($0)" }, "spreadMinutes": campaign.spreadMinutes.map { "\($0)" },
      "ratePerSecond": campaign.ratePerSecond.map { "\($0)" }, "ignoreCaps": campaign.ignoreCaps == true ? "true" : nil,
      "holdoutPercent": campaign.holdoutPercent.map { "\($0)" },
      "pauseAtFailed": campaign.pauseAtFailed.map { percent($0) }, "quietHours": Quiet.customer.rawValue,
    ]
    for (name, moment) in [("startAt", campaign.startAt), ("endAt", campaign.endAt)] {
      values[name] = moment.map { zone.field($0.date) }
      values["\(name).exact"] = moment?.description
    }
    switch campaign.quietHours {
    case nil: break
    case .lifted: values["quietHours"] = Quiet.lifted.rawValue
    case .set(let hours):
      values["quietHours"] = Quiet.set.rawValue
      values["quietHours.start"] = hours.start.description
      values["quietHours.end"] = hours.end.description
      values["quietHours.policy"] = hours.policy?.rawValue
    }
    let days = campaign.repeat?.monthDays ?? []
    if !days.isEmpty { values["repeat.days"] = days.map { "\($0)" }.joined(separator: ", ") }
    var all = values.compactMapValues { $0.map { [$0] } }
    all["repeat.on"] = campaign.repeat?.isoDays?.map { Weekday.allCases[$0 - 1].rawValue }
    return all
  }

  /// A share in percent, as in `20` and `12.5`.
  private static func percent(_ share: Double) -> String {
    let thousandths = Int((share * 100_000).rounded())
    var text = "\(thousandths / 1000).\(String(thousandths % 1000 + 1000).dropFirst())"
    while text.hasSuffix("0") { text.removeLast() }
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}

extension QuietHours {
  /// As in `21:00 to 08:00, held until they end`.
  fileprivate var choiceText: String { "\(start) to \(end), " + (policy == .skip ? "not sent" : "held until they end") }
}
