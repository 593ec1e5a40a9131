import ArgumentParser
import Operations
import Wire

extension SendoutCommand {
  struct Campaign: OperationCommand {
    static let operation = CampaignOperations.figures
    static let configuration = CommandConfiguration(
      abstract: "Show what became of a sendout's variants, zones and limits.",
      discussion: """
        Contacts are counted, and not pushes. Of a large sendout a part of them is counted.

        Example: pushcart sendout campaign 7 --customer 1
        """)
    @OptionGroup var named: SendoutOptions
    @Flag(help: "Count all pushes of a large sendout, which takes some seconds.") var exact = false

    var customer: CustomerID { named.customer }
    var target: (SendoutID, Bool) { (named.sendout, exact) }
    var options: ManagementOptions { named.options }

    func text(_ figures: CampaignFigures) -> String {
      var variants = TextTable(
        "Variant", "#Share", "#Contacts", "#Accepted", "#Opened", "#Rate", "Interval", "At the decision")
      for variant in figures.variants {
        let now = variant.counts
        variants.add(
          variant.name, "\(variant.share) %", "\(variant.contacts)", now.map { "\($0.accepted)" },
          now.map { "\($0.opened)" }, now.map { percent($0.rate) },
          now.map { "\(percent($0.low)) to \(percent($0.high))" },
          variant.atDecision.map { "\(percent($0.rate)), \($0.opened) of \($0.accepted)" })
      }
      if let rest = figures.waiting, rest > 0 {
        let shares = figures.variants.reduce(0) { $0 + $1.share }
        variants.add("the rest", "\(100 - shares) %", "\(rest)", nil, nil, nil, nil, nil)
      }
      var zones = TextTable("Zone", "Told by", "Planned (UTC)", "#Contacts", "#Accepted", "#Opened")
      for zone in figures.zones {
        zones.add(
          zone.zone, zone.source.rawValue, zone.plannedAt?.forPeople, "\(zone.contacts)",
          zone.accepted.map { "\($0)" }, zone.opened.map { "\($0)" })
      }
      var leftOut = TextTable("Left out", "#Contacts", "#At the start", "Filter")
      for line in figures.leftOut {
        leftOut.add(line.reason, "\(line.contacts)", line.atFreeze.map { "\($0)" }, line.text)
      }
      let parts =
        (figures.isEstimate ? ["A part of the pushes is counted; --exact counts all.\n"] : [])
        + (figures.variants.isEmpty ? [] : [variants.text(empty: "")])
        + (figures.sizesFit == false ? ["The groups do not fit their shares.\n"] : [])
        + (figures.zones.isEmpty ? [] : [zones.text(empty: "")]) + [leftOut.text(empty: "Nobody was left out.")]
      return parts.joined(separator: "\n")
    }

    private func percent(_ share: Double) -> String {
      let tenths = Int((share * 1000).rounded())
      return "\(tenths / 10).\(tenths % 10) %"
    }
  }

  struct Calendar: OperationCommand {
    static let operation = CampaignOperations.calendar
    static let configuration = CommandConfiguration(
      abstract: "Show what is due: starts, decisions about variants, and ends; and what waits for a person.",
      discussion: "Example: pushcart sendout calendar --customer 1 --from 2026-12-01T00:00:00Z")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "The first moment, as in 2026-12-01T00:00:00Z. (default: now)") var from: Timestamp?
    @Option(help: "The moment before which it ends, as in 2027-01-01T00:00:00Z. (default: 31 days later)")
    var to: Timestamp?
    @OptionGroup var options: ManagementOptions

    var target: (Timestamp?, Timestamp?) { (from, to) }

    func text(_ calendar: CampaignCalendar) -> String {
      let columns: [TableColumn<CalendarEntry>] = [
        TableColumn("When (UTC)") { $0.at.forPeople },
        TableColumn("What") { $0.isExpected ? "expected" : $0.event.rawValue },
        TableColumn("#Sendout") { "\($0.sendoutId)" }, TableColumn("Name") { $0.name },
        TableColumn("Local time") { $0.localTime.map { "\($0)" } },
        TableColumn("#Series") { $0.seriesId.map { "\($0)" } },
      ]
      let due = TextTable(columns, of: calendar.entries).text(empty: "Nothing is due.")
      guard !calendar.waiting.isEmpty else { return due }
      let waiting: [TableColumn<WaitingSendout>] = [
        TableColumn("#Waits for a person") { "\($0.sendoutId)" }, TableColumn("Name") { $0.name },
        TableColumn("Since (UTC)") { $0.since.forPeople },
        TableColumn("Why") { $0.haltReason ?? "no variant has won: choose a winner" },
      ]
      return due + "\n" + TextTable(waiting, of: calendar.waiting).text(empty: "")
    }
  }
}
