import Delivery
import Foundation
import Sendouts
import Support
import Testing
import Wire

@testable import Pushcart

/// Commands about when sendouts go, whom they leave out and what they say.
@Suite struct CampaignCommandTests {
  /// The commands and the options that name the bench's customer.
  private func commands(_ bench: SendingBench) -> (pushcart: Pushcart, customer: [String]) {
    (
      Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey),
      ["--customer", "\(bench.customer)"]
    )
  }

  /// What the table of a sendout's fields says.
  private func facts(_ outcome: Pushcart.Outcome) -> [String: String] {
    outcome.output.split(separator: "\n").reduce(into: [:]) { facts, line in
      let cells = line.split(separator: #/ {2,}/#, maxSplits: 1)
      if cells.count == 2 { facts[String(cells[0])] = String(cells[1]) }
    }
  }

  /// Whole seconds, an hour ahead.
  private var due: Timestamp { Timestamp(Date(timeIntervalSince1970: Date.now.timeIntervalSince1970.rounded() + 3600)) }

  private let send = ["send", "--app", SendingBench.appID, "--alert", "x"]

  @Test func `A sendout is scheduled, brought back and scheduled by its digest`() async throws {
    try await withSendingBench { bench in
      let (pushcart, customer) = commands(bench)
      let due = due
      let sent = try await pushcart.run(send + ["--all", "--start-at", "\(due)", "--late-minutes", "5"] + customer)
      let first = "Sendout 1, x, to com.acme.app (ios): "
      #expect(sent.output.hasPrefix("\(first)scheduled\n"), "\(sent.errors)")
      #expect(facts(sent)["starts"] == due.inUTC && facts(sent)["late"] == "up to 5 minutes", "\(sent)")
      let listed = try await pushcart.run(["sendout", "list", "--state", "scheduled"] + customer)
      #expect(listed.output.contains("scheduled  ") && listed.output.contains(due.forPeople), "\(listed)")
      let back = try await pushcart.run(["sendout", "unschedule", "1"] + customer)
      #expect(back.output.hasPrefix("\(first)draft\n"), "\(back.errors)")
      let digest = try #require(
        try await pushcart.run(["sendout", "preflight", "1", "--json"] + customer).json.string("digest"))
      let schedule = ["sendout", "schedule", "1", "--maximum-contacts", "50", "--json", "--digest"]
      let refused = try await pushcart.run(schedule + ["x"] + customer)
      #expect(refused.status == 1 && refused.errors.contains("has changed since you looked at it"), "\(refused)")
      let scheduled = try await pushcart.run(schedule + [digest] + customer)
      #expect(try scheduled.json.string("state") == "scheduled", "\(scheduled.errors)")
      #expect(try scheduled.json.integer("maximumContacts") == 50 && scheduled.json.string("nextAt") == "\(due)")
      let most = try await pushcart.run(["sendout", "schedule", "1", "--maximum-contacts", "0"] + customer)
      #expect(most.status == 64)
    }
  }

  @Test func `A draft keeps its times, and a time that is over is refused`() async throws {
    try await withSendingBench { bench in
      let (pushcart, customer) = commands(bench)
      let draft = try await pushcart.run(
        send + ["--all", "--local-time", "2036-12-24T18:30", "--draft", "--json"] + customer)
      #expect(try draft.json.string("state") == "draft", "\(draft.errors)")
      #expect(try draft.json.string("localTime") == "2036-12-24T18:30")
      let changed = try await pushcart.run(
        ["sendout", "change", "1"] + send.dropFirst() + ["--all", "--spread-minutes", "30", "--json"] + customer)
      #expect(try changed.json.integer("spreadMinutes") == 30, "\(changed.errors)")
      #expect(try changed.json.string("localTime") == nil)
      let over = try await pushcart.run(send + ["--all", "--start-at", "2020-01-01T00:00:00Z"] + customer)
      #expect(over.status == 1 && over.errors.contains("--start-at is over: give a moment to come"), "\(over)")
    }
  }

  @Test func `A sendout is shown with its times, limits and variants`() async throws {
    try await withSendingBench { bench in
      let (pushcart, customer) = commands(bench)
      let folder = try TemporaryDirectory(named: "variants")
      defer { folder.remove() }
      for (name, json) in [
        ("variants", #"[{"name":"A","share":20,"message":{}},{"name":"B","share":30,"message":{"alert":"y"}}]"#),
        ("translations", #"{"sv":{"alert":"Hej"},"pt-BR":{"alert":"Oi"}}"#),
      ] {
        try json.write(toFile: "\(folder.path)/\(name).json", atomically: true, encoding: .utf8)
      }
      let options = [
        "--local-time", "2036-12-24T18:30", "--on-missed", "nextDay", "--end-at", "2036-12-27T00:00:00Z",
        "--late-minutes", "90", "--spread-minutes", "30", "--rate-per-second", "500", "--quiet-hours", "21:00-08:00",
        "--ignore-caps", "--holdout-percent", "5", "--pause-at-failed", "0.5", "--winner-after-minutes", "240",
        "--variants", "\(folder.path)/variants.json", "--translations", "\(folder.path)/translations.json",
        "--exclude", "country = 'SE'",
      ]
      let sent = try await pushcart.run(send + ["--all"] + options + customer)
      #expect(sent.status == 0, "\(sent.errors)")
      let shown = facts(try await pushcart.run(["sendout", "show", "1"] + customer))
      let expected = [
        "audience": "every contact, without those who meet country = 'SE'", "alert": "x", "languages": "pt-BR, sv",
        "purpose": "marketing", "local time": "2036-12-24T18:30 by each contact's clock",
        "where that is over": "sent a day later", "ends": "2036-12-27 00:00:00 (UTC)", "late": "up to 90 minutes",
        "spread": "over 30 minutes", "rate": "up to 500 pushes a second", "quiet hours": "21:00-08:00/hold",
        "caps": "ignored", "held out": "5 %", "pauses at failures": "0.5", "variants": "A 20 %, B 30 %",
        "decision": "after 240 minutes; if none wins: hold",
      ]
      for (name, value) in expected { #expect(shown[name] == value, "\(name): \(shown)") }
      let next = try await pushcart.run(["sendout", "show", "1", "--json"] + customer).json.string("nextAt")
      #expect(shown["next"] != nil && shown["next"] == next.flatMap { Timestamp($0) }?.inUTC, "\(shown)")
      let listed = try await pushcart.run(["sendout", "list"] + customer)
      #expect(listed.output.contains("  scheduled  ") && listed.output.contains("2036-12-24T18:30 by each clock"))
      try await bench.database.query("UPDATE sendout SET state = 'paused', halt_reason = 'late 61'")
      let halted = try await pushcart.run(["sendout", "list"] + customer)
      #expect(halted.output.contains("  paused: late  "), "\(halted)")
    }
  }

  @Test func `A series is begun, and ended`() async throws {
    try await withSendingBench { bench in
      let (pushcart, customer) = commands(bench)
      let sent = try await pushcart.run(
        send + ["--all", "--start-at", "\(due)", "--repeat-every", "day", "--repeat-until", "2036-01-31"] + customer)
      #expect(facts(sent)["series"] == "1, time 1", "\(sent)")
      #expect(facts(sent)["repeats"] == "each day until 2036-01-31", "\(sent)")
      let ended = try await pushcart.run(["sendout", "series-end", "1"] + customer)
      #expect(ended.output == "Series 1 has ended. Cancelled: sendout 1.\n", "\(ended.errors)")
      #expect(try await pushcart.run(["sendout", "series-end", "1"] + customer).output == "Series 1 has ended.\n")
      #expect(try await pushcart.run(["sendout", "series-end", "2"] + customer).status == 1)
    }
  }

  @Test func `A preflight draws steps whose numbers and bars add up`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(4)
      let (pushcart, customer) = commands(bench)
      _ = try await pushcart.run(["suppression", "add", "--original-id", "user4@example.com"] + customer)
      let draft = try await pushcart.run(
        send + ["--all", "--exclude", "originalId = 'user3@example.com'", "--draft"] + customer)
      #expect(draft.status == 0, "\(draft.errors)")
      let told = try await pushcart.run(["sendout", "preflight", "1"] + customer)
      let lines = told.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      guard lines.count > 12 else {
        Issue.record("\(told)")
        return
      }
      func row(_ step: String, _ contacts: Int, _ from: Int, _ to: Int) -> String {
        let bar = String(repeating: " ", count: from) + String(repeating: "█", count: to - from)
        let name = step.padding(toLength: 10, withPad: " ", startingAt: 0)
        return "\(name)         \(contacts)\(from == to ? "" : "  \(bar)")"
      }
      #expect(lines[0] == "Step        Contacts")
      #expect(
        Array(lines[2...10]) == [
          row("everyone", 4, 0, 40), row("excluded", 1, 30, 40), row("suppressed", 1, 20, 30),
          row("no_device", 0, 20, 20), row("held_out", 0, 20, 20), row("capped", 0, 20, 20), row("quiet", 0, 20, 20),
          row("missed", 0, 20, 20), row("left", 2, 0, 20),
        ])
      #expect(told.output.contains("com.acme.app  ios             2\n"), "\(told)")
      let digest = try await pushcart.run(["sendout", "show", "1", "--json"] + customer).json.string("digest")
      #expect(told.output.hasSuffix("\nDigest: \(digest ?? "")\n"))
    }
  }

  @Test func `A copy is a draft without times, and one for those who failed needs pushes`() async throws {
    try await withSendingBench { bench in
      let (pushcart, customer) = commands(bench)
      _ = try await pushcart.run(send + ["--all", "--start-at", "\(due)", "--spread-minutes", "10"] + customer)
      let copy = try await pushcart.run(["sendout", "copy", "1", "--json"] + customer)
      #expect(try copy.json.string("state") == "draft" && copy.json.integer("sendoutId") == 2, "\(copy.errors)")
      #expect(try copy.json.string("startAt") == nil)
      let failed = try await pushcart.run(["sendout", "copy", "1", "--audience", "failed"] + customer)
      #expect(failed.status == 1 && failed.errors.contains("There are no pushes of sendout 1"), "\(failed)")
      #expect(try await pushcart.run(["sendout", "copy", "1", "--audience", "nobody"] + customer).status == 64)
    }
  }

  @Test func `A test tells who gets it, and fails if nobody does`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let (pushcart, customer) = commands(bench)
      _ = try await pushcart.run(send + ["--all", "--draft"] + customer)
      let test = ["sendout", "test", "1", "--to"]
      let sent = try await pushcart.run(test + ["user1@example.com", "nobody"] + customer)
      #expect(sent.status == 0 && sent.output.hasPrefix("Sent: "), "\(sent)")
      #expect(sent.output.hasSuffix("\nUnknown: nobody\n"))
      let unknown = try await pushcart.run(test + ["nobody"] + customer)
      #expect(unknown.status == 1 && unknown.output == "Unknown: nobody\n", "\(unknown)")
      let variant = try await pushcart.run(test + ["user1@example.com", "--variant", "B"] + customer)
      #expect(
        variant.status == 1 && variant.errors.contains("--variant names no variant of this sendout, which has none"),
        "\(variant)")
      let shown = facts(try await pushcart.run(["sendout", "show", "2"] + customer))
      #expect(shown["kind"] == "test of 1", "\(shown)")
      let listed = try await pushcart.run(["sendout", "list"] + customer)
      #expect(listed.output.contains("  test of 1  ") && listed.output.contains("  broadcast  "), "\(listed)")
      let many = try await pushcart.run(test + (1...21).map { "user\($0)@example.com" } + customer)
      #expect(many.status == 64 && many.errors.contains("--to takes 1 to 20 original ids."), "\(many)")
    }
  }

  @Test func `A winner is chosen, once`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(20)
      let (pushcart, customer) = commands(bench)
      let folder = try TemporaryDirectory(named: "variants")
      defer { folder.remove() }
      let file = "\(folder.path)/variants.json"
      try #"[{"name":"A","share":20,"message":{}},{"name":"B","share":20,"message":{"alert":"y"}}]"#
        .write(toFile: file, atomically: true, encoding: .utf8)
      let sent = try await pushcart.run(
        send + ["--all", "--variants", file, "--winner-after-minutes", "240", "--winner-undecided", "hold"] + customer)
      #expect(sent.output == "Sendout 1 is started.\n", "\(sent.errors)")
      let key = SendoutKey(bench.customer, SendoutID(1))
      try await bench.withHubs {
        try await bench.until(key) { $0.frozenAt != nil }
        let shown = try await pushcart.run(["sendout", "show", "1"] + customer)
        #expect(facts(shown)["winner"]?.hasPrefix("decided at ") == true, "\(shown)")
        let chosen = try await pushcart.run(["sendout", "winner", "1", "--variant", "B"] + customer)
        #expect(facts(chosen)["winner"] == "B, by person", "\(chosen)")
        try await bench.until(key, .finished)
      }
      let other = try await pushcart.run(["sendout", "winner", "1", "--variant", "A"] + customer)
      #expect(other.status == 1 && other.errors.contains("Sendout 1 has its winner already."), "\(other)")
    }
  }

  @Test func `Quiet hours, caps and the time zone are set, shown and removed`() async throws {
    try await withSendingBench { bench in
      let (pushcart, customer) = commands(bench)
      let update = ["customer", "update"] + customer
      let set = try await pushcart.run(
        update + [
          "--quiet-hours", "21:00-08:00", "--time-zone", "Europe/Stockholm", "--cap", "3/24h", "10/7d/marketing",
          "--json",
        ])
      #expect(try set.json["quietHours"] == ["start": "21:00", "end": "08:00", "policy": "hold"], "\(set.errors)")
      #expect(
        try set.json["caps"] == [["count": 3, "per": "24h"], ["count": 10, "per": "7d", "purpose": "marketing"]])
      #expect(try set.json.string("timeZone") == "Europe/Stockholm")
      let listed = try await pushcart.run("customer", "list")
      #expect(listed.output.contains("Europe/Stockholm  21:00-08:00/hold  3/24h, 10/7d marketing"), "\(listed)")
      let uncapped = try await pushcart.run(update + ["--cap", ""])
      #expect(uncapped.output.contains("Quiet hours: 21:00-08:00/hold. Caps: none.\n"), "\(uncapped)")
      let loud = try await pushcart.run(update + ["--quiet-hours", "", "--json"])
      #expect(try loud.json["quietHours"] == nil && loud.json["caps"] == [], "\(loud.errors)")
      for (arguments, sentence) in [
        (["--quiet-hours", "21:00-21:00"], "they end when they begin: give another end"),
        (["--quiet-hours", "21:00"], "write them as 21:00-08:00, or 21:00-08:00/skip"),
        (["--cap", "3"], "write it as 3/24h, or 3/24h/marketing: 1 to 100 times within 1h to 720h, or 1d to 30d"),
        ([], "Give --name"),
      ] {
        let refused = try await pushcart.run(update + arguments)
        #expect(refused.status == 64 && refused.errors.contains(sentence), "\(arguments): \(refused)")
        if let option = arguments.first { #expect(refused.errors.contains("invalid for '\(option) "), "\(refused)") }
      }
      let zone = try await pushcart.run(update + ["--time-zone", "CET"])
      #expect(zone.errors.hasPrefix("Error: --time-zone must be a name of the IANA database"), "\(zone)")
      let caps = try await pushcart.run(update + ["--cap", "1/1h", "2/2h", "3/3h", "4/4h", "5/5h", "6/6h"])
      #expect(caps.status == 1 && caps.errors.contains("--cap has more than 5 rules"), "\(caps)")
    }
  }
}
