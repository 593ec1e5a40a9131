import Embedded
import Foundation
import Testing

@testable import Web

@Suite struct ChartTests {
  private func chart(_ values: [Int], form: Chart.Form = .bars, title: String = "Pushes") -> String {
    Chart(
      id: "sent", title: title, description: "Pushes by day.", form: form, unit: "Day",
      points: values.enumerated().map { Chart.Point(short: "\($0)", label: "Day \($0)", value: $1) }
    ).markup.html
  }

  @Test(
    arguments: [
      (0, 1, [0, 1]), (1, 1, [0, 1]), (4, 4, [0, 1, 2, 3, 4]), (5, 6, [0, 2, 4, 6]), (9, 10, [0, 5, 10]),
      (20, 20, [0, 5, 10, 15, 20]), (21, 30, [0, 10, 20, 30]), (999, 1000, [0, 500, 1000]),
      (1_234_567, 1_500_000, [0, 500_000, 1_000_000, 1_500_000]),
    ])
  func `The steps of an axis are 1, 2 or 5 of a power of ten`(maximum: Int, end: Int, steps: [Int]) {
    let scale = ChartScale(upTo: maximum)
    #expect(scale.end == end)
    #expect(scale.steps == steps)
  }

  @Test func `An axis has at most five steps and ends at the highest value or above it`() {
    for maximum in (0...3000).map({ $0 * $0 }) {
      let scale = ChartScale(upTo: maximum)
      #expect(scale.steps.count <= 5 && scale.steps.count >= 2, "\(maximum)")
      #expect(scale.end >= maximum && scale.steps.last == scale.end, "\(maximum)")
    }
  }

  @Test func `A chart has a title, a description and its numbers as a table`() {
    let html = chart([1200, 0, 7])
    #expect(html.contains(#"aria-labelledby="sent-title sent-desc""#))
    #expect(html.contains(#"<title id="sent-title">Pushes</title><desc id="sent-desc">Pushes by day.</desc>"#))
    #expect(html.contains(#"<tr><th scope="row">Day 0</th><td class="num">1,200</td></tr>"#))
    #expect(html.contains(#"<tr><th scope="row">Day 1</th><td class="num">0</td></tr>"#))
    #expect(html.contains("<title>Day 2: 7</title>"))
  }

  @Test func `A chart has no style and no script of its own, and reads from left to right`() {
    for form in [Chart.Form.bars, .line] {
      let html = chart([1, 2, 3], form: form)
      #expect(!html.contains("style=") && !html.contains("<script") && !html.contains(" on"))
      #expect(html.contains(#"direction="ltr""#))
    }
    #expect(chart([1, 2, 3], form: .line).contains("<polyline class=\"line s1\" points=\""))
  }

  @Test(arguments: [[], [0], [0, 0, 0]])
  func `A chart of nothing says so`(values: [Int]) {
    let html = chart(values)
    #expect(html.contains("Nothing yet."))
    #expect(!html.contains("<svg") && !html.contains("nan") && !html.contains("inf"))
  }

  @Test func `A chart of one value can be drawn`() {
    for form in [Chart.Form.bars, .line] {
      let html = chart([3], form: form)
      #expect(html.contains("<svg") && !html.contains("nan") && !html.contains("inf"))
    }
  }

  @Test func `Texts in a chart are escaped`() {
    let html = chart([1], title: #"<b>"x" & 'y'</b>"#)
    #expect(!html.contains("<b>"))
    #expect(html.contains("&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/b&gt;"))
  }

  @Test func `At most six labels stand below a chart`() {
    for count in [1, 5, 6, 7, 30, 72] {
      let labels = chart([Int](repeating: 1, count: count)).components(separatedBy: #"text-anchor="middle""#).count - 1
      #expect(labels <= 6 && labels >= 1, "\(count): \(labels)")
    }
  }

  @Test func `Pushes that were left out are not shown as failures`() {
    let html = Figures.progress(90, failed: 10, leftOut: 30, of: 100, label: "90 %").html
    for part in [#"class="ok" x="0" y="0" width="50""#, #"class="idle" x="50" y="0" width="30""#] {
      #expect(html.contains(part), "\(html)")
    }
    #expect(html.contains(#"class="bad" x="80" y="0" width="10""#), "\(html)")
  }

  @Test func `The shares of a bar add up to the whole at most`() {
    let html = Figures.bar([("ok", 50), ("bad", 25)], of: 100, label: "75 %").html
    #expect(html.contains(#"<rect class="ok" x="0" y="0" width="50" height="8"/>"#))
    #expect(html.contains(#"<rect class="bad" x="50" y="0" width="25" height="8"/>"#))
    #expect(html.contains(#"aria-label="75 %""#))
    #expect(Figures.bar([("ok", 300)], of: 100, label: "").html.contains(#"width="100" height="8"/></svg>"#))
    #expect(!Figures.bar([("ok", 0)], of: 0, label: "").html.contains(#"class="ok""#))
  }

  @Test func `A sparkline needs two values, one of them above 0`() {
    #expect(Figures.sparkline([], label: "").html.isEmpty)
    #expect(Figures.sparkline([4], label: "").html.isEmpty)
    #expect(Figures.sparkline([0, 0], label: "").html.isEmpty)
    #expect(Figures.sparkline([0, 4], label: "x").html.contains(#"points="1,21 95,3""#))
  }

  @Test func `A funnel names each stage with its share of the audience and of the stage before`() {
    let html = Figures.funnel([
      Figures.Stage(name: "Audience", count: 2000), Figures.Stage(name: "Sent", count: 1000),
      Figures.Stage(name: "Opened", count: 0), Figures.Stage(name: "After nothing", count: 0),
    ]).html
    #expect(
      html.contains(
        #"<th scope="row">Audience</th><td class="num">2,000</td><td class="num">100.0\#u{A0}%</td><td class="num">–</td>"#
      ))
    #expect(
      html.contains(
        #"<th scope="row">Sent</th><td class="num">1,000</td><td class="num">50.0\#u{A0}%</td><td class="num">50.0\#u{A0}%</td>"#
      ))
    #expect(
      html.contains(
        #"<th scope="row">After nothing</th><td class="num">0</td><td class="num">0.0\#u{A0}%</td><td class="num">–</td>"#
      ))
  }

  @Test func `Numbers are written for people`() {
    #expect(
      [0, 7, 999, 1000, 1_234_567, -1200].map(ChartText.grouped) == ["0", "7", "999", "1,000", "1,234,567", "-1,200"])
    #expect(
      [0, 999, 1000, 1500, 20_000_000, 1_500_000_000].map(ChartText.short) == ["0", "999", "1k", "1.5k", "20M", "1.5G"])
    #expect(ChartText.percent(1, of: 8) == "12.5\u{A0}%")
    #expect(ChartText.percent(1, of: 0) == "–")
    #expect([0, 0.04, 0.05, 1.25, -1.5].map(ChartText.number) == ["0", "0", "0.1", "1.3", "-1.5"])
  }
}
