import Postgres
import Support
import Testing
import Wire

@Suite struct ExportCommandTests {
  @Test func `Contacts are listed and exported by a filter, as a line or a tree`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      try await bench.database.query("UPDATE contact SET country = 'SE' WHERE original_id <> 'user2@example.com'")
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      for filter in ["country = 'SE'", #"{"field":"country","op":"=","value":"SE"}"#] {
        let listed = try await pushcart.run(
          ["contact", "list", "--query", "user", "--filter", filter, "--json"] + customer)
        let ids = try listed.json.array("items")?.compactMap { $0.string("originalId") }
        #expect(ids == ["user1@example.com", "user3@example.com"], "\(listed.errors)")
        let exported = try await pushcart.run(
          ["export", "contacts", "--columns", "originalId", "--filter", filter] + customer)
        #expect(exported.output == "originalId\nuser1@example.com\nuser3@example.com\n", "\(exported.errors)")
        #expect(exported.errors == "2 contacts exported.\n")
      }
      for command in [["contact", "list"], ["export", "contacts"]] {
        let wrong = try await pushcart.run(command + ["--filter", "contry = 'SE'"] + customer)
        #expect(wrong.status != 0 && wrong.errors.contains("did you mean country?"), "\(wrong.errors)")
      }
    }
  }

  @Test func `An export of a sendout that does not exist writes nothing, and names its option`() async throws {
    try await withSendingBench { bench in
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let refused = try await pushcart.run(["export", "pushes", "--customer", "\(bench.customer)", "--sendout", "8"])
      #expect(refused.status == 1 && refused.output.isEmpty, "\(refused)")
      #expect(refused.errors == "Error: --sendout names sendout 8, and there is none of this number.\n", "\(refused)")
    }
  }

  @Test func `A condition that looks back further than the hub keeps the ledger is refused at the command line, too`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      var pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      func export(_ filter: String, _ pushcart: Pushcart) async throws -> Pushcart.Outcome {
        try await pushcart.run(
          ["export", "contacts", "--columns", "originalId", "--filter", filter, "--customer", "\(bench.customer)"])
      }
      #expect(try await export("not received", pushcart).output == "originalId\nuser1@example.com\n")
      pushcart.environment["PUSHCART_RETENTION_DAYS"] = "30"
      for (filter, word) in [
        ("not received", "pushes are kept for 30 days"), ("not received within 31 days", "further than the 30 days"),
      ] {
        let refused = try await export(filter, pushcart)
        #expect(refused.status == 1 && refused.errors.contains(word) && refused.output.isEmpty, "\(refused.errors)")
      }
      #expect(try await export("not received within 30 days", pushcart).output == "originalId\nuser1@example.com\n")
      // A customer's own retention counts, too.
      try await bench.database.query("UPDATE customer SET retention_days = 7")
      let own = try await export("not received within 30 days", pushcart)
      #expect(own.status == 1 && own.errors.contains("further than the 7 days"), "\(own.errors)")
    }
  }
}
