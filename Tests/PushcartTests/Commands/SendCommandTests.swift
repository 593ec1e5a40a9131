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
      let made = try await bench.send()
      let watch = try RunningPushcart(
        ["sendout", "show", "\(made.sendout)", "--customer", "\(bench.customer)", "--watch", "--json"],
        environment: ["DATABASE_URL": bench.database.connectionString], folder: "/tmp")
      let hint = "No hub seems to serve this database, and the sendout waits for one: pushcart serve\n"
      try await watch.says(hint)
      _ = try await bench.sendouts.cancel(bench.customer, made.sendout)
      #expect(await watch.exit() == 0, "\(watch.text)")
      #expect(watch.text.hasPrefix(hint), "\(watch.text)")
      let shown = try #require(watch.text.split(separator: "\n").last)
      #expect(try JSONValue(parsing: shown.utf8).string("state") == "cancelled")
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
