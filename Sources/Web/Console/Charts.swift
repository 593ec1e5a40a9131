import Embedded

/// A chart of counts as SVG from the server, with the same numbers as a table beside it.
///
/// It uses attributes and classes alone, as the console's Content-Security-Policy allows no style within a page. It reads from left to right
/// in every language, as its axis does.
struct Chart: Sendable {
  enum Form: Sendable { case bars, line }

  struct Point: Sendable {
    /// Below the axis, in a few letters.
    let short: String
    /// In the table, and where a pointer rests.
    let label: String
    let value: Int
  }

  /// Unique on the page, and no text of others.
  let id: String
  let title: String
  /// One sentence that says what it shows.
  let description: String
  let form: Form
  /// The head of the table's first column, as in `Day`.
  let unit: String
  let points: [Point]

  /// Which colour it has: `s1` to `s4` of the stylesheet.
  var series = "s1"

  /// The chart and its table; a sentence if there is nothing to show.
  var markup: Markup {
    let heading = "<figcaption>\(Markup.escaped(title))</figcaption>"
    guard points.contains(where: { $0.value > 0 }) else {
      return Markup("<figure class=\"chart\">\(heading)<p class=\"muted\">Nothing yet.</p></figure>")
    }
    return Markup("<figure class=\"chart\">\(heading)\(svg)\(table)</figure>")
  }

  // MARK: Drawing

  private static let width = 320.0
  private static let height = 140.0
  private static let left = 40.0
  private static let top = 8.0
  private static let bottom = 24.0

  private var svg: String {
    let scale = ChartScale(upTo: points.map(\.value).max() ?? 0)
    let area = (width: Self.width - Self.left, height: Self.height - Self.top - Self.bottom)
    let slot = area.width / Double(points.count)
    func x(_ index: Int) -> Double { Self.left + slot * (Double(index) + 0.5) }
    func y(_ value: Int) -> Double { Self.top + area.height * (1 - Double(value) / Double(scale.end)) }

    var parts = scale.steps.map { step in
      let y = ChartText.number(y(step))
      return """
        <line class="rule" x1="\(ChartText.number(Self.left))" x2="\(ChartText.number(Self.width))" y1="\(y)" y2="\(y)"/>\
        <text x="\(ChartText.number(Self.left - 6))" y="\(y)" dy="4" text-anchor="end">\(ChartText.short(step))</text>
        """
    }
    switch form {
    case .bars:
      parts += points.indices.map { index in
        let (point, top) = (points[index], y(points[index].value))
        let width = max(1, slot * 0.7)
        return """
          <rect class="column \(series)" x="\(ChartText.number(x(index) - width / 2))" y="\(ChartText.number(top))" \
          width="\(ChartText.number(width))" height="\(ChartText.number(Self.top + area.height - top))">\
          <title>\(Markup.escaped(point.label)): \(ChartText.grouped(point.value))</title></rect>
          """
      }
    case .line:
      let line = points.indices.map { "\(ChartText.number(x($0))),\(ChartText.number(y(points[$0].value)))" }
      parts.append("<polyline class=\"line \(series)\" points=\"\(line.joined(separator: " "))\"/>")
      parts += points.indices.map { index in
        """
        <circle class="dot \(series)" cx="\(ChartText.number(x(index)))" cy="\(ChartText.number(y(points[index].value)))" r="2.5">\
        <title>\(Markup.escaped(points[index].label)): \(ChartText.grouped(points[index].value))</title></circle>
        """
      }
    }
    parts += labelled.map { index in
      """
      <text x="\(ChartText.number(x(index)))" y="\(ChartText.number(Self.height - 8))" text-anchor="middle">\
      \(Markup.escaped(points[index].short))</text>
      """
    }
    return """
      <svg viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img" direction="ltr" \
      aria-labelledby="\(id)-title \(id)-desc"><title id="\(id)-title">\(Markup.escaped(title))</title>\
      <desc id="\(id)-desc">\(Markup.escaped(description))</desc>\(parts.joined())</svg>
      """
  }

  /// Which points have their label below the axis: at most six, at even distances.
  private var labelled: [Int] {
    let step = max(1, (points.count + 5) / 6)
    return Array(stride(from: 0, to: points.count, by: step))
  }

  private var table: String {
    let rows = points.map { point in
      "<tr><th scope=\"row\">\(Markup.escaped(point.label))</th><td class=\"num\">\(ChartText.grouped(point.value))</td></tr>"
    }
    return """
      <details><summary>Numbers</summary><table class="numbers"><caption class="hidden">\(Markup.escaped(title))</caption>\
      <thead><tr><th scope="col">\(Markup.escaped(unit))</th><th scope="col" class="num">\(Markup.escaped(title))</th></tr></thead>\
      <tbody>\(rows.joined())</tbody></table></details>
      """
  }
}

/// Where a chart's axis ends, and its steps: 1, 2 or 5 of some power of ten, never below 1, and five at most.
struct ChartScale: Equatable {
  let end: Int
  /// From 0 to the end.
  let steps: [Int]

  /// - Parameter maximum: the highest value; 0 counts as 1.
  init(upTo maximum: Int) {
    let maximum = max(1, maximum)
    var (step, factor) = (1, 0)
    // 1, 2, 5, 10, 20, 50, …; the next one doubles the last, but for 2 to 5.
    while (maximum - 1) / 4 >= step {
      step = factor % 3 == 1 ? step / 2 * 5 : step * 2
      factor += 1
    }
    let count = (maximum + step - 1) / step
    end = count * step
    steps = (0...count).map { $0 * step }
  }
}

/// Numbers as charts and pages write them.
enum ChartText {
  /// As in `1,200`.
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// As in `1.5k` or `20M`.
  static func short(_ number: Int) -> String {
    for (unit, name) in [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")] where number >= unit {
      let tenths = number / (unit / 10)
      return tenths % 10 == 0 ? "\(tenths / 10)\(name)" : "\(tenths / 10).\(tenths % 10)\(name)"
    }
    return String(number)
  }

  /// A share as in `12.5 %`, which does not break into two lines; a dash for a share of nothing.
  static func percent(_ part: Int, of whole: Int) -> String {
    guard whole > 0 else { return "–" }
    let tenths = Int((Double(part) / Double(whole) * 1000).rounded())
    return "\(tenths / 10).\(tenths % 10)\u{A0}%"
  }

  /// A coordinate, to a tenth.
  static func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    let text = "\(abs(tenths) / 10)" + (tenths % 10 == 0 ? "" : ".\(abs(tenths) % 10)")
    return tenths < 0 ? "-" + text : text
  }
}

/// Small pictures of numbers that stand beside them.
enum Figures {
  /// A row of shares of a whole, each in its colour.
  /// - Parameters:
  ///   - shares: their classes `ok`, `warn`, `bad` or `idle`, and counts.
  ///   - label: what it says, for those who do not see it.
  static func bar(_ shares: [(tone: String, count: Int)], of whole: Int, label: String) -> Markup {
    var x = 0.0
    let rects = shares.filter { $0.count > 0 && whole > 0 }.map { share in
      let width = min(100 - x, Double(share.count) / Double(whole) * 100)
      defer { x += width }
      return
        "<rect class=\"\(share.tone)\" x=\"\(ChartText.number(x))\" y=\"0\" width=\"\(ChartText.number(width))\" height=\"8\"/>"
    }
    return Markup(
      """
      <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="\(Markup.escaped(label))">\
      <rect class="ground" x="0" y="0" width="100" height="8"/>\(rects.joined())</svg>
      """)
  }

  /// How far a sendout is: accepted, left out, not accepted, and the rest.
  static func progress(_ done: Int, failed: Int, leftOut: Int, of whole: Int, label: String) -> Markup {
    bar([("ok", max(0, done - failed - leftOut)), ("idle", leftOut), ("bad", failed)], of: whole, label: label)
  }

  /// A line without axes; nothing for less than two values, or none above 0.
  static func sparkline(_ values: [Int], label: String) -> Markup {
    guard values.count > 1, let highest = values.max(), highest > 0 else { return Markup("") }
    let points = values.enumerated().map { index, value in
      let x = Double(index) / Double(values.count - 1) * 94 + 1
      let y = 21 - Double(value) / Double(highest) * 18
      return "\(ChartText.number(x)),\(ChartText.number(y))"
    }
    return Markup(
      """
      <svg class="spark" viewBox="0 0 96 24" role="img" direction="ltr" aria-label="\(Markup.escaped(label))">\
      <polyline class="line s2" points="\(points.joined(separator: " "))"/></svg>
      """)
  }

  /// A stage of a funnel.
  struct Stage {
    let name: String
    let count: Int
  }

  /// Stages from the widest to the narrowest, a row each with its bar.
  static func funnel(_ stages: [Stage]) -> Markup {
    let whole = stages.first?.count ?? 0
    let rows = stages.indices.map { index in
      let stage = stages[index]
      let before = index == 0 ? nil : stages[index - 1].count
      let step = before.map { ChartText.percent(stage.count, of: $0) } ?? "–"
      return """
        <tr><th scope="row">\(Markup.escaped(stage.name))</th><td class="num">\(ChartText.grouped(stage.count))</td>\
        <td class="num">\(ChartText.percent(stage.count, of: whole))</td><td class="num">\(step)</td>\
        <td class="wide">\(bar([("s1", stage.count)], of: whole, label: "\(stage.name): \(ChartText.percent(stage.count, of: whole)) of the audience").html)</td></tr>
        """
    }
    return Markup(
      """
      <table class="funnel"><caption class="hidden">From audience to open</caption><thead><tr><th scope="col">Stage</th>\
      <th scope="col" class="num">Pushes</th><th scope="col" class="num">Of audience</th>\
      <th scope="col" class="num">Of stage before</th><th scope="col"><span class="hidden">Bar</span></th></tr></thead>\
      <tbody>\(rows.joined())</tbody></table>
      """)
  }
}
