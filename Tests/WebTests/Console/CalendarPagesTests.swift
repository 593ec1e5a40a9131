import Embedded
import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct CalendarPagesTests {
  private static let path = "/console/calendar"

  /// The cell of a day in the picture of a month.
  private func cell(_ day: String, of page: String) throws -> String {
    let start = try #require(page.range(of: #"<time datetime="\#(day)">"#), "\(page)").upperBound
    let end = try #require(page[start...].range(of: "</td>")).lowerBound
    return String(page[start..<end])
  }

  /// A sendout that starts at a moment, in SQL.
  private func scheduled(
    _ console: ConsoleServer, _ name: String, _ moment: String, _ more: String = "", campaign: String = "{}",
    of customer: CustomerID? = nil
  ) async throws -> SendoutID {
    let columns = "start_at = \(moment), next_at = \(moment), scheduled_at = now()"
    return try await console.sendout(
      name, .scheduled, campaign: campaign, more.isEmpty ? columns : "\(columns), \(more)", of: customer)
  }

  @Test func `A month without anything says what to do, and leads to its neighbours by keys`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("\(Self.path)?month=2099-12")
      #expect(page.status == 200, "\(page.text)")
      #expect(page.text.contains("<h1>December 2099</h1>") && page.text.contains("Nothing is due in December 2099"))
      #expect(page.text.contains(#"href="/console/new-sendout""#) && page.text.contains("pushcart send --customer"))
      #expect(page.text.contains(#"href="\#(Self.path)?month=2099-11" rel="prev" data-key="p""#))
      #expect(page.text.contains(#"href="\#(Self.path)?month=2100-01" rel="next" data-key="n""#))
      #expect(page.text.contains(#"href="\#(Self.path)" data-key="t""#))
      #expect(page.text.contains(#"<a href="\#(Self.path)" data-go="d" aria-current="page">Calendar</a>"#))
      #expect(page.text.contains("/api/v1/calendar?from=2099-11-30T00%3A00%3A00.000Z"), "\(page.text)")
      #expect(page.text.contains("FROM sendout WHERE customer_id = \(console.customer) AND next_at "))
      let analyst = try await console.browser(.analyst, "ana@example.com").get("\(Self.path)?month=2099-12&view=list")
      #expect(analyst.status == 200 && !analyst.text.contains("/console/new-sendout"), "\(analyst.text)")
      #expect(try await browser.get(Self.path).status == 200)
    }
  }

  @Test func `What is due stands at its day in the customer's zone`() async throws {
    try await withConsole { console in
      try await console.setZone("Europe/Stockholm")
      let night = try await scheduled(console, "Night", "'2099-12-24 23:30Z'")
      let local = try await console.sendout(
        "Evening", .scheduled,
        "local_time = '2099-12-24 18:30', next_at = '2099-12-24 04:30Z', scheduled_at = now(), end_at = '2099-12-26 11:00Z'"
      )
      _ = try await scheduled(console, "Before", "'2099-11-30 22:00Z'")
      _ = try await scheduled(console, "After", "'2099-12-31 23:00Z'")
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("\(Self.path)?month=2099-12").text
      let christmas = try cell("2099-12-25", of: page)
      #expect(christmas.contains(#"<a href="/console/sendouts/\#(night)">00:30 <bdi>Night</bdi></a>"#), "\(christmas)")
      // Where days stand below each other, no head of a column says the weekday.
      #expect(christmas.hasPrefix(#"<span class="narrow-only">Fri </span>25<span"#), "\(christmas)")
      #expect(christmas.contains(#"aria-hidden="true"> Dec</span></time>"#), "\(christmas)")
      let eve = try cell("2099-12-24", of: page)
      #expect(eve.contains(#"<a href="/console/sendouts/\#(local)">18:30 local <bdi>Evening</bdi></a>"#), "\(eve)")
      #expect(!eve.contains("Night"))
      let end = try cell("2099-12-26", of: page)
      #expect(end.contains("12:00 <bdi>Evening</bdi>") && end.contains("Ends"), "\(end)")
      // The weeks at both ends have days of other months.
      #expect(try cell("2099-11-30", of: page).contains("Before"))
      #expect(try cell("2100-01-01", of: page).contains("After"))
      let list = try await browser.get("\(Self.path)?month=2099-12&view=list").text
      #expect(!list.contains("Before") && !list.contains("After"))
      let places = ["Evening", "Night"].compactMap { list.range(of: "<bdi>\($0)</bdi>")?.lowerBound }
      #expect(places.count == 2 && places == places.sorted(), "\(list)")
      #expect(list.contains("24 Dec 2099, 18:30 <small class=\"muted\">by each contact’s clock"), "\(list)")
      #expect(list.contains("25 Dec 2099, 00:30"))
    }
  }

  @Test func `Decisions, ends and further times of a series are due, and what has ended is not`() async throws {
    try await withConsole { console in
      try await console.database.query(
        """
        INSERT INTO series (customer_id, series_id, repeat, wall_time)
        VALUES ($1, 3, '{"every":"week","on":["mon"],"until":"2099-12-20"}', '09:00')
        """, console.customer.rawValue)
      let weekly = try await scheduled(
        console, "Weekly", "'2099-12-07 09:00Z'", "series_id = 3, series_no = 1",
        campaign: #"{"winner":{"afterMinutes":90}}"#)
      let running = try await console.sendout(
        "Tested", .running, campaign: #"{"winner":{"afterMinutes":60}}"#,
        "frozen_at = now(), next_at = '2099-12-03 10:00Z', end_at = '2099-12-04 10:00Z'")
      _ = try await console.sendout("Over", .cancelled, "start_at = '2099-12-03 10:00Z', end_at = '2099-12-03 11:00Z'")
      _ = try await console.sendout("Draft", .draft, "start_at = '2099-12-03 10:00Z'")
      let page = try await console.browser(.operator).get("\(Self.path)?month=2099-12").text
      #expect(try cell("2099-12-07", of: page).contains("Starts"))
      #expect(try cell("2099-12-07", of: page).contains(#"10:30 <bdi>Weekly</bdi></a> <small class="muted">Winner"#))
      let next = try cell("2099-12-14", of: page)
      #expect(next.contains(#"<a href="/console/sendouts/\#(weekly)">09:00 <bdi>Weekly</bdi>"#), "\(next)")
      #expect(next.contains("Expected"))
      let over = try cell("2099-12-21", of: page)
      #expect(!over.contains("Weekly"))
      #expect(try cell("2099-12-03", of: page).contains(#"<a href="/console/sendouts/\#(running)">10:00"#))
      #expect(try cell("2099-12-04", of: page).contains("Ends"))
      #expect(!page.contains("<bdi>Over</bdi>") && !page.contains("<bdi>Draft</bdi>"))
      let list = try await console.browser(.analyst, "ana@example.com").get("\(Self.path)?month=2099-12&view=list").text
      #expect(list.contains("made when the one before starts"), "\(list)")
    }
  }

  @Test func `What waits for a person is said above every month, with its reason and a link`() async throws {
    try await withConsole { console in
      let late = try await console.sendout(
        "Missed start", .paused, "halt_reason = 'late', changed_at = now() - interval '3 hours'")
      let many = try await console.sendout(
        "Too large", .paused, "halt_reason = 'too_many_contacts 12 > 10', changed_at = now() - interval '2 hours'")
      let failing = try await console.sendout(
        "Failing", .paused, "halt_reason = 'too_many_failures 31 % of the last 1000', changed_at = now()")
      let undecided = try await console.sendout(
        "Undecided", .running, "frozen_at = now(), winner_at = now() - interval '1 hour'")
      // A person has paused the first, the next have their winner or wait for its moment, and the last are over.
      _ = try await console.sendout("By hand", .paused, "changed_at = now()")
      _ = try await console.sendout(
        "Decided", .running, "frozen_at = now(), winner_at = now(), winner_by = 'best', winner_no = 1")
      _ = try await console.sendout("Comparing", .running, "frozen_at = now()")
      _ = try await console.sendout("Ended", .finished, "frozen_at = now(), winner_at = now(), finished_at = now()")
      _ = try await console.sendout("Gone", .cancelled, "halt_reason = 'late', finished_at = now()")
      let other = try await Customers(console.database.pool).add(name: "Other").id
      _ = try await console.sendout("secretive", .paused, "halt_reason = 'late', changed_at = now()", of: other)
      let browser = try await console.browser(.analyst)
      for view in ["month", "list"] {
        let page = try await browser.get("\(Self.path)?month=2099-12&view=\(view)").text
        let start = try #require(page.range(of: #"<h2 id="waiting">"#), "\(page)").upperBound
        let section = page[start..<(try #require(page[start...].range(of: "</section>")).lowerBound)]
        let places = [late, many, undecided, failing].map { section.range(of: #"href="/console/sendouts/\#($0)""#) }
        let starts = places.compactMap { $0?.lowerBound }
        #expect(starts.count == 4 && starts == starts.sorted(), "\(section)")
        #expect(section.components(separatedBy: "<article").count == 5, "\(section)")
        for sentence in ["when it was to start", "more contacts than", "pushes failed", "No variant has won"] {
          #expect(section.contains(sentence), "\(sentence): \(section)")
        }
        #expect(page.contains("Nothing is due in December 2099") && !page.contains("secretive"), "\(page)")
      }
    }
  }

  @Test func `A day with much leads to the list, which goes on where it ends`() async throws {
    try await withConsole { console in
      for number in 1...6 { _ = try await scheduled(console, "Many \(number)", "'2099-12-24 1\(number):00Z'") }
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("\(Self.path)?month=2099-12").text
      let eve = try cell("2099-12-24", of: page)
      #expect(eve.contains("Many 4") && !eve.contains("Many 5") && eve.contains(">2 more</a>"), "\(eve)")
      let link = "\(Self.path)?month=2099-12&view=list&from=2099-12-24"
      #expect(eve.contains(#"href="\#(Markup.escaped(link))""#), "\(eve)")
      let list = try await browser.get(link).text
      #expect(list.contains("Many 1") && list.contains("Many 6") && !list.contains("There are more."), "\(list)")
      for number in 1...100 { _ = try await scheduled(console, "Crowd \(number)", "'2099-12-26 12:00Z'") }
      let long = try await browser.get("\(Self.path)?month=2099-12&view=list").text
      #expect(long.contains("There are more.") && long.contains("Those from 26 Dec 2099 on"), "\(long)")
      #expect(long.utf8.count < 60 * 1024, "\(long.utf8.count)")
    }
  }

  @Test func `What is no month, no day of it and no way to show it is refused`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      for query in [
        "month=2099-13", "month=2099-1", "month=x", "view=year", "month=2099-12&from=2099-11-30",
        "month=2099-12&from=x",
      ] {
        let reply = try await browser.get("\(Self.path)?\(query)")
        #expect(reply.status == 400, "\(query): \(reply.status)")
      }
    }
  }

  @Test func `Nothing of another customer is due, and names are text`() async throws {
    try await withConsole { console in
      let other = try await Customers(console.database.pool).add(name: "Other").id
      _ = try await scheduled(console, "secretive", "'2099-12-24 10:00Z'", of: other)
      try await console.database.query(
        """
        INSERT INTO series (customer_id, series_id, repeat, wall_time) VALUES ($1, 4, '{"every":"day"}', '09:00')
        """, other.rawValue)
      _ = try await scheduled(
        console, "secretive too", "'2099-12-24 09:00Z'", "series_id = 4, series_no = 1", of: other)
      _ = try await scheduled(console, "<script>alert(1)</script>", "'2099-12-24 10:00Z'")
      let browser = try await console.browser(.owner)
      for view in ["month", "list"] {
        let page = try await browser.get("\(Self.path)?month=2099-12&view=\(view)").text
        #expect(!page.contains("secretive") && !page.contains("<script>alert"), "\(page)")
        #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "\(page)")
      }
    }
  }
}
