import Embedded
import FoundationEssentials
import Wire

/// Which time zones come when, as a strip of moments and as a table. Names of zones come from the IANA database, and are escaped all the same.
struct ZoneStrip: Sendable {
  let zones: [PreflightReply.Zone]
  let zone: ConsoleZone
  let hasLocalTime: Bool

  /// - Parameters:
  ///   - zone: of the customer, in which moments are written.
  ///   - hasLocalTime: whether each zone has its own moment. One without is over then.
  init(_ preflight: PreflightReply, in zone: ConsoleZone, hasLocalTime: Bool) {
    zones = preflight.zones
    self.zone = zone
    self.hasLocalTime = hasLocalTime
  }

  /// Rows of the table; the rest is summed. A page has 60 KiB.
  private static let mostRows = 40
  /// Zones that a column names.
  private static let mostNames = 3

  var markup: Markup {
    let coming = hasLocalTime ? ", and when they come, in \(Markup.escaped(zone.name))" : ""
    let heading = "<figcaption>Zones\(coming)</figcaption>"
    guard !zones.isEmpty else {
      return Markup("<figure class=\"chart\">\(heading)<p class=\"muted\">Nobody is in this audience.</p></figure>")
    }
    return Markup("<figure class=\"chart\">\(heading)\(svg)\(table)</figure>")
  }

  // MARK: Drawing

  private static let width = 320.0
  private static let height = 72.0
  private static let bottom = 16.0

  /// Contacts and zones of one moment.
  private struct Moment {
    let at: Date
    var contacts = 0
    var names: [String] = []
  }

  private var moments: [Moment] {
    var moments: [Date: Moment] = [:]
    for zone in zones {
      guard let at = zone.plannedAt?.date else { continue }
      moments[at, default: Moment(at: at)].contacts += zone.contacts
      if moments[at]?.names.contains(where: { $0.hasSameBytes(as: zone.zone) }) == false {
        moments[at]?.names.append(zone.zone)
      }
    }
    return moments.values.sorted { $0.at < $1.at }
  }

  private var svg: String {
    let moments = moments
    guard let first = moments.first?.at, let last = moments.last?.at else { return "" }
    let most = max(1, moments.map(\.contacts).max() ?? 1)
    // An hour at least, so that a single moment stands in the middle.
    let span = max(last.timeIntervalSince(first), 3600)
    let start = first.addingTimeInterval(-(span - last.timeIntervalSince(first)) / 2)
    let area = (left: 8.0, width: Self.width - 16, height: Self.height - Self.bottom - 4)
    func x(_ at: Date) -> Double { area.left + area.width * at.timeIntervalSince(start) / span }
    let ground = ChartText.number(area.height + 4)
    let columns = moments.map { moment in
      let height = max(1, area.height * Double(moment.contacts) / Double(most))
      return """
        <rect class="column s1" x="\(ChartText.number(x(moment.at) - 3))" y="\(ChartText.number(area.height + 4 - height))" \
        width="6" height="\(ChartText.number(height))"><title>\(Markup.escaped(title(of: moment)))</title></rect>
        """
    }
    let ends = first == last ? [(first, "middle")] : [(first, "start"), (last, "end")]
    let labels = ends.map { at, anchor in
      let edge = anchor == "start" ? 0 : anchor == "end" ? Self.width : x(at)
      return """
        <text x="\(ChartText.number(edge))" y="\(ChartText.number(Self.height - 3))" text-anchor="\(anchor)">\(zone.text(at))</text>
        """
    }
    let sentence =
      moments.count == 1
      ? "All zones come at \(zone.text(first))."
      : "\(moments.count) moments from \(zone.text(first)) to \(zone.text(last)), by the clock of \(zone.name)."
    return """
      <svg viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img" direction="ltr" aria-labelledby="zones-title zones-desc">\
      <title id="zones-title">Contacts by the moment at which their zone comes</title>\
      <desc id="zones-desc">\(Markup.escaped(sentence))</desc>\
      <line class="rule" x1="0" x2="\(ChartText.number(Self.width))" y1="\(ground)" y2="\(ground)"/>\
      \(columns.joined())\(labels.joined())</svg>
      """
  }

  private func title(of moment: Moment) -> String {
    let more = moment.names.count - Self.mostNames
    let names = moment.names.prefix(Self.mostNames).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    return "\(zone.text(moment.at)): \(ChartText.grouped(moment.contacts)) contacts, \(names)"
  }

  private var table: String {
    let shown = zones.prefix(Self.mostRows)
    let rest = zones.dropFirst(Self.mostRows)
    let rows = shown.map { zone in
      let when = zone.plannedAt.map { self.zone.text($0.date) } ?? "over already"
      return """
        <tr><th scope="row">\(Markup.escaped(zone.zone))</th><td>\(Self.teller(zone.source))</td>\
        \(hasLocalTime ? "<td>\(when)</td>" : "")<td class="num">\(ChartText.grouped(zone.contacts))</td></tr>
        """
    }
    let others =
      rest.isEmpty
      ? ""
      : """
      <tr><th scope="row">\(rest.count) more</th><td></td>\(hasLocalTime ? "<td></td>" : "")\
      <td class="num">\(ChartText.grouped(rest.reduce(0) { $0 + $1.contacts }))</td></tr>
      """
    return """
      <details id="zones"><summary>Numbers</summary><table class="numbers"><caption class="hidden">Contacts by time zone</caption>\
      <thead><tr><th scope="col">Zone</th><th scope="col">Told by</th>\
      \(hasLocalTime ? "<th scope=\"col\">When (\(Markup.escaped(zone.name)))</th>" : "")<th scope="col" class="num">Contacts</th></tr></thead>\
      <tbody>\(rows.joined())\(others)</tbody></table></details>
      """
  }

  private static func teller(_ source: ZoneSource) -> String {
    switch source {
    case .contact: "the contact"
    case .device: "their device"
    case .country: "their country"
    case .customer: "nobody: it is the customer's"
    }
  }
}
