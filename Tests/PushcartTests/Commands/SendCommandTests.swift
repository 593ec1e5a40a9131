import Delivery
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

@Suite struct SendCommandTests {
  @Test func `Sending with --wait shows the progress and ends with the counts`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: MasterKeys.generate())
      let outcome = try await bench.withHubs {
        try await pushcart.run(
          "send", "--customer", "\(bench.customer)", "--app", SendingBench.appID, "--to", "user1@example.com",
          "user2@example.com", "nobody@example.com", "--alert", "Hi {{firstName}}", "--wait", "--json")
      }
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(try outcome.json.string("state") == "finished")
      #expect(try outcome.json["counts"]?.integer("accepted") == 2)
      #expect(try outcome.json.integer("unknownOriginalIds") == 1)
      let lines = outcome.errors.split(separator: "\n")
      #expect(lines.last == "sendout 1 finished: 100 %, audience 2, sent 2, accepted 2")
      #expect(!outcome.errors.contains("\u{1B}"))
    }
  }

  @Test func `Waiting while no hub serves prints a hint`() async throws {
    try await withSendingBench { bench in
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: MasterKeys.generate())
      let made = try await bench.send()
      async let outcome = pushcart.run(
        "sendout", "show", "\(made.sendout)", "--customer", "\(bench.customer)", "--watch", "--json")
      try await bench.untilHubsAreLookedFor()
      _ = try await bench.sendouts.cancel(bench.customer, made.sendout)
      #expect(
        try await outcome.errors.hasPrefix(
          "No hub seems to serve this database, and the sendout waits for one: pushcart serve\n"))
      #expect(try await outcome.status == 0)
      #expect(try await outcome.json.string("state") == "cancelled")
    }
  }

  @Test func `A cancelled sendout ends the wait with status 1`() async throws {
    try await withSendingBench { bench in
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: MasterKeys.generate())
      async let outcome = pushcart.run(
        "send", "--customer", "\(bench.customer)", "--app", SendingBench.appID, "--all", "--alert", "x", "--wait")
      for try await _ in bench.pool.notifications(on: ["pushcart_sendout"]) {
        let page = try await bench.sendouts.list(bench.customer)
        guard let sendout = page.items.first else { continue }
        _ = try await bench.sendouts.cancel(bench.customer, sendout.sendoutId)
        break
      }
      #expect(try await outcome.status == 1)
      #expect(try await outcome.output.hasPrefix("Sendout 1, x, to com.acme.app (ios): cancelled\n"))
    }
  }
}

extension SendingBench {
  /// Waits until a command has looked for a hub.
  fileprivate func untilHubsAreLookedFor() async throws {
    let looked = """
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pushcart command'
      AND query LIKE '%application_name = $1%' AND state = 'idle'
      """
    try await waitUntil { try await !database.query(looked).isEmpty }
  }
}
