import ArgumentParser
import Operations
import Sendouts
import Wire

extension ReportOperations: CommandedOperations {
  static var commands: [Command] { [ReportCommand.self, AlarmsCommand.self, ActivityCommand.self] }
}

struct ReportCommand: OperationCommand {
  static let operation = ReportOperations.show
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Show a report, with the same numbers as schema report in psql.",
    discussion: """
      devices, registrations and invalidations by day, sendouts, funnel, failures, opens by hour, campaigns, variants, local_times, left_out \
      and caps of sendouts, subscriptions and notifications of data trees, messages to telephone numbers (hybrid), suppressions, and the \
      timeline of one contact. The newest rows come first; days and hours are UTC.

      Example: pushcart report opens --customer 1 --sendout 7
      """)

  @Argument(help: "Name of the report.") var report: Report
  @Option(help: "Number of the customer.") var customer: CustomerID
  @Option(help: "Only this sendout; for the reports of sendouts, but not caps.") var sendout: SendoutID?
  @Option(parsing: .unconditional, help: "Original id of the timeline's contact.") var contact: String?
  @Option(help: "Number of rows, up to 1000.") var limit = Reports.usualLimit
  @OptionGroup var options: ManagementOptions

  func validate() throws {
    guard Reports.limits.contains(limit) else { throw ValidationError("--limit is a number from 1 to 1000.") }
    guard (report == .timeline) == (contact != nil) else {
      throw ValidationError("--contact belongs to the timeline, which needs it.")
    }
  }

  var target: (((String, SendoutID?), String?), Int?) { (((report.rawValue, sendout), contact), limit) }

  func text(_ reply: ReportReply) -> String { reply.text }
}

struct AlarmsCommand: OperationCommand {
  static let operation = ReportOperations.alarms
  static let configuration = CommandConfiguration(
    commandName: "alarms", abstract: "List what needs attention, and what helps.",
    discussion: "Example: pushcart alarms --customer 1")

  @OptionGroup var common: CustomerOptions

  var customer: CustomerID { common.customer }
  var options: ManagementOptions { common.options }

  func text(_ reply: AlarmsReply) -> String {
    var table = TextTable("Since (UTC)", "What", "Reason", "What helps", "Command")
    for alarm in reply.alarms {
      table.add(alarm.since.forPeople, alarm.title, alarm.reason, alarm.fix, alarm.command)
    }
    return table.text(empty: "Nothing needs attention.")
  }
}

struct ActivityCommand: OperationCommand {
  static let operation = ReportOperations.activity
  static let configuration = CommandConfiguration(
    commandName: "activity", abstract: "Show pushes, opens and new devices of the last days.",
    discussion: "Days are UTC.\n\nExample: pushcart activity --customer 1 --days 7")

  @OptionGroup var common: CustomerOptions
  @Option(help: "Number of days.") var days: Int32 = 30

  var customer: CustomerID { common.customer }
  var options: ManagementOptions { common.options }
  var target: Int32? { days }

  func validate() throws {
    guard ReportOperations.days.contains(days) else {
      throw ValidationError("--days is a number from 1 to \(ReportOperations.days.upperBound).")
    }
  }

  func text(_ reply: ActivityReply) -> String {
    var table = TextTable("Day", "#Pushes", "#Opens", "#New devices")
    for day in reply.days { table.add(day.day, "\(day.sent)", "\(day.opened)", "\(day.registered)") }
    return table.text(empty: "There is nothing to show.")
  }
}

extension ReportReply {
  /// The report as a table, without columns that are empty in every row.
  var text: String {
    let columns = ReportView.of(report).columns.map(\.name).filter { name in
      rows.contains { $0[name].map { $0 != .null } ?? false }
    }
    var table = TextTable(
      columns.map { name in
        TextTable.Column(title: Self.title(name), isNumber: rows.contains { $0[name]?.isNumber == true })
      })
    for row in rows { table.rows.append(columns.map { row[$0]?.cell ?? "–" }) }
    return table.text(empty: "There is nothing to report.")
  }

  /// `First opens` for `firstOpens`.
  private static func title(_ name: String) -> String {
    name.reduce(into: "") { title, letter in
      title += letter.isUppercase ? " \(letter.lowercased())" : title.isEmpty ? letter.uppercased() : String(letter)
    }
  }
}

extension JSONValue {
  fileprivate var isNumber: Bool {
    switch self {
    case .number: true
    default: false
    }
  }

  /// As a table shows it: moments to the second.
  fileprivate var cell: String {
    switch self {
    case .null: "–"
    case .bool(let value): "\(value)"
    case .number(let value): value.text
    case .string(let value) where value.utf8.count == 24 && value.hasSuffix("Z"):
      String(value.prefix(19)).replacing("T", with: " ")
    case .string(let value): value
    case .array, .object: "…"
    }
  }
}
