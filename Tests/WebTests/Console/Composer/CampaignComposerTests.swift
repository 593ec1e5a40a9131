import Embedded
import Operations
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

@testable import Web

/// Times, limits, other languages and variants in the composer.
@Suite struct CampaignComposerTests {
  private func form(_ changes: KeyValuePairs<String, String> = [:]) -> [(String, String)] {
    ComposerFields.form(changes)
  }

  private func composed(_ values: [String: [String]], in zone: ConsoleZone = ConsoleZone()) -> ComposerForm {
    ComposerForm(values: FormValues(values.flatMap { name, all in all.map { (name: name, value: $0) } }), in: zone)
  }

  private func draft(_ campaign: CampaignFields, _ message: MessageBody = MessageBody(alert: "Hi")) -> SendoutReply {
    SendoutReply(
      sendoutId: SendoutID(1), name: "Full", apps: [.example], state: .draft, audience: .all, message: message,
      onUncertain: .resend, createdAt: .example, campaign: campaign)
  }

  // MARK: The form

  @Test func `Times, limits, languages and variants come back into the form, and saving it changes nothing`() throws {
    let message = MessageBody(
      alert: "Hi",
      translations: [
        "sv": MessageTranslation(alert: "Hej", sound: "klocka"), "pt-BR": MessageTranslation(info: "20 %"),
      ])
    let campaigns = [
      CampaignFields(),
      CampaignFields(
        localTime: WallTime("2030-12-24T18:30"), endAt: Timestamp("2030-12-26T10:00:07Z"), onMissed: .nextDay,
        lateMinutes: 30,
        repeat: Repetition(every: .month, on: [.ofMonth(1), .ofMonth(31)], until: CalendarDay("2031-06-30")),
        spreadMinutes: 15, ratePerSecond: 50, quietHours: QuietHours("21:00-08:00/skip").map { .set($0) },
        ignoreCaps: true,
        variants: [
          MessageVariant(
            name: "A", share: 20,
            message: MessageBody(alert: "A", sound: "bell", translations: ["sv": MessageTranslation(alert: "Å")])),
          MessageVariant(name: "B <i>", share: 30, message: MessageBody(), template: "offer"),
        ], winner: WinnerRule(afterMinutes: 120, undecided: .stop), holdoutPercent: 5, pauseAtFailed: 0.125),
      CampaignFields(
        startAt: Timestamp("2030-07-01T21:13:00Z"),
        repeat: Repetition(every: .week, on: [.ofWeek(.mon), .ofWeek(.thu)]), quietHours: .lifted),
      CampaignFields(startAt: Timestamp("2030-07-01T21:13:00Z"), repeat: Repetition(every: .day)),
    ]
    for zone in [ConsoleZone(), ConsoleZone("Europe/Amsterdam")] {
      for campaign in campaigns {
        let values = ComposerForm.values(of: draft(campaign, message), apps: [], in: zone)
        let again = try composed(values, in: zone).request()
        #expect(again.campaign == campaign && again.message == message && again.draft == nil, "\(values)")
        // A new one does not start by its time before it was checked.
        let new = try composed(values, in: zone).request(isNew: true)
        #expect(new.draft == (campaign.hasTime ? true : nil), "\(values)")
      }
    }
  }

  @Test func `More languages than the page has fields for stand among the options, and others are added to them`()
    throws
  {
    let languages = (0..<11).map { (UTF8String("x-\($0)a"), MessageTranslation(alert: "\($0)")) }
    let message = MessageBody(alert: "Hi", translations: Dictionary(uniqueKeysWithValues: languages))
    var values = ComposerForm.values(of: draft(CampaignFields(), message), apps: [])
    #expect(values["translation.0.place"] == nil && values["message.translations"] != nil)
    #expect(try composed(values).request().message == message)
    values["translation.0.place"] = ["0"]
    values["translation.0.language"] = ["sv"]
    values["translation.0.alert"] = ["Hej"]
    let translations = try composed(values).request().message.translations
    #expect(translations?.count == 12 && translations?["sv"] == MessageTranslation(alert: "Hej"))
    values["translation.0.language"] = ["x-3a"]
    #expect(throws: HTTPErrorResponse.self) { try composed(values).request() }
  }

  @Test func `What the shares come to is said while one types`() {
    func shares(_ all: [String], _ winner: String? = nil) -> String {
      var values = winner.map { ["winner.afterMinutes": [$0]] } ?? [:]
      for (place, share) in all.enumerated() {
        values["variant.\(place).place"] = ["\(place)"]
        values["variant.\(place).share"] = [share]
      }
      return composed(values).shares
    }
    #expect(shares([]).isEmpty && shares(["100"]).isEmpty)
    #expect(shares(["40", " 60 "]) == "The shares add up to 100 %: each contact gets a variant.")
    #expect(shares(["40", "x"]).contains("add up to 40 %. Without a decision"))
    #expect(shares(["10", "10"], "240").hasPrefix("20 % of the contacts get a variant at once, and the other 80 %"))
    #expect(shares(["99", "99999999999999999999", "9223372036854775807"], "1").contains("leave somebody"))
  }

  @Test func `A moment is typed in the customer's zone, and stays exact where nobody touched it`() throws {
    let zone = ConsoleZone("Europe/Amsterdam")
    let exact = try #require(Timestamp("2030-07-01T21:13:07Z"))
    var values = ComposerForm.values(of: draft(CampaignFields(startAt: exact)), apps: [], in: zone)
    #expect(values["startAt"] == ["2030-07-01T23:13"])
    #expect(try composed(values, in: zone).request().campaign.startAt == exact)
    values["startAt"] = ["2030-07-01T23:14"]
    #expect(try composed(values, in: zone).request().campaign.startAt == Timestamp("2030-07-01T21:14:00Z"))
    // What belongs to another way is no part of the request.
    values["when"] = ["now"]
    #expect(try composed(values, in: zone).request().campaign == CampaignFields())
  }

  @Test func `The customer's zone, quiet hours and caps stand in the form`() async throws {
    try await withConsole { console in
      try await console.settle()
      let (hours, cap) = (try #require(QuietHours("21:00-08:00")), try #require(Cap("3/24h/marketing")))
      _ = try await Customers(console.database.pool).update(
        console.customer, CustomerUpdate(timeZone: "Europe/Stockholm", quietHours: .set(hours), caps: [cap]))
      let page = try await console.browser(.marketer).get("/console/new-sendout").text
      #expect(page.contains("In the zone Europe/Stockholm."), "\(page)")
      #expect(page.contains("21:00 to 08:00, held until they end"), "\(page)")
      #expect(page.contains("Caps of the customer: 3 marketing messages per 24 hours."), "\(page)")
    }
  }

  @Test func `What is refused stands at its field, and what was typed is kept`() async throws {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      let moment = ("when", "moment"), later = ("startAt", "2099-01-01T10:00")
      let sv = [("translation.0.place", "0"), ("translation.0.language", "sv")]
      let two = [
        ("variant.0.place", "0"), ("variant.0.name", "A"), ("variant.0.share", "50"), ("variant.4.place", "4"),
        ("variant.4.name", "B"), ("variant.4.share", "50"),
      ]
      let none: [(String, String)] = []
      let cases: [(base: [(String, String)], more: [(String, String)], id: String)] = [
        (none, [moment], "f-startAt"), (none, [moment, ("startAt", "2001-01-01T10:00")], "f-startAt"),
        (none, [moment, ("startAt", "soon")], "f-startAt"), (none, [("when", "local")], "f-localTime"),
        (none, [("when", "local"), ("localTime", "soon")], "f-localTime"),
        (none, [("repeat.every", "week")], "f-repeat-every"),
        (none, [moment, later, ("repeat.every", "month"), ("repeat.days", "32")], "f-repeat-days"),
        (none, [moment, later, ("repeat.every", "day"), ("repeat.until", "then")], "f-repeat-until"),
        (none, [moment, later, ("endAt", "2098-01-01T10:00")], "f-endAt"),
        (none, [("quietHours", "set"), ("quietHours.end", "08:00")], "f-quietHours-start"),
        (
          none, [("quietHours", "set"), ("quietHours.start", "25:00"), ("quietHours.end", "08:00")],
          "f-quietHours-start"
        ),
        (
          none, [("quietHours", "set"), ("quietHours.start", "08:00"), ("quietHours.end", "08:00")], "f-quietHours-end"
        ),
        (none, [("quietHours", "lifted"), ("purpose", "transactional")], "f-quietHours"),
        (none, [("holdoutPercent", "70")], "f-holdoutPercent"), (none, [("pauseAtFailed", "150")], "f-pauseAtFailed"),
        (none, [("spreadMinutes", "0")], "f-spreadMinutes"), (none, [("ratePerSecond", "many")], "f-ratePerSecond"),
        (sv, [("translation.0.alert", "{{#open")], "f-translation-0-alert"),
        (sv, [("translation.0.more", #"{"tone":1}"#)], "f-translation-0-more"),
        (sv, [("translation.1.place", "1"), ("translation.1.language", "SV")], "f-translation-1-language"),
        (none, [("translation.2.place", "2"), ("translation.2.alert", "Hej")], "f-translation-2-language"),
        (none, [("translation.0.place", "0"), ("translation.0.language", "in Swedish")], "f-translation-0-language"),
        (Array(two.prefix(3)), [], "f-variant-0-name"), (two, [("variant.0.share", "40")], "f-variant-0-share"),
        (two, [("variant.4.share", "half")], "f-variant-4-share"),
        (two, [("variant.4.name", "A")], "f-variant-4-name"),
        (two, [("variant.4.alert", "{{#open")], "f-variant-4-alert"),
        (two, [("variant.4.more", "sound")], "f-variant-4-more"),
        (two, [("variant.4.more", #"{"ttl":-1}"#)], "f-variant-4-more"),
        (two, [("variant.0.template", "none")], "f-variant-0-template"),
        (two, [("winner.afterMinutes", "0")], "f-winner-afterMinutes"),
      ]
      for (base, more, id) in cases {
        let fields = base + more
        _ = try await browser.get("/console/new-sendout")
        let names = Set(fields.map(\.0))
        let reply = try await browser.post("/console/new-sendout", form().filter { !names.contains($0.0) } + fields)
        #expect(reply.status == 400 && reply.text.contains("href=\"#\(id)\""), "\(fields): \(reply.text)")
        #expect(reply.text.contains("id=\"\(id)-error\""), "\(fields): \(reply.text)")
        #expect(reply.text.contains(#"value="Friday""#), "\(fields)")
      }
      #expect(try await console.database.query("SELECT FROM sendout").isEmpty)
    }
  }

  @Test func `Languages and variants are fieldsets that buttons add and remove, without JavaScript`() async throws {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("/console/new-sendout").text
      #expect(!page.contains("translation.0.language") && !page.contains("variant.0.name"))
      let first = try await browser.post("/console/new-sendout/preview", form(["act": "add.translation"])).text
      #expect(first.contains(#"name="translation.0.language""#) && !first.contains("translation.1."), "\(first)")
      let sv: KeyValuePairs = [
        "translation.0.place": "0", "translation.0.language": "sv", "translation.0.alert": "Hej",
        "act": "add.translation",
      ]
      let second = try await browser.post("/console/new-sendout/preview", form(sv)).text
      #expect(second.contains(#"name="translation.1.language""#) && second.contains(#"data-tab="sv""#), "\(second)")
      let both: KeyValuePairs = [
        "translation.0.place": "0", "translation.0.language": "sv", "translation.1.place": "1",
        "translation.1.language": "de", "act": "remove.translation.0",
      ]
      let rest = try await browser.post("/console/new-sendout/preview", form(both)).text
      #expect(!rest.contains("translation.0.") && rest.contains(#"data-tab="de""#), "\(rest)")

      let pair = try await browser.post("/console/new-sendout/preview", form(["act": "add.variant"])).text
      #expect(pair.contains(#"name="variant.0.name" type="text" value="A""#), "\(pair)")
      #expect(pair.contains(#"name="variant.1.name" type="text" value="B""#) && !pair.contains("variant.2."))
      let five = (0..<5).flatMap { [("variant.\($0).place", "\($0)"), ("variant.\($0).name", "\($0)")] }
      let sixth = try await browser.post("/console/new-sendout/preview", form() + five + [("act", "add.variant")]).text
      #expect(sixth.contains("variant.4.name") && !sixth.contains("variant.5.") && !sixth.contains("add.variant"))
      for act in ["add.everything", "remove.variant", "remove.variant.9", "", "add.variant.1.2"] {
        let reply = try await browser.post("/console/new-sendout/preview", form(["act": act]))
        #expect(reply.status == 200 && !reply.text.contains("variant.0.name"), "\(act)")
      }
    }
  }

  @Test func `Fields that few need stand where they are asked for, and a page with many fieldsets stays small`()
    async throws
  {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let languages = ["da", "de", "es", "fi", "fr", "it", "ja", "nl", "pt-BR", "sv"].enumerated().flatMap {
        [
          ("translation.\($0).place", "\($0)"), ("translation.\($0).language", $1),
          ("translation.\($0).alert", "In \($1), {{firstName}}"), ("translation.\($0).info", "More in \($1)"),
        ]
      }
      let variants = (0..<5).flatMap {
        [
          ("variant.\($0).place", "\($0)"), ("variant.\($0).name", "Variant \($0)"), ("variant.\($0).share", "20"),
          ("variant.\($0).alert", "Number \($0) for {{firstName}}"),
        ]
      }
      let all = form() + languages + variants + [("variant.2.url", "https://example.com/")]
      let page = try await browser.post("/console/new-sendout/preview", all)
      #expect(page.status == 200 && page.body.count < 60 * 1024, "\(page.body.count)")
      #expect(page.text.contains(#"value="more.translation.3""#) && !page.text.contains("translation.3.url"))
      // One that has something is shown.
      #expect(page.text.contains(#"name="variant.2.url""#) && !page.text.contains("more.variant.2"))
      let asked = try await browser.post("/console/new-sendout/preview", all + [("act", "more.translation.3")]).text
      for name in ["image", "url", "more"] { #expect(asked.contains(#"name="translation.3.\#(name)""#), "\(asked)") }
      #expect(!asked.contains("translation.4.url") && !asked.contains("more.translation.3"))
      // It stays so while one goes on.
      #expect(asked.contains(#"name="translation.3.all" value="true""#))
    }
  }

  @Test func `The preview shows a variant in a language, and the draft has all of them`() async throws {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let fields: KeyValuePairs = [
        "translation.0.place": "0", "translation.0.language": "sv", "translation.0.alert": "Hej {{firstName}}",
        "variant.0.place": "0", "variant.0.name": "A", "variant.0.share": "40", "variant.1.place": "1",
        "variant.1.name": "B", "variant.1.share": "60", "variant.1.alert": "Dear {{firstName}}",
        "variant.1.more": #"{"translations":{"sv":{"alert":"Bästa {{firstName}}"}}}"#, "contact": "user1",
      ]
      for (variant, language, text) in [
        ("", "", "Hi N1"), ("", "0", "Hej N1"), ("0", "0", "Hej N1"), ("1", "", "Dear N1"), ("1", "0", "Bästa N1"),
      ] {
        let preview = try await browser.post(
          "/console/new-sendout/preview",
          form(fields) + [("show.variant", variant), ("show.language", language)])
        #expect(preview.text.contains("<p>\(text)</p>"), "\(variant) \(language): \(preview.text)")
      }
      let saved = try await browser.post("/console/new-sendout", form(fields))
      #expect(saved.status == 303, "\(saved.text)")
      let draft = try await console.sendout()
      #expect(draft.message?.translations == ["sv": MessageTranslation(alert: "Hej {{firstName}}")])
      let variants = try #require(draft.campaign.variants)
      #expect(variants.map(\.name) == ["A", "B"] && variants.map(\.share) == [40, 60])
      #expect(variants[0].message == MessageBody())
      #expect(variants[1].message.translations == ["sv": MessageTranslation(alert: "Bästa {{firstName}}")])
      let check = try await browser.get("/console/sendouts/1/check?contact=user1&show.variant=1&show.language=0").text
      #expect(check.contains("<p>Bästa N1</p>") && check.contains("A 40 %, B 60 %"), "\(check)")
    }
  }

  @Test func `A draft with a time stays a draft until it is scheduled, by its moment or by local time`() async throws {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let local: KeyValuePairs = ["when": "local", "localTime": "2099-12-24T18:30", "onMissed": "now", "then": "check"]
      let saved = try await browser.post("/console/new-sendout", form(local))
      #expect(saved.status == 303, "\(saved.text)")
      #expect(try await console.sendout().state == .draft)
      let check = try await browser.get("/console/sendouts/1/check")
      #expect(check.text.contains("Schedule it") && !check.text.contains("Send to"), "\(check.text)")
      #expect(check.text.contains("2099-12-24, 18:30 by each contact"), "\(check.text)")
      let sent = try await browser.post(
        "/console/sendouts/1/check", [ComposerFields.seen(check), ("maximumContacts", "12")])
      #expect(sent.status == 303 && sent.header("Location") == "/console/sendouts/1", "\(sent.text)")
      let scheduled = try await console.sendout()
      #expect(scheduled.state == .scheduled && scheduled.maximumContacts == 12 && scheduled.nextAt != nil)
      #expect(scheduled.campaign == CampaignFields(localTime: WallTime("2099-12-24T18:30"), onMissed: .now))
      // What is scheduled is brought back before it is changed.
      let edit = try await browser.get("/console/sendouts/1/edit")
      #expect(edit.status == 409 && edit.text.contains("unschedule it first"), "\(edit.text)")
    }
  }

  @Test func `The strip shows which zones come when, and stores nothing`() async throws {
    try await withConsole { console in
      try await console.settle()
      try await console.database.query("UPDATE contact SET time_zone = 'Asia/Tokyo' WHERE first_name = 'N1'")
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let fields: KeyValuePairs = ["when": "local", "localTime": "2099-12-24T18:30", "act": "zones"]
      let page = try await browser.post("/console/new-sendout/preview", form(fields))
      #expect(page.status == 200 && page.text.contains("zones-title"), "\(page.text)")
      #expect(page.text.contains("24 Dec 2099, 09:30") && page.text.contains("24 Dec 2099, 18:30"), "\(page.text)")
      #expect(page.text.contains(#"<th scope="row">Asia/Tokyo</th><td>the contact</td>"#), "\(page.text)")
      #expect(try await console.database.query("SELECT FROM sendout").isEmpty)
      let wrong = try await browser.post("/console/new-sendout/preview", form(["when": "local", "act": "zones"]))
      #expect(wrong.status == 400 && wrong.text.contains(##"href="#f-localTime""##), "\(wrong.text)")
    }
  }

  @Test func `Texts of languages and variants are text everywhere`() async throws {
    try await withConsole { console in
      try await console.settle()
      let canary = "<script>alert(1)</script>\"'"
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let fields: KeyValuePairs = [
        "translation.0.place": "0", "translation.0.language": "sv", "translation.0.alert": canary,
        "variant.0.place": "0", "variant.0.name": canary, "variant.0.share": "50", "variant.0.info": canary,
        "variant.1.place": "1", "variant.1.name": "B", "variant.1.share": "50", "show.variant": "0",
      ]
      let preview = try await browser.post("/console/new-sendout/preview", form(fields))
      #expect(preview.status == 200 && !preview.text.contains("<script>alert"), "\(preview.text)")
      let tag = try await browser.post(
        "/console/new-sendout/preview", form(["translation.0.place": "0", "translation.0.language": canary]))
      #expect(tag.status == 200 && !tag.text.contains("<script>alert") && tag.shows(canary), "\(tag.text)")
      let saved = try await browser.post("/console/new-sendout", form(fields))
      #expect(saved.status == 303, "\(saved.text)")
      for page in ["edit", "check", "undo"] {
        let reply = try await browser.get("/console/sendouts/1/\(page)")
        #expect(reply.status == 200 && !reply.text.contains("<script>alert"), "\(page)")
        #expect(page == "undo" || reply.shows(canary), "\(page): \(reply.text)")
      }
    }
  }

  // MARK: Charts

  @Test func `The bars of a waterfall are together as long as that of everyone`() throws {
    for counts in [[100, 3, 1, 4, 5, 2, 0, 0, 85], [7, 1, 1, 1, 1, 1, 1, 0, 1], [3, 3, 0, 0, 0, 0, 0, 0, 0]] {
      let steps = zip(PreflightReply.StepName.allCases, counts).map { PreflightReply.Step(name: $0, contacts: $1) }
      let html = Waterfall(steps).markup.html
      let bars = html.matches(of: #/<rect class="column (s\d)" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/#).map {
        (series: String($0.1), x: Double($0.2) ?? -1, width: Double($0.3) ?? -1)
      }
      #expect(bars.count == counts.filter { $0 > 0 }.count, "\(html)")
      let everyone = try #require(bars.first(where: { $0.series == "s1" }))
      let others = bars.filter { $0.series != "s1" }
      #expect(abs(others.reduce(0) { $0 + $1.width } - everyone.width) < 0.001, "\(html)")
      // Each begins where the one above ends, from right to left.
      var edge = everyone.x + everyone.width
      for bar in others {
        #expect(abs(bar.x + bar.width - edge) < 0.001, "\(html)")
        edge = bar.x
      }
      #expect(abs(edge - everyone.x) < 0.001, "\(html)")
      let rows = html.matches(of: #/<th scope="row">[^<]+</th><td class="num">(\d+)</td>/#).compactMap { Int($0.1) }
      #expect(rows == counts && rows.dropFirst().reduce(0, +) == rows[0], "\(html)")
    }
    let none = Waterfall([PreflightReply.Step(name: .everyone, contacts: 0)]).markup.html
    #expect(!none.contains("NaN") && !none.contains("<rect"))
  }

  @Test func `A strip has a column for each moment, and a row for each zone`() throws {
    let (first, last) = (Timestamp("2030-12-24T09:30:00Z"), Timestamp("2030-12-24T17:30:00Z"))
    let zones = [
      PreflightReply.Zone(zone: "Asia/Tokyo", source: .contact, plannedAt: first, contacts: 5),
      PreflightReply.Zone(zone: "Europe/Berlin", source: .device, plannedAt: last, contacts: 20),
      PreflightReply.Zone(zone: "<i>", source: .customer, plannedAt: last, contacts: 1),
      PreflightReply.Zone(zone: "Pacific/Auckland", source: .country, contacts: 2),
    ]
    var told = PreflightReply.example
    told.zones = zones
    let html = ZoneStrip(told, in: ConsoleZone("Europe/Berlin"), hasLocalTime: true).markup.html
    #expect(html.matches(of: #/<rect /#).count == 2 && !html.contains("<i>") && html.contains("&lt;i&gt;"), "\(html)")
    #expect(html.contains("24 Dec 2030, 18:30: 21 contacts, Europe/Berlin, &lt;i&gt;"), "\(html)")
    #expect(html.contains("over already") && html.contains("their country"), "\(html)")
    told.zones = (1...60).map { PreflightReply.Zone(zone: "Zone/\($0)", source: .contact, contacts: 2) }
    let many = ZoneStrip(told, in: ConsoleZone(), hasLocalTime: false).markup.html
    #expect(!many.contains("<svg") && many.contains("20 more") && many.contains(#"<td class="num">40</td>"#), "\(many)")
  }
}
