import Foundation
import Postgres
import Support
import Testing
import Wire

@Suite struct SegmentCommandTests {
  @Test func `Segments are added, counted, explained and removed at the command line`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      try await bench.database.query("UPDATE contact SET country = 'SE' WHERE original_id = 'user1@example.com'")
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      let added = try await pushcart.run(
        ["segment", "add", "--name", "Swedes", "--filter", "country = 'SE'"] + customer)
      #expect(added.output == "Segment 1, Swedes, is added.\n", "\(added.errors)")
      let listed = try await pushcart.run(["segment", "list"] + customer)
      #expect(listed.output.contains("country = 'SE'"))
      let contacts = try await pushcart.run(["segment", "contacts", "1"] + customer)
      #expect(contacts.output.contains("user1@example.com") && !contacts.output.contains("user2@example.com"))
      for command in [
        ["1"], ["1", "--exact"], ["Swedes"], ["--filter", "in segment 'Swedes'", "--exact"],
        ["--filter", #"{"segment":"Swedes"}"#],
      ] {
        let counted = try await pushcart.run(["segment", "count"] + command + customer)
        #expect(counted.output.hasPrefix("1 contacts, with 1 valid devices.\n"), "\(counted)")
      }
      let explained = try await pushcart.run(["segment", "explain", "1", "--to", "user2@example.com"] + customer)
      #expect(explained.output.hasPrefix("The contact does not meet the filter.\n"), "\(explained.errors)")
      let found = try await pushcart.run(["segment", "search", "--filter", "not in segment 1", "--json"] + customer)
      #expect(try found.json.array("items")?.compactMap { $0.string("originalId") } == ["user2@example.com"])
      let used = try await pushcart.run(
        ["segment", "add", "--name", "Others", "--filter", "not in segment 1"] + customer)
      #expect(used.status == 0, "\(used.errors)")
      let refused = try await pushcart.run(["segment", "delete", "1"] + customer)
      #expect(refused.status == 1 && refused.errors.contains("The segment is used by segment Others."))
      #expect(
        try await pushcart.run(["segment", "delete", "2"] + customer).output == "Segment 2, Others, is removed.\n")
    }
  }

  @Test func `Contacts are put into a static segment, and a sendout goes to it`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      _ = try await pushcart.run(["segment", "add", "--name", "VIP", "--static"] + customer)
      let changed = try await pushcart.run(
        ["segment", "change", "1", "--add", "user1@example.com", "user2@example.com", "nobody"] + customer)
      #expect(
        changed.output == "2 joined segment 1; 0 left it.\nNo contact has the original id nobody.\n",
        "\(changed.errors)")
      let count = try await pushcart.run(
        [
          "sendout", "audience", "--app", SendingBench.appID, "--segment", "1", "--exclude",
          "originalId = 'user2@example.com'", "--json",
        ] + customer)
      #expect(try count.json.array("apps")?.compactMap { $0.integer("devices") } == [1], "\(count.errors)")
    }
  }

  @Test func `Lists and segments are named by a name or a number`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      _ = try await pushcart.run(["segment", "add", "--name", "-VIP", "--static"] + customer)
      _ = try await pushcart.run(["segment", "change", "1", "--add", "user1@example.com"] + customer)
      for (name, id) in [("news", "5"), ("old news", "6")] {
        _ = try await pushcart.run(["list", "add", "--name", name, "--list-id", id] + customer)
      }
      _ = try await pushcart.run(["list", "change", "5", "--add", "user2@example.com"] + customer)
      _ = try await pushcart.run(["list", "change", "6", "--add", "user2@example.com", "user3@example.com"] + customer)
      for (audience, devices) in [
        (["--segment", "-VIP"], Int64(1)), (["--segment", "1"], 1), (["--list", "news"], 1), (["--list", "6"], 2),
        (["--list", "news", "old news"], 2), (["--list", "5", "old news"], 2),
      ] {
        let count = try await pushcart.run(
          ["sendout", "audience", "--app", SendingBench.appID, "--json"] + audience + customer)
        #expect(
          try count.json.array("apps")?.compactMap { $0.integer("devices") } == [devices],
          "\(audience): \(count.errors)")
      }
      let draft = try await pushcart.run(
        ["send", "--app", SendingBench.appID, "--alert", "x", "--draft", "--list", "news", "--exclude", "has device"]
          + customer)
      #expect(
        draft.output.contains("audience  contacts who meet in list 5, without those who meet has device\n"), "\(draft)")
      let unknown = try await pushcart.run(
        ["sendout", "audience", "--app", SendingBench.appID, "--segment", "VIP"] + customer)
      #expect(unknown.status == 1 && unknown.errors.contains("names segment 'VIP', and there is none"), "\(unknown)")

      let folder = try TemporaryDirectory(named: "imports")
      defer { folder.remove() }
      let file = "\(folder.path)/contacts.csv"
      try "originalId\nuser3@example.com\n".write(toFile: file, atomically: true, encoding: .utf8)
      for option in ["--segment", "--list"] {
        let refused = try await pushcart.run(["import", file, option, "nobody"] + customer)
        #expect(
          refused.status == 1 && refused.errors.contains("\(option) names \(option.dropFirst(2)) 'nobody'"),
          "\(refused)")
      }
      #expect(try await bench.database.query("SELECT FROM import").isEmpty)
      // Its heading is none that is known, so the command does not wait for a hub.
      try "nothing\nuser3@example.com\n".write(toFile: file, atomically: true, encoding: .utf8)
      _ = try await pushcart.run(["import", file, "--segment", "-VIP"] + customer)
      let stored = try await bench.database.query("SELECT segment_id FROM import")
      #expect(try stored.map { try $0.decode(Int64.self) } == [1])
    }
  }

  @Test func `A thing that has a name is shown, changed and put on by it, and a refusal names the argument`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      func run(_ arguments: String...) async throws -> Pushcart.Outcome { try await pushcart.run(arguments + customer) }
      _ = try await run("segment", "add", "--name", "The few", "--static")
      for (name, id) in [("news", "5"), ("old news", "6"), ("5", "7")] {
        _ = try await run("list", "add", "--name", name, "--list-id", id)
      }
      _ = try await run("trigger", "add", "--name", "Order", "--app", SendingBench.appID, "--alert", "x")
      for (arguments, output) in [
        (["list", "show", "old news"], "List 6, old news, has 0 members.\n"),
        // Digits alone are a number.
        (["list", "show", "5"], "List 5, news, has 0 members.\n"),
        (["list", "change", "news", "--add", "user1@example.com"], "1 joined list 5; 0 left it.\n"),
        (["list", "members", "old news"], "Nobody of list 6 is here.\n"),
        (["segment", "change", "The few", "--add", "user2@example.com"], "1 joined segment 1; 0 left it.\n"),
        (["segment", "update", "The few", "--name", "A few"], "Segment 1, A few, is changed.\n"),
        (["segment", "delete", "A few"], "Segment 1, A few, is removed.\n"),
        (["trigger", "update", "Order", "--description", "By the shop"], "Trigger 1, Order, is changed.\n"),
        (["trigger", "remove", "Order"], "Trigger 1, Order, is removed.\n"),
      ] {
        let outcome = try await pushcart.run(arguments + customer)
        #expect(outcome.output == output, "\(arguments): \(outcome.errors)")
      }
      let lists = "SELECT list_id FROM list_member ORDER BY list_id"
      func numbers() async throws -> [Int64] {
        try await bench.database.query(lists).map { try $0.decode(Int64.self) }
      }
      #expect(try await run("contact", "update", "user1@example.com", "--list-ids", "old news", "7").status == 0)
      #expect(try await numbers() == [6, 7])
      let refused = [
        (["list", "show", "new"], "<list> names list 'new', and there is none of this name."),
        (["list", "members", "8"], "<list> names list 8, and there is none of this number."),
        (["list", "show", "0"], "<list> names list 0, and there is none of this number."),
        (["segment", "count", "9"], "<segment> names segment 9, and there is none of this number."),
        (["segment", "count", "A few"], "<segment> names segment 'A few', and there is none of this name."),
        (
          ["segment", "explain", "9", "--to", "user1@example.com"],
          "<segment> names segment 9, and there is none of this number."
        ),
        (["segment", "count", "--filter", "in segment 9"], "--filter at 12: there is no segment 9."),
        (["trigger", "show", "order"], "<trigger> names trigger 'order', and there is none of this name."),
        (
          ["trigger", "send", "9", "--to", "user1@example.com"],
          "<trigger> names trigger 9, and there is none of this number."
        ),
        (
          ["contact", "update", "user1@example.com", "--list-ids", "5", "new"],
          "--list-ids names list 'new', and there is none of this name."
        ),
        (
          ["contact", "put", "user1@example.com", "--list-ids", "8"],
          "--list-ids names list 8, and there is none of this number."
        ),
      ]
      for (arguments, sentence) in refused {
        let outcome = try await pushcart.run(arguments + customer)
        #expect(outcome.status == 1 && outcome.errors == "Error: \(sentence)\n", "\(arguments): \(outcome)")
      }
      #expect(try await numbers() == [6, 7])
      #expect(try await run("contact", "update", "user1@example.com", "--list-ids", "").status == 0)
      #expect(try await numbers().isEmpty)
    }
  }

  @Test func `A filter that cannot be read names the character`() async throws {
    try await withSendingBench { bench in
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      for command in [
        ["segment", "add", "--name", "A"], ["segment", "count"], ["segment", "search"],
        ["send", "--app", "a", "--alert", "x"],
      ] {
        let refused = try await pushcart.run(command + ["--filter", "country = 'SE' and contry = 'NO'"] + customer)
        #expect(refused.status == 64 && refused.errors.contains("at 20: no field is called contry"), "\(refused)")
      }
      for command in [
        ["segment", "add", "--name", "A"], ["segment", "count"], ["segment", "count", "1", "--filter", "everyone"],
        ["send", "--app", "a", "--alert", "x", "--all", "--segment", "1"],
      ] {
        #expect(try await pushcart.run(command + customer).status == 64, "\(command)")
      }
    }
  }
}
