import FoundationEssentials
import Operations
import Wire

/// What waits for a person, and what is due by month: starts, decisions about variants, ends, and further times of series.
enum CalendarPages {
  static let pages = [calendar]
  static let actions: [ConsoleAction] = []

  private static let path = "/console/calendar"
  /// Entries of a day in the picture of a month, and lines of a list: a page has 60 KiB.
  private static let mostOfDay = 4
  private static let mostOfList = 80
  private static let mostWaiting = 20
  private static let longestName = 60
  private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

  private enum Form: String, CaseIterable { case month, list }

  private static let calendar = ConsolePage(
    path: path, title: "Calendar", section: .calendar, reads: [AnyOperation(CampaignOperations.calendar)],
    query: ["month", "view", "from"]
  ) { call in
    let form = try call.given("view", Form.self) ?? .month
    let today = call.day(of: Timestamp(Date()))
    let month = try call.given("month").map { try Month($0) } ?? today.map { Month(of: $0) } ?? Month("1970-01")
    let days = form == .month ? month.weeks : month.days
    let first = try call.given("from").map { try day($0, in: month) } ?? days.lowerBound
    guard let from = call.midnight(of: first), let to = call.midnight(of: days.upperBound) else {
      throw HTTPErrorResponse.badRequest("month is too far away.")
    }
    let found = try await call.read(CampaignOperations.calendar, (from, to))
    let entries = found.entries.compactMap { Entry($0, call) }
    let here = entries.filter { month.days.contains($0.day) }
    func link(_ month: Month, as other: Form? = nil, from: CalendarDay? = nil) -> String {
      let view = (other ?? form) == .list ? Form.list.rawValue : nil
      return ConsolePath.path(
        path, ["month": month.description, "view": view, "from": from.map { "\($0)" }])
    }
    let isOver = found.isMore || here.count > mostOfList
    let last = here.prefix(mostOfList).last?.day
    return ConsoleView(
      title: "Calendar", template: "calendar",
      values: [
        "title": month.title, "previous": month.previous.map { link($0) } ?? "",
        "next": month.next.map { link($0) } ?? "", "today": path, "zone": call.zone.name,
        "views": Form.allCases.map { other in
          ["href": link(month, as: other), "title": other.rawValue.inWords, "isCurrent": other == form] as [String: Any]
        },
        "grid": form == .month && !here.isEmpty
          ? [grid(month, entries, today: today) { link(month, as: .list, from: $0) }] : [],
        "list": form == .list && !here.isEmpty
          ? [
            [
              "rows": here.prefix(mostOfList).map(\.values), "isOver": isOver,
              "later": isOver && last.map { $0 > first } == true ? link(month, as: .list, from: last) : "",
              "laterDay": last.map { call.words($0) } ?? "",
            ]
          ] : [],
        "waiting": found.waiting.isEmpty
          ? []
          : [
            [
              "rows": found.waiting.prefix(mostWaiting).map { waiting($0, call) },
              "more": found.waiting.count > mostWaiting ? "\(found.waiting.count - mostWaiting)" : "",
            ]
          ], "isOver": found.isMore && form == .month,
        "empty": here.isEmpty ? [empty(month, call)] : [],
      ],
      sql: """
        SELECT sendout_id, name, state, next_at, start_at, local_time, end_at, series_id
          FROM sendout WHERE customer_id = \(call.customer) AND next_at < '\(to)' ORDER BY next_at;
        """)
  }

  private static func day(_ text: String, in month: Month) throws -> CalendarDay {
    guard let day = CalendarDay(text), month.days.contains(day) else {
      throw HTTPErrorResponse.badRequest("from must be a day of the month, such as \(month.days.lowerBound).")
    }
    return day
  }

  private static func grid(
    _ month: Month, _ entries: [Entry], today: CalendarDay?, list: (CalendarDay) -> String
  ) -> [String: Any] {
    let ofDay = Dictionary(grouping: entries, by: \.day)
    let days = (month.weeks.lowerBound.number..<month.weeks.upperBound.number).compactMap { CalendarDay(number: $0) }
    let weeks = stride(from: 0, to: days.count, by: 7).map { start -> [String: Any] in
      let cells = zip(weekdays, days[start..<min(start + 7, days.count)]).map { weekday, day -> [String: Any] in
        let entries = ofDay[day] ?? []
        let isHere = month.days.contains(day)
        return [
          "day": day.description, "number": Int(day.description.suffix(2)) ?? 0, "month": Month(of: day).title,
          "weekday": weekday, "shortMonth": String(Month(of: day).title.prefix(3)),
          "isToday": day == today, "isOther": !isHere, "entries": entries.prefix(mostOfDay).map(\.values),
          "more": entries.count > mostOfDay && isHere ? "\(entries.count - mostOfDay)" : "",
          "href": isHere ? list(day) : "",
        ]
      }
      return ["cells": cells]
    }
    return ["weeks": weeks, "weekdays": weekdays.map { ["name": $0] }]
  }

  private static func waiting(_ sendout: WaitingSendout, _ call: ConsoleCall) -> [String: Any] {
    let reason = sendout.haltReason.flatMap { HaltReason($0) }
    var row: [String: Any] = [
      "href": "/console/sendouts/\(sendout.sendoutId)", "name": shown(sendout.name),
      "id": sendout.sendoutId.description, "state": sendout.state.badge, "at": call.until(sendout.since),
      "reason": sendout.haltReason ?? "",
    ]
    if sendout.haltReason == nil {
      row["sentence"] = "No variant has won."
      row["advice"] = "Choose the one that all others get, or cancel the sendout."
    } else {
      row["sentence"] = reason?.sentence ?? "The hub stopped it:"
      row["advice"] = reason?.advice ?? "Correct what the reason names, then resume the sendout."
    }
    return row
  }

  private static func shown(_ name: String) -> String {
    name.unicodeScalars.count > longestName ? String(name.unicodeScalars.prefix(longestName)) + "…" : name
  }

  private static func empty(_ month: Month, _ call: ConsoleCall) -> [String: Any] {
    [
      "title": "Nothing is due in \(month.title)",
      "text":
        "A sendout with a time stands here from its schedule on, with the decision about its variants and its end.",
      "command": """
      pushcart send --customer \(call.customer) --app com.acme.app --all --alert 'Hello' --local-time 2026-12-24T18:30
      """,
      "link": call.allows(SendoutOperations.add)
        ? [["href": SendoutPages.composer, "label": "New sendout"] as [String: Any]] : [],
    ]
  }

  /// An entry with the day in the customer's zone at which it stands.
  private struct Entry {
    let day: CalendarDay
    let values: [String: Any]

    init?(_ entry: CalendarEntry, _ call: ConsoleCall) {
      guard let day = entry.localTime?.day ?? call.day(of: entry.at) else { return nil }
      self.day = day
      let word =
        switch entry.event {
        case .start: entry.isExpected ? "Expected" : "Starts"
        case .decision: "Winner"
        case .end: "Ends"
        }
      var values: [String: Any] = [
        "href": "/console/sendouts/\(entry.sendoutId)",
        "name": CalendarPages.shown(entry.name),
        "id": entry.sendoutId.description, "word": word, "state": entry.state.badge, "isExpected": entry.isExpected,
        "series": entry.seriesId.map { "\($0)" } ?? "", "day": call.words(day),
        "time": entry.localTime.map { "\($0.time)" } ?? String(call.zone.field(entry.at.date).suffix(5)),
        "isLocal": entry.localTime != nil, "tone": entry.event == .start && !entry.isExpected ? "ok" : "idle",
      ]
      if entry.localTime == nil { values["at"] = call.until(entry.at) }
      self.values = values
    }
  }
}

/// A month, in whatever zone.
private struct Month: CustomStringConvertible {
  private let first: CalendarDay

  /// - Throws: `HTTPErrorResponse` (400).
  init(_ text: String) throws {
    guard text.utf8.count == 7, let first = CalendarDay(text + "-01") else {
      throw HTTPErrorResponse.badRequest("month must be a month such as 2026-12.")
    }
    self.first = first
  }

  init(of day: CalendarDay) { first = CalendarDay(number: day.number - (day.dayOfMonth - 1)) ?? day }

  /// As in `2026-12`.
  var description: String { String(first.description.prefix(7)) }

  /// As in `December 2026`.
  var title: String {
    let names = [
      "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
      "December",
    ]
    return "\(names[(Int(description.suffix(2)) ?? 1) - 1]) \(description.prefix(4))"
  }

  var next: Month? { CalendarDay(number: first.number + 31).map(Month.init(of:)) }
  var previous: Month? { CalendarDay(number: first.number - 1).map(Month.init(of:)) }

  var days: Range<CalendarDay> { first..<(next?.first ?? first) }

  /// The whole weeks that it is in, from Monday on.
  var weeks: Range<CalendarDay> {
    let start = first.number - first.weekday
    let end = days.upperBound.number
    let last = end + (7 - (end - start) % 7) % 7
    return (CalendarDay(number: start) ?? first)..<(CalendarDay(number: last) ?? days.upperBound)
  }
}

extension CalendarDay {
  /// 0 for Monday; 1970-01-01 was a Thursday.
  fileprivate var weekday: Int { ((number + 3) % 7 + 7) % 7 }
  fileprivate var dayOfMonth: Int { Int(description.suffix(2)) ?? 1 }
}

extension ConsoleCall {
  /// The day that clocks of the customer's zone show.
  fileprivate func day(of moment: Timestamp) -> CalendarDay? {
    CalendarDay(String(zone.field(moment.date).prefix(10)))
  }

  /// When a day begins in the customer's zone.
  fileprivate func midnight(of day: CalendarDay) -> Timestamp? { zone.moment(ofField: "\(day)T00:00") }

  /// As in `24 Dec 2026`.
  fileprivate func words(_ day: CalendarDay) -> String { ConsoleZone().day(day.date) }
}
