import Embedded
import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

/// The page of one sendout, where that has times, limits or variants.
@Suite struct CampaignPagesTests {
  private static let variants = """
    {"variants":[{"name":"A","share":40,"message":{"alert":"Twenty off"}},{"name":"B","share":40,"message":{"alert":"Hurry"}}],
     "winner":{"afterMinutes":60,"undecided":"hold"}}
    """

  /// A sendout whose variants A and B have gone to 100 contacts each, of whom 12 and 15 have opened. At the decision they were 10 and 11, so that
  /// 50 others wait for a person.
  private func compared(_ console: ConsoleServer, name: String = "Offer") async throws -> SendoutID {
    let id = try await console.sendout(
      name, .running, campaign: Self.variants,
      "frozen_at = now(), started_at = now(), winner_at = now(), everyone = 260, people = 250")
    let (customer, sendout) = (console.customer.rawValue, id.rawValue)
    try await console.database.query("SELECT require_sendout_range($1::bigint)", sendout)
    try await console.database.query(
      """
      INSERT INTO sendout_variant (customer_id, sendout_id, variant_no, name, share, contacts, accepted, opened, p_adjusted)
      VALUES ($1, $2, 0, '', 20, 50, NULL, NULL, NULL), ($1, $2, 1, 'A', 40, 100, 100, 10, 0.818),
             ($1, $2, 2, 'B', 40, 100, 100, 11, NULL)
      """, customer, sendout)
    try await console.database.query(
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, variant, state, sent_at, opened_at)
      SELECT $1::bigint, $2::bigint, n, CASE WHEN n <= 200 THEN 0 ELSE 1 END, n, n,
             CASE WHEN n <= 100 THEN 1 WHEN n <= 200 THEN 2 ELSE 0 END,
             CASE WHEN n <= 200 THEN 'accepted' ELSE 'queued' END, CASE WHEN n <= 200 THEN now() END,
             CASE WHEN n <= 12 OR n BETWEEN 101 AND 115 THEN now() END
        FROM generate_series(1, 250) AS n
      """, customer, sendout)
    try await console.database.query(
      """
      INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued, accepted,
                              not_before, planned_at)
      VALUES ($1, $2, 0, 1, false, 1, 200, 'settled', 0, 200, now(), now()),
             ($1, $2, 1, 1, false, 201, 250, 'queued', 50, 0, 'infinity', now())
      """, customer, sendout)
    return id
  }

  private func path(_ id: SendoutID, _ rest: String = "") -> String { "/console/sendouts/\(id)\(rest)" }

  @Test func `Variants stand beside each other, and what was decided on beside what there is now`() async throws {
    try await withConsole { console in
      let id = try await compared(console)
      let page = try await console.browser(.marketer).get(path(id))
      #expect(page.status == 200, "\(page.text)")
      let text = page.text
      #expect(text.contains("Waits for you") && text.contains("50 contacts are the rest"))
      // Wilson's interval of 12 in 100.
      #expect(text.contains("<small>7.0\u{A0}% to 19.8\u{A0}%</small>"), "\(text)")
      #expect(text.contains(#"aria-label="A: 12.0"#) && text.contains(#"<svg class="interval""#))
      #expect(text.contains("10 of 100") && text.contains("11 of 100") && text.contains("p = 0.818"))
      #expect(text.contains("Twenty off") && text.contains("Hurry"))
      #expect(!text.contains("The groups do not fit their shares"))
      #expect(text.contains(#"href="\#(path(id, "/winner"))?variant=B" data-confirm"#))
      #expect(text.contains("/api/v1/sendouts/\(id)/campaign"))
      #expect(text.contains("FROM report.variants WHERE customer_id = \(console.customer)"))
      // What is read again every few seconds has no figures of variants.
      let part = try await console.browser(.marketer, "two@example.com").get(path(id, "?part=live"))
      #expect(part.status == 200 && !part.text.contains("Waits for you"))
    }
  }

  @Test func `Where no variant has won, a person chooses one, and says so once`() async throws {
    try await withConsole { console in
      let id = try await compared(console)
      let browser = try await console.browser(.marketer)
      let question = try await browser.get(path(id, "/winner?variant=B"))
      #expect(question.status == 200 && question.text.contains("50 contacts of “Offer” wait"), "\(question.text)")
      #expect(question.text.contains("15 have opened") && question.text.contains(#"name="variant" value="B""#))
      #expect(try await browser.get(path(id, "/winner?variant=C")).status == 400)
      _ = try await browser.get(path(id, "/winner?variant=B"))
      let chosen = try await browser.post(path(id, "/winner"), [("variant", "B")])
      #expect(chosen.status == 303 && chosen.header("Location") == path(id), "\(chosen.text)")
      let (winner, maker) = try await console.database.query("SELECT winner_no, winner_by FROM sendout")[0]
        .decode(Int16.self, String.self)
      #expect(winner == 2 && maker == "person")
      let due = try await console.database.query(
        "SELECT count(*) FROM push_batch WHERE batch_no = 1 AND isfinite(not_before)")[0].decode(Int.self)
      #expect(due == 1)
      let page = try await browser.get(path(id)).text
      #expect(page.contains("A person has chosen it.") && page.contains(#"<span class="badge ok">winner</span>"#))
      #expect(!page.contains("/winner?variant="))
      let second = try await browser.post(path(id, "/winner"), [("variant", "A")])
      #expect(second.status == 409 && second.text.contains("Nothing was done."), "\(second.text)")
    }
  }

  @Test func `Groups that do not fit their shares are told, with the size that each should have`() async throws {
    try await withConsole { console in
      let id = try await compared(console)
      try await console.database.query("UPDATE sendout_variant SET contacts = 200 WHERE variant_no = 1")
      let page = try await console.browser(.marketer).get(path(id)).text
      #expect(page.contains("The groups do not fit their shares."), "\(page)")
      // 40 % of 350.
      #expect(page.contains("140 expected"))
    }
  }

  @Test func `A variant that the test has found is shown as the winner, and one that nobody is decided about waits`()
    async throws
  {
    try await withConsole { console in
      let id = try await compared(console)
      let browser = try await console.browser(.marketer)
      try await console.database.query("UPDATE sendout SET winner_no = 1, winner_by = 'test'")
      let decided = try await browser.get(path(id)).text
      #expect(
        decided.contains("The rest gets <strong><bdi>A</bdi></strong>") && decided.contains("by the test (p ≤ 0.05"))
      try await console.database.query(
        "UPDATE sendout SET winner_no = NULL, winner_by = NULL, winner_at = NULL, next_at = now() + interval '90 minutes'"
      )
      let waiting = try await browser.get(path(id)).text
      #expect(waiting.contains("The winner is decided") && waiting.contains("in 1 h "), "\(waiting)")
      // It need not be waited for.
      #expect(waiting.contains("/winner?variant=A"))
    }
  }

  @Test func `Local times stand by zone, with who told it, in the order of moments`() async throws {
    try await withConsole { console in
      try await console.setZone("Europe/Stockholm")
      let id = try await console.sendout(
        "Evening", .running,
        "frozen_at = now(), started_at = now(), local_time = '2026-12-24 18:30', scheduled_at = now()")
      try await console.database.query(
        """
        INSERT INTO sendout_zone (customer_id, sendout_id, zone_no, zone, source, planned_at, contacts, accepted, opened)
        VALUES ($1, $2, 1, 'Europe/Stockholm', 'contact', '2026-12-24 17:30Z', 1200, 1111, 222),
               ($1, $2, 2, 'Europe/Stockholm', 'customer', '2026-12-24 17:30Z', 34, 30, 3),
               ($1, $2, 3, 'Asia/Tokyo', 'device', '2026-12-24 09:30Z', 5, 5, 1),
               ($1, $2, 4, 'Pacific/Auckland', 'country', NULL, 7, 0, 0)
        """, console.customer.rawValue, id.rawValue)
      let page = try await console.browser(.analyst).get(path(id)).text
      #expect(page.contains("24 Dec 2026, 18:30, by their own clock"), "\(page)")
      let places = ["Asia/Tokyo", "Europe/Stockholm", "Pacific/Auckland"].map { page.range(of: "<bdi>\($0)</bdi>") }
      let starts = places.compactMap { $0?.lowerBound }
      #expect(starts.count == 3 && starts == starts.sorted())
      #expect(
        page.contains("Their newest device") && page.contains("Nobody: the customer’s") && page.contains("was over"))
      #expect(
        page.contains(#"<td data-label="Accepted" class="num">1,111</td>"#)
          && page.contains(#"<td data-label="Opened" class="num">222</td>"#), "\(page)")
      // Both lines of a zone are one moment: 10:30 and 18:30 in Stockholm.
      #expect(page.contains(#"<tr><th scope="row">24 Dec 2026, 18:30</th><td class="num">1,234</td></tr>"#))
      #expect(page.contains(#"<tr><th scope="row">24 Dec 2026, 10:30</th><td class="num">5</td></tr>"#))
    }
  }

  @Test func `Each reason why contacts got nothing leads to the filter that finds them`() async throws {
    try await withConsole { console in
      let id = try await console.sendout(
        "Offer", .finished,
        """
        frozen_at = now(), finished_at = now(), everyone = 20, people = 9,
        audience = '{"all":true,"exclude":{"field":"country","op":"=","value":"SE"}}'
        """)
      try await console.database.query(
        """
        INSERT INTO sendout_left_out (customer_id, sendout_id, reason, contacts)
        VALUES ($1, $2, 'excluded', 6), ($1, $2, 'held_out', 3), ($1, $2, 'capped', 2)
        """, console.customer.rawValue, id.rawValue)
      try await console.database.query("SELECT require_sendout_range($1::bigint)", id.rawValue)
      // A claim has left out a third contact for the cap. The seventh has another phone, which got it.
      try await console.database.query(
        """
        INSERT INTO contact (customer_id, contact_id, original_id)
        SELECT $1::bigint, n, 'c' || n FROM generate_series(1, 8) AS n
        """, console.customer.rawValue)
      try await console.database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, state, reason, sent_at)
        SELECT $1::bigint, $2::bigint, n, 0, n, least(n, 7),
               CASE WHEN n = 8 THEN 'accepted' ELSE 'skipped' END,
               CASE WHEN n <= 3 THEN 'capped 3/24h marketing' WHEN n <= 6 THEN 'held_out' WHEN n = 7 THEN 'suppressed' END,
               CASE WHEN n = 8 THEN now() END
          FROM generate_series(1, 8) AS n
        """, console.customer.rawValue, id.rawValue)
      try await console.database.query(
        """
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued, skipped,
                                accepted)
        VALUES ($1, $2, 0, 1, false, 1, 8, 'settled', 0, 7, 1)
        """, console.customer.rawValue, id.rawValue)
      let browser = try await console.browser(.marketer)
      let page = try await browser.get(path(id)).text
      #expect(page.contains("20 contacts when it was fixed, and 9 were left"), "\(page)")
      let capped = "outcome of sendout \(id) = 'capped'"
      #expect(page.contains(Markup.escaped(capped)) && page.contains(Markup.escaped("country = 'SE'")))
      #expect(
        page.contains(
          #"<td data-label="Contacts" class="num">3</td>\#n<td data-label="At the start" class="num">2</td>"#))
      #expect(page.contains("The cap stands behind it.") && !page.contains("= &#39;suppressed&#39;"))
      let link = "/console/segments/new?filter=\(PercentEncoding.encode(capped))"
      #expect(page.contains(#"href="\#(link)""#))
      let segment = try await browser.get(link).text
      #expect(segment.contains(#"<strong class="num">3</strong> contacts"#), "\(segment)")
      let found = try await browser.get("/console/contacts?filter=\(PercentEncoding.encode(capped))").text
      #expect(found.contains(#"href="/console/contacts/1""#) && !found.contains(#"href="/console/contacts/4""#))
      // An analyst sees the reasons, and no contacts.
      let analyst = try await console.browser(.analyst, "ana@example.com").get(path(id)).text
      #expect(analyst.contains("Held out") && !analyst.contains("Quiet hours"))
      #expect(!analyst.contains("/console/segments/new?filter="))
    }
  }

  @Test func `A sendout that the hub has paused says what happened and what to do`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let late = try await console.sendout(
        "Late", .paused,
        "start_at = now() - interval '3 hours', scheduled_at = now(), changed_at = now(), halt_reason = 'late'")
      let lateText = try await browser.get(path(late)).text
      #expect(lateText.contains(HaltReason.late.sentence) && lateText.contains(HaltReason.late.advice), "\(lateText)")
      #expect(lateText.contains("It was to start on") && lateText.contains("(3 h "))
      #expect(lateText.contains(path(late, "/resume")) && lateText.contains(path(late, "/cancel")))
      let many = try await console.sendout(
        "Many", .paused, "frozen_at = now(), maximum_contacts = 100, halt_reason = 'too_many_contacts 120 > 100'")
      let manyText = try await browser.get(path(many)).text
      #expect(
        manyText.contains(HaltReason.tooManyContacts.sentence) && manyText.contains("120 &gt; 100"), "\(manyText)")
      #expect(manyText.contains("100; with more it waits for a person"))
      let failed = try await console.sendout(
        "Failed", .paused, "frozen_at = now(), halt_reason = 'too_many_failures 34 % of the last 1000'")
      let failedText = try await browser.get(path(failed)).text
      #expect(failedText.contains(HaltReason.tooManyFailures.advice), "\(failedText)")
      #expect(
        failedText.contains(path(failed, "/recipients?state=failed")) && failedText.contains("34 % of the last 1000"))
      let refused = try await console.sendout(
        "Refused", .paused, "frozen_at = now(), halt_reason = 'InvalidProviderToken'")
      let refusedText = try await browser.get(path(refused)).text
      #expect(refusedText.contains("InvalidProviderToken") && refusedText.contains("Correct what the reason names"))
    }
  }

  @Test func `A scheduled sendout says when it starts, and goes back to a draft`() async throws {
    try await withConsole { console in
      try await console.setZone("Europe/Stockholm")
      let id = try await console.sendout(
        "Later", .scheduled,
        campaign: #"""
          {"startAt":"2099-12-24T17:30:00Z","ratePerSecond":50,"spreadMinutes":30,"quietHours":null,"holdoutPercent":5}
          """#,
        "start_at = '2099-12-24 17:30Z', next_at = '2099-12-24 17:30Z', scheduled_at = now(), end_at = '2099-12-25 17:30Z'"
      )
      let browser = try await console.browser(.marketer)
      let page = try await browser.get(path(id)).text
      #expect(page.contains("24 Dec 2099, 18:30") && page.contains(" days</span>"), "\(page)")
      #expect(page.contains("Nothing leaves after") && page.contains("50 pushes a second at most"))
      #expect(
        page.contains("evenly over 30 min") && page.contains("lifted for this sendout") && page.contains("5\u{A0}% get")
      )
      #expect(page.contains("It starts by itself.") && !page.contains("Nothing has left yet."))
      // What only a start brings is not there.
      #expect(!page.contains("Why pushes did not arrive") && !page.contains("First opens by hour"))
      #expect(page.contains(path(id, "/unschedule")))
      #expect(try await browser.get(path(id, "/unschedule")).text.contains("Bring the sendout back?"))
      #expect(try await browser.post(path(id, "/unschedule")).status == 303)
      let draft = try await browser.get(path(id)).text
      #expect(draft.contains("Starts, once it is scheduled") && draft.contains("It is a draft."), "\(draft)")
    }
  }

  @Test func `A start that is seconds away is undone by one button`() async throws {
    try await withConsole { console in
      let id = try await console.sendout(
        "Soon", .scheduled,
        "start_at = now() + interval '50 seconds', next_at = now() + interval '50 seconds', scheduled_at = now()")
      let browser = try await console.browser(.marketer)
      let page = try await browser.get(path(id)).text
      #expect(page.contains("Nothing has left yet.") && page.contains(#"data-key="z""#), "\(page)")
      #expect(page.contains("data-live-page"))
      #expect(page.contains(#"action="\#(path(id, "/unschedule"))""#))
      let analyst = try await console.browser(.analyst, "ana@example.com").get(path(id)).text
      #expect(!analyst.contains("Nothing has left yet."))
      _ = try await browser.get(path(id))
      #expect(try await browser.post(path(id, "/unschedule")).status == 303)
      let state = try await console.database.query("SELECT state FROM sendout")[0].decode(String.self)
      #expect(state == "draft")
      #expect(try await browser.get(path(id)).text.contains("is a draft again"))
    }
  }

  @Test func `A series shows its times and those to come, and ends`() async throws {
    try await withConsole { console in
      try await console.database.query(
        """
        INSERT INTO series (customer_id, series_id, repeat, wall_time)
        VALUES ($1, 3, '{"every":"week","on":["mon","thu"],"until":"2099-12-31"}', '09:00')
        """, console.customer.rawValue)
      let first = try await console.sendout(
        "Weekly", .finished, "start_at = '2098-12-29 09:00Z', finished_at = now(), series_id = 3, series_no = 1")
      let id = try await console.sendout(
        "Weekly", .scheduled,
        "start_at = '2099-01-01 09:00Z', next_at = '2099-01-01 09:00Z', scheduled_at = now(), series_id = 3, series_no = 2"
      )
      let browser = try await console.browser(.marketer)
      let page = try await browser.get(path(id)).text
      #expect(page.contains("It repeats every week on Mon, Thu until 2099-12-31. This is time 2."), "\(page)")
      #expect(page.contains(#"href="\#(path(first))""#) && page.contains("End the series"))
      #expect(try await browser.get(path(id, "/end-series")).text.contains("No further sendout of the series"))
      let ended = try await browser.post(path(id, "/end-series"))
      #expect(ended.status == 303 && ended.header("Location") == path(id), "\(ended.text)")
      let states = try await console.database.query("SELECT state FROM sendout ORDER BY sendout_id").map {
        try $0.decode(String.self)
      }
      #expect(states == ["finished", "cancelled"])
      let after = try await browser.get(path(id)).text
      #expect(after.contains("Cancelled: sendout \(id).") && after.contains("ended") && !after.contains("/end-series"))
      // One that repeats on no day has none to end.
      let lone = try await console.sendout("Lone", .draft)
      #expect(try await browser.post(path(lone, "/end-series")).status == 404)
    }
  }

  @Test func `A sendout is copied, for all of its audience or for those of one outcome`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let draft = try await console.sendout("Draft", .draft)
      let page = try await browser.get(path(draft)).text
      #expect(page.contains("Its audience, as it is now") && !page.contains(#"value="notOpened""#), "\(page)")
      let refused = try await browser.post(path(draft, "/copy"), [("audience", "failed")])
      #expect(refused.status == 409 && refused.text.contains("Nothing was done."), "\(refused.text)")
      let unknown = try await browser.post(path(draft, "/copy"), [("audience", "nobody")])
      #expect(unknown.status == 400, "\(unknown.text)")
      let whole = try await browser.post(path(draft, "/copy"))
      #expect(whole.status == 303, "\(whole.text)")
      let sent = try await console.sendout(
        "Sent", .finished, campaign: #"{"spreadMinutes":30}"#,
        "frozen_at = now(), finished_at = now(), end_at = '2099-01-01Z'")
      let offered = try await browser.get(path(sent)).text
      for audience in CopiedAudience.allCases { #expect(offered.contains(#"value="\#(audience.rawValue)""#)) }
      let copied = try await browser.post(path(sent, "/copy"), [("audience", "notOpened")])
      let row = try await console.database.query(
        "SELECT sendout_id, state, audience::text, end_at IS NULL FROM sendout ORDER BY sendout_id DESC LIMIT 1")[0]
      let (id, state, audience, isOpen) = try row.decode(Int64.self, String.self, String.self, Bool.self)
      #expect(copied.header("Location") == "/console/sendouts/\(id)/edit", "\(copied.text)")
      #expect(state == "draft" && isOpen && audience.contains("notOpened"), "\(audience)")
    }
  }

  @Test func `Tests of a sendout stand on its page with what push services said`() async throws {
    try await withConsole { console in
      let id = try await console.sendout("Tested", .draft)
      let none = try await console.browser(.analyst).get(path(id)).text
      #expect(!none.contains("Tests of it"))
      let row = try await console.database.query(
        """
        INSERT INTO sendout (customer_id, kind, stream, push_app_ids, name, state, audience, message, started_at, frozen_at, test_of,
                             all_counted)
        VALUES ($1, 'stream', 'x test/' || $2::bigint::text, '{1}', 'x', 'running', '{"all":true}', '{}', now(), now(), $2, true)
        RETURNING sendout_id
        """, console.customer.rawValue, id.rawValue)
      let stream: Int64 = try row[0].decode(Int64.self)
      try await console.database.query(
        """
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued, accepted,
                                failed)
        VALUES ($1, $2, 0, 1, false, 1, 3, 'settled', 0, 2, 1)
        """, console.customer.rawValue, stream)
      let page = try await console.browser(.marketer, "mo@example.com").get(path(id)).text
      #expect(page.contains("2 of 3 test pushes were accepted"), "\(page)")
      #expect(page.contains(#"href="/console/sendouts/\#(stream)/recipients""#))
      // An analyst sees no recipients.
      let analyst = try await console.browser(.analyst, "ana@example.com").get(path(id)).text
      #expect(analyst.contains(#"href="/console/sendouts/\#(stream)""#))
    }
  }

  @Test func `Only who may change sendouts chooses, copies and ends`() async throws {
    try await withConsole { console in
      let id = try await compared(console)
      for role in [Role.analyst, .operator] {
        let browser = try await console.browser(role, "\(role.rawValue)@example.com")
        let page = try await browser.get(path(id))
        #expect(page.status == 200 && page.text.contains("Waits for you"), "\(role)")
        #expect(!page.text.contains("/winner?variant=") && !page.text.contains("Copy it"), "\(role)")
        for verb in ["winner", "copy", "end-series"] {
          let reply = try await browser.post(path(id, "/\(verb)"), [("variant", "B")])
          #expect(reply.status == 403, "\(role) \(verb): \(reply.text)")
        }
      }
      let (count, decided) = try await console.database.query("SELECT count(*), count(winner_no) FROM sendout")[0]
        .decode(Int.self, Int.self)
      #expect(count == 1 && decided == 0)
    }
  }

  @Test func `Another customer's campaign is not there, and neither are its parts`() async throws {
    try await withConsole { console in
      let id = try await compared(console, name: "secretive")
      let other = try await Customers(console.database.pool).add(name: "Other").id
      let browser = try await console.browser(.owner, "other@example.com", of: other)
      _ = try await browser.get("/console/account")
      for rest in ["", "?exact=true", "/winner?variant=B", "/end-series"] {
        let reply = try await browser.get(path(id, rest))
        #expect(reply.status == 404 && !reply.text.contains("secretive"), "\(rest): \(reply.text)")
      }
      for verb in ["winner", "copy", "end-series", "unschedule"] {
        let reply = try await browser.post(path(id, "/\(verb)"), [("variant", "B")])
        #expect(reply.status == 404 && !reply.text.contains("secretive"), "\(verb): \(reply.text)")
      }
    }
  }

  @Test func `Names and texts of a campaign are text everywhere`() async throws {
    try await withConsole { console in
      let canary = "<script>alert(1)</script>\"&"
      let id = try await compared(console, name: canary)
      let name = JSONValue.string(canary).written
      try await console.database.query(
        """
        UPDATE sendout SET campaign = jsonb_set(jsonb_set(campaign::jsonb, '{variants,0,name}', $1::text::jsonb),
                                                '{variants,0,message,alert}', $1::text::jsonb)::json
        """, name)
      try await console.database.query("UPDATE sendout_variant SET name = $1::text WHERE variant_no = 1", canary)
      let browser = try await console.browser(.marketer)
      for rest in ["", "/winner?variant=\(PercentEncoding.encode(canary))"] {
        let reply = try await browser.get(path(id, rest))
        #expect(reply.status == 200 && !reply.text.contains("<script>alert"), "\(rest): \(reply.text)")
        #expect(reply.text.contains("&lt;script&gt;alert(1)"), "\(rest)")
      }
    }
  }
}
