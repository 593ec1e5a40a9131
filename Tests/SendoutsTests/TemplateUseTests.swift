import Content
import Delivery
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Sendouts

@Suite struct TemplateUseTests {
  @Test func `A template is removed once no trigger and no sendout that goes on names it`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      _ = try await Templates(bench.pool).put(bench.customer, name: "offer", format: .html, body: "<p>x</p>")
      let key = try await bench.send(template: "offer")
      let trigger = try await bench.pool.transaction {
        try await Triggers($0).add(
          bench.customer,
          TriggerRequest(
            name: "Shipped", appIds: [SendingBench.appID], message: MessageBody(alert: "x"), template: "offer"))
      }
      let uses = try await TemplateUse(bench.pool).uses(bench.customer, name: "offer")
      #expect(uses.triggers == [TemplateTrigger(triggerId: trigger.triggerId, name: "Shipped")])
      #expect(uses.sendouts.map(\.sendoutId) == [key.sendout] && uses.sendouts.allSatisfy(\.needsTemplate))
      let users = ["trigger \(trigger.triggerId)", "sendout \(key.sendout)"]
      await #expect(throws: SendoutError.templateInUse(by: users)) { try await remove(bench) }
      // What was refused has changed nothing.
      #expect(try await Templates(bench.pool).get(bench.customer, name: "offer").version == 1)

      try await bench.withHubs { _ = try await bench.until(key, .finished) }
      await #expect(throws: SendoutError.templateInUse(by: [users[0]])) { try await remove(bench) }
      _ = try await bench.pool.transaction { try await Triggers($0).remove(bench.customer, trigger.triggerId) }
      #expect(try await remove(bench).version == 1)
      await #expect(throws: ContentError.templateUnknown(name: "offer", version: nil)) { try await remove(bench) }
      // Its page stays.
      _ = try await PageTemplateCache(bench.pool).template(bench.customer, name: "offer", version: 1)
      let refusal = SendoutError.invalid(field: "template", problem: "names no template of this customer")
      await #expect(throws: refusal) { try await bench.send(template: "offer") }
    }
  }

  @Test func `Whoever names a template while it is removed waits, and is refused`() async throws {
    try await withSendingBench { bench in
      _ = try await Templates(bench.pool).put(bench.customer, name: "offer", format: .html, body: "<p>x</p>")
      let adding = try await bench.database.withPool { observer in
        try await bench.pool.transaction { transaction in
          _ = try await TemplateUse(transaction).remove(bench.customer, name: "offer")
          let adding = Task {
            try await bench.pool.transaction {
              try await Triggers($0).add(
                bench.customer,
                TriggerRequest(
                  name: "Shipped", appIds: [SendingBench.appID], message: MessageBody(alert: "x"), template: "offer"))
            }
          }
          try await bench.database.someoneWaits(as: observer)
          return adding
        }
      }
      await #expect(throws: SendoutError.invalid(field: "template", problem: "names no template of this customer")) {
        try await adding.value
      }
    }
  }

  private func remove(_ bench: SendingBench) async throws -> TemplateReply {
    try await bench.pool.transaction { try await TemplateUse($0).remove(bench.customer, name: "offer") }
  }
}
