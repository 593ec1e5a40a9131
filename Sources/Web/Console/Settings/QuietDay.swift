import Embedded
import Wire

/// A day of 24 hours as SVG, with the quiet ones shaded.
enum QuietDay {
  private static let day = 1440
  private static let (top, height) = (6, 26)

  /// - Parameter sentence: says the same.
  static func markup(_ hours: QuietHours?, _ sentence: String) -> Markup {
    let shaded = pieces(hours).map { piece in
      rect("column s4", piece.lowerBound, piece.upperBound)
    }
    let ticks = stride(from: 180, to: day, by: 180).map { minute in
      let x = x(minute)
      return "<line class=\"rule\" x1=\"\(x)\" x2=\"\(x)\" y1=\"\(top)\" y2=\"\(top + height)\"/>"
    }
    let labels = stride(from: 0, through: day, by: 360).map { minute in
      let anchor = minute == 0 ? "start" : minute == day ? "end" : "middle"
      return "<text x=\"\(x(minute))\" y=\"\(top + height + 16)\" text-anchor=\"\(anchor)\">\(minute / 60):00</text>"
    }
    return Markup(
      """
      <figure class="chart day"><figcaption>A recipient's day</figcaption><svg viewBox="0 0 480 52" role="img" direction="ltr" \
      aria-labelledby="quiet-day"><title id="quiet-day">\(Markup.escaped(sentence))</title>\(rect("axis", 0, day))\
      \(ticks.joined())\(shaded.joined())\(labels.joined())</svg></figure>
      """)
  }

  /// The quiet minutes of the day: two pieces over midnight.
  static func pieces(_ hours: QuietHours?) -> [Range<Int>] {
    guard let hours else { return [] }
    let (start, end) = (hours.start.minutes, hours.end.minutes)
    return (start < end ? [start..<end] : [0..<end, start..<day]).filter { !$0.isEmpty }
  }

  private static func x(_ minute: Int) -> String { ChartText.number(Double(minute) / 3) }

  private static func rect(_ tone: String, _ from: Int, _ to: Int) -> String {
    "<rect class=\"\(tone)\" x=\"\(x(from))\" y=\"\(top)\" width=\"\(x(to - from))\" height=\"\(height)\"/>"
  }
}
