import Embedded
import Wire

/// From everybody of an audience to those who get a sendout, as bars of which each begins where the one above ends, and as a table.
///
/// The bars of those who are left out and of those who are left are together as long as that of everyone.
struct Waterfall: Sendable {
  let steps: [PreflightReply.Step]

  init(_ steps: [PreflightReply.Step]) { self.steps = steps }

  /// What a step is called.
  static func label(of step: PreflightReply.StepName) -> String {
    switch step {
    case .everyone: "Everyone"
    case .excluded: "Excluded"
    case .suppressed: "Suppressed"
    case .noDevice: "No device"
    case .heldOut: "Held out"
    case .capped: "Capped"
    case .quiet: "Quiet hours"
    case .missed: "Missed"
    case .left: "Get it"
    }
  }

  /// Who is counted there.
  static func meaning(of step: PreflightReply.StepName) -> String {
    switch step {
    case .everyone: "All contacts of the audience, those excluded too."
    case .excluded: "They meet the filter of those who are left out."
    case .suppressed: "They want no such messages."
    case .noDevice: "No device of these apps is registered for them."
    case .heldOut: "Drawn by lot, to compare with."
    case .capped: "They got as many lately as a cap allows."
    case .quiet:
      "Their clock shows quiet hours, in which nothing is sent. Those who wait for the end are among those who get it."
    case .missed: "Their moment is over already, or comes only after the end."
    case .left: "Those who are left."
    }
  }

  private var everyone: Int { steps.first { $0.name == .everyone }?.contacts ?? 0 }

  /// The chart and its table.
  var markup: Markup {
    Markup(
      "<figure class=\"chart waterfall\"><figcaption>From everyone to those who get it</figcaption>\(svg)\(table)</figure>"
    )
  }

  // MARK: Drawing

  private static let width = 320.0
  private static let left = 72.0
  private static let right = 52.0
  private static let row = 20.0

  /// Where a step's bar begins and ends, in contacts.
  private var spans: [(from: Int, to: Int)] {
    var rest = everyone
    return steps.map { step in
      guard step.name != .everyone, step.name != .left else { return (0, step.contacts) }
      defer { rest -= step.contacts }
      return (max(0, rest - step.contacts), rest)
    }
  }

  private var svg: String {
    let area = Self.width - Self.left - Self.right
    // To a tenth, so that bars that touch in numbers do so in the picture.
    func x(_ contacts: Int) -> Double {
      let share = everyone > 0 ? Double(min(contacts, everyone)) / Double(everyone) : 0
      return ((Self.left + area * share) * 10).rounded() / 10
    }
    let rows = zip(steps, spans).enumerated().map { number, item in
      let (step, span) = item
      let (label, count) = (Self.label(of: step.name), ChartText.grouped(step.contacts))
      let (top, from, to) = (Double(number) * Self.row, x(span.from), x(span.to))
      let series = step.name == .everyone ? "s1" : step.name == .left ? "s2" : "s3"
      let bar =
        step.contacts == 0
        ? ""
        : """
        <rect class="column \(series)" x="\(ChartText.number(from))" y="\(ChartText.number(top + 4))" \
        width="\(ChartText.number(to - from))" height="12"><title>\(label): \(count)</title></rect>
        """
      return """
        <text x="0" y="\(ChartText.number(top + 14))">\(label)</text>\(bar)\
        <text x="\(ChartText.number(Self.width))" y="\(ChartText.number(top + 14))" text-anchor="end">\(count)</text>
        """
    }
    let sentence =
      "Of \(ChartText.grouped(everyone)) contacts, "
      + steps.filter { $0.name != .everyone && $0.contacts > 0 }
      .map { "\(Self.label(of: $0.name).lowercasedASCII): \(ChartText.grouped($0.contacts))" }.joined(separator: ", ")
    return """
      <svg viewBox="0 0 \(Int(Self.width)) \(Int(Double(steps.count) * Self.row))" role="img" direction="ltr" \
      aria-labelledby="waterfall-title waterfall-desc"><title id="waterfall-title">From everyone to those who get it</title>\
      <desc id="waterfall-desc">\(sentence)</desc>\(rows.joined())</svg>
      """
  }

  private var table: String {
    let rows = steps.map { step in
      """
      <tr><th scope="row">\(Self.label(of: step.name))</th><td class="num">\(ChartText.grouped(step.contacts))</td>\
      <td class="num">\(ChartText.percent(step.contacts, of: everyone))</td><td>\(Self.meaning(of: step.name))</td></tr>
      """
    }
    return """
      <details id="waterfall"><summary>Numbers</summary><table class="numbers"><caption class="hidden">Contacts by step</caption>\
      <thead><tr><th scope="col">Step</th><th scope="col" class="num">Contacts</th><th scope="col" class="num">Of everyone</th>\
      <th scope="col">Who</th></tr></thead><tbody>\(rows.joined())</tbody></table></details>
      """
  }
}
