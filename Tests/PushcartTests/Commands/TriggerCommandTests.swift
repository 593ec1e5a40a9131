import Delivery
import Foundation
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@Suite struct TriggerCommandTests {
  @Test func `A trigger is added, changed and sent at the command line, and a hub delivers it`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let customer = ["--customer", "\(bench.customer)"]
      let added = try await pushcart.run(
        ["trigger", "add", "--name", "Order", "--app", SendingBench.appID, "--alert", "{{orderNo}}", "--json"]
          + customer)
      #expect(try added.status == 0 && added.json.integer("triggerId") == 1, "\(added.errors)")
      let changed = try await pushcart.run(
        ["trigger", "update", "1", "--alert", "-{{orderNo}}-", "--description", "By the shop"] + customer)
      #expect(changed.output == "Trigger 1, Order, is changed.\n", "\(changed.errors)")
      let shown = try await pushcart.run(["trigger", "show", "1"] + customer)
      #expect(shown.output.contains("-{{orderNo}}-") && shown.output.contains("By the shop"))

      let send = ["trigger", "send", "1", "--to", "user1@example.com", "--property", "orderNo=A=17"] + customer
      let sent = try await pushcart.run(send + ["--json"])
      #expect(try sent.status == 0 && sent.json.string("state") == "sending", "\(sent.errors)")
      let received = try await bench.withHubs { await bench.simulator.apns.received(count: 1) }
      #expect(try JSONValue(parsing: received[0].payload)["aps"]?.string("alert") == "-A=17-")

      let due = Timestamp(Date(timeIntervalSinceNow: 3600))
      let later = try await pushcart.run(send + ["--at", "\(due)"])
      #expect(later.output.hasPrefix("Message 1-10001: queued, due \(due)\n"), "\(later.output) \(later.errors)")
      #expect(try await pushcart.run(send + ["--property", "x"]).status == 64)
      #expect(try await pushcart.run(send + ["--at", "2026-02-30T09:00:00Z"]).status == 64)
      _ = try await pushcart.run(["trigger", "update", "1", "--active", "false"] + customer)
      let refused = try await pushcart.run(send)
      #expect(refused.status == 1 && refused.errors.contains("The trigger is inactive"))
    }
  }

  @Test func `A single message can be due later`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let due = Timestamp(Date(timeIntervalSinceNow: 3600))
      let send = [
        "message", "send", "--customer", "\(bench.customer)", "--app", SendingBench.appID, "--to", "user1@example.com",
        "--alert", "x", "--at",
      ]
      let reply = try await pushcart.run(send + ["\(due)", "--json"])
      #expect(reply.status == 0, "\(reply.errors)")
      #expect(try reply.json.string("state") == "queued" && reply.json.string("deliverAt") == due.description)
      for moment in ["tomorrow", "2026-11-31T09:00:00Z", "2026-11-30T25:00:00Z", "2026-11-30T09:00:00Zx"] {
        #expect(try await pushcart.run(send + [moment]).status == 64, "\(moment)")
      }
      #expect(try await pushcart.run(send + ["\(due)", "--wait", "1"]).status == 64)
    }
  }
}
