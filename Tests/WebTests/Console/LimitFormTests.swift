import Embedded
import Operations
import Support
import Testing
import Wire

@testable import Web

@Suite struct LimitFormTests {
  private static let saved = [
    ("timeZone", "Europe/Stockholm"), ("sendThreshold", "500"), ("linkMaxAgeDays", "90"), ("retentionDays", "0"),
    ("devicesPerContact", "20"),
  ]

  @Test(arguments: [
    ("21:00-08:00", [0..<480, 1260..<1440]), ("12:00-13:30", [720..<810]), ("22:00-00:00", [1320..<1440]),
    ("00:00-06:00", [0..<360]), ("08:00-07:59", [0..<479, 480..<1440]),
  ])
  func `The quiet minutes of a day are drawn, in two pieces over midnight`(text: String, pieces: [Range<Int>]) throws {
    let hours = try #require(QuietHours(text))
    #expect(QuietDay.pieces(hours) == pieces)
    let drawing = QuietDay.markup(hours, LimitForm.sentence(hours)).html
    #expect(drawing.matches(of: /<rect class="column s4"/).count == pieces.count)
    // A pixel is three minutes.
    for piece in pieces {
      let (x, width) = (ChartText.number(Double(piece.lowerBound) / 3), ChartText.number(Double(piece.count) / 3))
      #expect(drawing.contains("x=\"\(x)\" y=\"6\" width=\"\(width)\""), "\(drawing)")
    }
    #expect(QuietDay.pieces(nil).isEmpty)
  }

  @Test func `Quiet hours are told as a sentence`() throws {
    #expect(
      LimitForm.sentence(QuietHours("21:00-08:00")).hasPrefix(
        "Marketing waits from 21:00 to 08:00 the next day, 11 hours by each recipient's own clock."))
    #expect(
      LimitForm.sentence(QuietHours("12:00-13:30/skip")).hasPrefix(
        "Marketing is not sent from 12:00 to 13:30, 1 hour and 30 minutes by"))
    #expect(LimitForm.sentence(nil as QuietHours?).hasPrefix("There are no quiet hours"))
  }

  @Test(arguments: [
    ("3/24h/marketing", "At most 3 marketing sendouts and messages reach a contact within any 24 hours."),
    ("1/1d", "One sendout or message reaches a contact within any 24 hours."),
    ("10/30d", "At most 10 sendouts and messages of either purpose reach a contact within any 30 days of 24 hours."),
    ("2/1h/transactional", "At most 2 transactional sendouts and messages reach a contact within any hour."),
  ])
  func `A cap is told as a sentence, with its name in the ledger`(text: String, sentence: String) throws {
    let cap = try #require(Cap(text))
    #expect(LimitForm.sentence(cap).hasPrefix(sentence), "\(LimitForm.sentence(cap))")
    #expect(LimitForm.sentence(cap).contains("capped \(cap.name)"))
  }

  @Test(arguments: [
    ("3/24h/marketing", "3 marketing messages per 24 hours"), ("1/1d", "1 message per 24 hours"),
    ("10/7d", "10 messages per 7 days"), ("2/1h/transactional", "2 transactional messages per hour"),
  ])
  func `A cap is told in few words`(text: String, words: String) throws {
    #expect(try #require(Cap(text)).words == words)
  }

  @Test func `Quiet hours and caps are saved, shown again, and removed`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      let limits = [
        ("quietHours.start", "21:00"), ("quietHours.end", " 08:00 "), ("quietHours.policy", "skip"),
        ("caps[0].count", "3"), ("caps[0].per", "24"), ("caps[0].unit", "h"), ("caps[0].purpose", "marketing"),
        // A row that was left empty is none.
        ("caps[1].unit", "h"), ("caps[1].purpose", "marketing"),
        ("caps[2].count", "10"), ("caps[2].per", "7"), ("caps[2].unit", "d"), ("caps[2].purpose", "both"),
      ]
      let saved = try await browser.post("/console/settings", Self.saved + limits)
      #expect(saved.status == 303, "\(saved.text)")
      let customer = try await managed.send("GET", "/api/v1/customer").json
      #expect(customer["quietHours"] == ["start": "21:00", "end": "08:00", "policy": "skip"])
      #expect(
        customer["caps"] == [["count": 3, "per": "24h", "purpose": "marketing"], ["count": 10, "per": "7d"]])
      let page = try await browser.get("/console/settings")
      #expect(page.shows("Marketing is not sent from 21:00 to 08:00 the next day"))
      #expect(page.text.contains("name=\"caps[1].count\" type=\"text\" value=\"10\""), "\(page.text)")
      #expect(page.shows("At most 10 sendouts and messages of either purpose") && page.text.contains("<svg"))
      #expect(
        page.shows("--time-zone Europe/Stockholm --quiet-hours 21:00-08:00/skip --cap 3/24h/marketing --cap 10/7d"))
      #expect(try await browser.post("/console/settings", Self.saved).status == 303)
      let after = try await managed.send("GET", "/api/v1/customer").json
      #expect(after["quietHours"] == nil && after["caps"] == [])
      #expect(try await browser.get("/console/settings").shows("There are no quiet hours"))
    }
  }

  @Test(arguments: [
    ([("quietHours.start", "21:00")], "f-quietHours-end"),
    ([("quietHours.start", "21:00"), ("quietHours.end", "24:00")], "f-quietHours-end"),
    ([("quietHours.start", "9"), ("quietHours.end", "08:00")], "f-quietHours-start"),
    ([("quietHours.start", "08:00"), ("quietHours.end", "08:00")], "f-quietHours-end"),
    ([("caps[1].count", "0"), ("caps[1].per", "24")], "f-caps-1--count"),
    ([("caps[1].count", "x"), ("caps[1].per", "24")], "f-caps-1--count"),
    ([("caps[1].count", "3")], "f-caps-1--per"),
    ([("caps[1].count", "3"), ("caps[1].per", "31"), ("caps[1].unit", "d")], "f-caps-1--per"),
    (
      [("caps[0].count", "3"), ("caps[0].per", "24"), ("caps[4].count", "3"), ("caps[4].per", "24")],
      "f-caps-4--count"
    ),
    ([("timeZone", "CET+1")], "f-timeZone"),
  ])
  func `What is wrong with a limit stands at its field, and nothing is lost`(
    typed: [(String, String)], id: String
  ) async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      let others = Self.saved.filter { other in !typed.contains { $0.0 == other.0 } }
      let refused = try await browser.post("/console/settings", others + typed)
      #expect(refused.status == 400 && refused.text.contains("id=\"\(id)-error\""), "\(refused.text)")
      #expect(refused.text.contains("href=\"#\(id)\""))
      for (name, value) in typed where !name.hasSuffix("unit") {
        #expect(refused.text.contains("name=\"\(name)\" type=\"text\" value=\"\(value)\""), "\(name)")
      }
      #expect(try await managed.send("GET", "/api/v1/customer").json.string("timeZone") == "UTC")
    }
  }

  @Test func `Rows of caps are there without JavaScript: those in use, the next one, and the rest behind a summary`() {
    func rows(_ typed: [(String, String)]) -> (shown: Int, more: Int) {
      let form = FormView(LimitForm.fields, [:], FormValues(typed)).values
      let rows = LimitForm.rows(form) { LimitForm.typed(FormValues(typed), $0) }
      return (rows.shown.count, rows.more.count)
    }
    #expect(rows([]) == (1, 4))
    #expect(rows([("caps[1].count", "2"), ("caps[1].per", "24")]) == (3, 2))
    #expect(rows([("caps[4].count", "x")]) == (5, 0))
  }
}
