import Support
import Testing
import Wire

@Suite struct WebhookCommandTests {
  private let url = ["--url", "https://hooks.example.com/pushcart?key=hidden"]

  @Test func `A webhook is added, changed, shown and removed, and its secret is shown once`() async throws {
    try await withSendingBench { bench in
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      let added = try await pushcart.run(
        ["webhook", "add", "--event", "sendout.finished", "push.failed", "--description", "Warehouse"] + url + customer)
      #expect(
        added.output.hasPrefix("Webhook 1 is added. Its secret is shown this once:\nwhsec_"), "\(added.errors)")
      let listed = try await pushcart.run(["webhook", "list"] + customer)
      #expect(listed.output.contains("sendout.finished push.failed  enabled"), "\(listed)")
      let changed = try await pushcart.run(
        ["webhook", "update", "1", "--event", "sendout.paused", "--enabled", "false"] + customer)
      #expect(changed.output == "Webhook 1 is changed.\n", "\(changed.errors)")
      let shown = try await pushcart.run(["webhook", "show", "1"] + customer)
      #expect(shown.output.contains("sendout.paused") && shown.output.contains("disabled"), "\(shown)")
      #expect(!shown.output.contains("whsec_") && !shown.output.contains("hidden"))
      let rotated = try await pushcart.run(["webhook", "rotate", "1", "--json"] + customer)
      #expect(try rotated.json.string("secret")?.hasPrefix("whsec_") == true, "\(rotated.errors)")
      #expect(try rotated.json.string("formerSecretUntil") != nil)
      let removed = try await pushcart.run(["webhook", "remove", "1"] + customer)
      #expect(removed.output == "Webhook 1 is removed.\n", "\(removed.errors)")
      #expect(try await pushcart.run(["webhook", "show", "1"] + customer).status == 1)
    }
  }

  @Test func `A test is a delivery that can be posted again`() async throws {
    try await withSendingBench { bench in
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      _ = try await pushcart.run(["webhook", "add", "--event", "sendout.finished"] + url + customer)
      let test = try await pushcart.run(["webhook", "test", "1"] + customer)
      #expect(test.output == "Delivery 1 is to be posted.\n", "\(test.errors)")
      let deliveries = try await pushcart.run(["webhook", "deliveries", "1"] + customer)
      #expect(deliveries.output.contains("webhook.test") && deliveries.output.contains("waiting"), "\(deliveries)")
      let again = try await pushcart.run(["webhook", "redeliver", "1", "1"] + customer)
      #expect(again.output == "Delivery 1 is to be posted again.\n", "\(again.errors)")
      #expect(try await pushcart.run(["webhook", "redeliver", "1", "2"] + customer).status == 1)
      _ = try await pushcart.run(["webhook", "update", "1", "--enabled", "false"] + customer)
      let disabled = try await pushcart.run(["webhook", "test", "1"] + customer)
      #expect(disabled.status == 1 && disabled.errors.contains("enable it first"), "\(disabled)")
    }
  }

  @Test func `Events and forms that there are not are refused`() async throws {
    try await withSendingBench { bench in
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let add = ["webhook", "add", "--customer", "\(bench.customer)"] + url
      for arguments in [["--event", "sendout.vanished"], ["--event", "push.opened", "--form", "xml"], []] {
        #expect(try await pushcart.run(add + arguments).status == 64, "\(arguments)")
      }
      let carma = try await pushcart.run(add + ["--event", "push.accepted", "--form", "carma"])
      #expect(carma.status == 1, "\(carma)")
      let unsafe = try await pushcart.run(
        ["webhook", "add", "--customer", "\(bench.customer)", "--url", "http://127.0.0.1/", "--event", "push.opened"])
      #expect(unsafe.status == 1, "\(unsafe)")
    }
  }
}
