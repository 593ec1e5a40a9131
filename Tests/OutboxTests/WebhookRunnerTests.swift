import Foundation
import Postgres
import Providers
import Registry
import Retrying
import ServiceLifecycle
import Support
import Testing
import Wire

@testable import Outbox

@Suite struct WebhookRunnerTests {
  @Test func `Events are noted in the commit of what they tell, for the webhooks that want them`() async throws {
    try await withWebhooks { bench in
      try await bench.add([.pushAccepted])
      try await bench.add([.pushFailed])
      struct Undone: Error {}
      await #expect(throws: Undone.self) {
        try await bench.database.pool.transaction { transaction in
          try await bench.note(pushes: 3, in: transaction)
          throw Undone()
        }
      }
      #expect(try await bench.runner().postDue() == 0)
      try await bench.note(pushes: 3)
      #expect(try await bench.runner().postDue() == 1)
      #expect(bench.receiver.posts.map(\.text) == ["push.accepted 3"])
      #expect(try await bench.runner().postDue() == 0)
    }
  }

  @Test func `A webhook of another customer, and one that is disabled, are told nothing`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      _ = try await bench.change(webhook, EventWebhookRequest(enabled: false))
      let other = WebhookBench(
        database: bench.database, vault: bench.vault, customer: try await bench.database.customer("Other"))
      try await other.add([.pushAccepted])
      try await bench.note(pushes: 1)
      #expect(try await bench.database.query("SELECT 1 FROM webhook_event").isEmpty)
      try await other.note(pushes: 2)
      #expect(try await bench.runner().postDue() == 1)
      #expect(bench.receiver.posts.map(\.text) == ["push.accepted 2"])
    }
  }

  @Test func `Items of one event come together up to 500, and others alone, the oldest first`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted, .pushOpened, .importFinished])
      // One settlement can have more than a post.
      try await bench.note(pushes: 1200)
      let pieces = try await bench.database.query("SELECT cardinality(push_nos) FROM webhook_event ORDER BY event_id")
      #expect(try pieces.map { try $0.decode(Int32.self) } == [500, 500, 200])
      try await bench.note(.pushOpened, pushes: 1)
      try await bench.noteImport(1)
      try await bench.noteImport(2)
      for _ in 0..<3 { try await bench.note(pushes: 100) }
      // One post at a time would say their order; these come at once.
      #expect(try await bench.runner().postDue() == 1)
      let expected = [
        "push.accepted 500", "push.accepted 500", "push.accepted 500", "push.opened 1", "import.finished 1",
        "import.finished 1",
      ]
      #expect(bench.receiver.posts.map(\.text).sorted() == expected.sorted())
      let deliveries = try await bench.deliveries(webhook).reversed()
      #expect(deliveries.map { "\($0.event.rawValue) \($0.items)" } == expected)
      #expect(deliveries.allSatisfy { $0.state == .delivered && $0.attempts == 1 && $0.nextAt == nil })
      #expect(Set(deliveries.map(\.messageId)) == Set(bench.receiver.posts.compactMap { $0.header("webhook-id") }))
    }
  }

  @Test func `What is not taken is posted again with the same id, until it is`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      bench.receiver.answer(
        .payloadRefused(reason: "HTTP404"), .retry(after: .seconds(60), reason: "HTTP503"),
        .uncertain(reason: .hub(.requestTimeout)))
      try await bench.note(pushes: 1)
      _ = try await bench.runner().postDue()
      let first = try await bench.delay()
      #expect(first <= RetryPolicy.webhooks.first / .seconds(1), "\(first)")
      // It was tried before the delay began, and a part of the delay may be over by now.
      let half = try await bench.database.query(
        "SELECT not_before >= tried_at + make_interval(secs => $1::float8 / 2) FROM webhook_delivery",
        RetryPolicy.webhooks.first / .seconds(1))[0]
      #expect(try half.decode(Bool.self))
      let failed = try #require(try await bench.deliveries(webhook).first)
      #expect(failed.state == .waiting && failed.attempts == 1 && failed.status == 404 && failed.problem == "HTTP404")
      #expect(try await bench.store.find(bench.customer, webhook.webhookId).failingSince != nil)
      try await bench.makeDue()
      #expect(try await bench.runner().postDue() == 1)
      let second = try await bench.delay()
      #expect(second > 30 && second <= 60, "\(second)")
      try await bench.makeDue()
      #expect(try await bench.runner().postDue() == 1)
      #expect(try await bench.deliveries(webhook).first?.status == nil)
      try await bench.makeDue()
      #expect(try await bench.runner().postDue() == 1)
      #expect(bench.receiver.posts.map(\.text) == Array(repeating: "push.accepted 1", count: 4))
      #expect(Set(bench.receiver.posts.map { $0.header("webhook-id") }).count == 1)
      #expect(try await bench.store.find(bench.customer, webhook.webhookId).failingSince == nil)
    }
  }

  @Test func `A post that is refused again and again holds up no other, and is given up alone`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.importFinished])
      bench.receiver.answer(.payloadRefused(reason: "HTTP400"))
      try await bench.noteImport(1)
      _ = try await bench.runner().postDue()
      try await bench.database.query("UPDATE webhook_delivery SET not_before = now() + interval '1 hour'")
      for number in 2...4 {
        try await bench.noteImport(Int64(number))
        #expect(try await bench.runner().postDue() == 1)
      }
      #expect(try await bench.deliveries(webhook).map(\.state) == [.delivered, .delivered, .delivered, .waiting])
      #expect(try await bench.store.find(bench.customer, webhook.webhookId).failingSince == nil)
      // A day later.
      try await bench.database.query("UPDATE webhook SET updated_at = now() - interval '30 hours'")
      try await bench.database.query("UPDATE webhook_delivery SET created_at = now() - interval '25 hours'")
      bench.receiver.answer(.payloadRefused(reason: "HTTP400"))
      try await bench.makeDue()
      _ = try await bench.runner().postDue()
      #expect(try await bench.deliveries(webhook).last?.state == .failed)
      #expect(try await bench.store.find(bench.customer, webhook.webhookId).enabled)
    }
  }

  @Test func `While an address takes nothing a few deliveries wait, and the rest stays events`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.importFinished])
      bench.receiver.refuse("HTTP503")
      for number in 1...40 { try await bench.noteImport(Int64(number)) }
      for _ in 1...10 { _ = try await bench.runner().postDue() }
      let waiting = try await bench.deliveries(webhook)
      #expect(waiting.count == EventWebhookQueries.mostWaiting && waiting.allSatisfy { $0.state == .waiting })
      bench.receiver.refuse(nil)
      try await bench.makeDue()
      while try await bench.runner().postDue() > 0 {}
      let all = try await bench.deliveries(webhook)
      #expect(all.count == 40 && all.allSatisfy { $0.state == .delivered })
    }
  }

  @Test func `What has nothing to tell is not posted, and says nothing of the address`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      try await bench.database.query("UPDATE webhook SET first_failed_at = now() - interval '2 hours'")
      try await bench.note(pushes: 1)
      #expect(try await bench.runner(isEmpty: true).postDue() == 1)
      #expect(bench.receiver.posts.isEmpty)
      #expect(try await bench.deliveries(webhook).isEmpty)
      #expect(try await bench.database.query("SELECT FROM webhook_event").isEmpty)
      #expect(try await bench.store.find(bench.customer, webhook.webhookId).failingSince != nil)
      // What was posted once stays in the list.
      try await bench.note(pushes: 1)
      _ = try await bench.runner().postDue()
      let delivery = try #require(try await bench.deliveries(webhook).first)
      _ = try await bench.store.redeliver(bench.customer, webhook.webhookId, delivery.deliveryId)
      #expect(try await bench.runner(isEmpty: true).postDue() == 1)
      let empty = try #require(try await bench.deliveries(webhook).first)
      #expect(empty.state == .failed && empty.problem?.contains("deleted") == true && bench.receiver.posts.count == 1)
    }
  }

  @Test func `Where nobody was asked, it is no attempt`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      try await bench.note(pushes: 1)
      for reason in [HubReason.noPlace, .noAnswer] {
        bench.receiver.answer(.unsent(reason: .hub(reason)))
        #expect(try await bench.runner().postDue() == 1)
        #expect(try await bench.deliveries(webhook).map(\.attempts) == [0])
        try await bench.makeDue()
      }
      #expect(try await bench.store.find(bench.customer, webhook.webhookId).failingSince == nil)
    }
  }

  @Test func `An answer of 410 disables the webhook at once`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      bench.receiver.answer(.payloadRefused(reason: "HTTP410"))
      try await bench.note(pushes: 1)
      _ = try await bench.runner().postDue()
      let disabled = try await bench.store.find(bench.customer, webhook.webhookId)
      #expect(!disabled.enabled && disabled.disabledReason?.contains("410") == true)
      #expect(try await bench.deliveries(webhook).map(\.state) == [.waiting])
      #expect(try await bench.store.failing(bench.customer).map(\.webhookId) == [webhook.webhookId])
      // What happens from now on is not told later.
      try await bench.note(pushes: 2)
      let enabled = try await bench.change(webhook, EventWebhookRequest(enabled: true))
      #expect(enabled.enabled && enabled.disabledReason == nil && enabled.failingSince == nil)
      // What had happened until then is.
      #expect(try await bench.runner().postDue() == 1)
      #expect(bench.receiver.posts.map(\.text) == ["push.accepted 1", "push.accepted 1"])
      #expect(try await bench.store.failing(bench.customer).isEmpty)
    }
  }

  @Test func `A webhook that has taken nothing for a day is disabled, and goes on once it is enabled`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      try await bench.note(pushes: 1)
      bench.receiver.refuse("HTTP500")
      _ = try await bench.runner().postDue()
      try await age(bench, by: 23)
      _ = try await bench.runner().postDue()
      #expect(try await bench.store.find(bench.customer, webhook.webhookId).enabled)
      #expect(try await bench.store.failing(bench.customer).count == 1)
      try await bench.note(pushes: 2)
      _ = try await bench.runner().postDue()
      try await age(bench, by: 2)
      _ = try await bench.runner().postDue()
      let disabled = try await bench.store.find(bench.customer, webhook.webhookId)
      #expect(!disabled.enabled && disabled.disabledReason?.contains("HTTP500") == true)
      try await bench.makeDue()
      #expect(try await bench.runner().postDue() == 0)
      // Whoever enables it too early loses nothing either.
      _ = try await bench.change(webhook, EventWebhookRequest(enabled: true))
      #expect(try await bench.runner().postDue() == 1)
      bench.receiver.refuse(nil)
      try await bench.makeDue()
      #expect(try await bench.runner().postDue() == 1)
      #expect(bench.receiver.posts.suffix(2).map(\.text).sorted() == ["push.accepted 1", "push.accepted 2"])
      #expect(try await bench.deliveries(webhook).map(\.state) == [.delivered, .delivered])
    }
  }

  /// Lets all that has happened be so many hours older, and makes what waits due.
  private func age(_ bench: WebhookBench, by hours: Int) async throws {
    for (table, columns) in [
      ("webhook", ["created_at", "updated_at", "first_failed_at"]), ("webhook_delivery", ["created_at", "tried_at"]),
    ] {
      let older = columns.map { "\($0) = \($0) - interval '\(hours) hours'" }.joined(separator: ", ")
      try await bench.database.query("UPDATE \(table) SET \(older)")
    }
    try await bench.makeDue()
  }

  @Test func `The last attempt before a webhook is disabled is no later than a day after its first failure`()
    async throws
  {
    try await withWebhooks { bench in
      try await bench.add([.pushAccepted])
      try await bench.note(pushes: 1)
      bench.receiver.refuse("HTTP500")
      _ = try await bench.runner().postDue()
      // The next delay would be up to two hours.
      try await bench.database.query("UPDATE webhook_delivery SET attempts = 20")
      try await age(bench, by: 23)
      try await bench.database.query(
        "UPDATE webhook SET first_failed_at = first_failed_at - interval '50 minutes'")
      _ = try await bench.runner().postDue()
      let delay = try await bench.delay()
      #expect(delay > 0 && delay <= 600, "\(delay)")
    }
  }

  @Test func `A delivery that is a day old is given up, and the others go on`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      try await bench.note(pushes: 1)
      bench.receiver.answer(.retry(after: nil, reason: "HTTP500"))
      _ = try await bench.runner().postDue()
      try await bench.database.query(
        "UPDATE webhook_delivery SET created_at = now() - interval '25 hours', not_before = now()")
      // It has taken something since.
      try await bench.database.query(
        "UPDATE webhook SET updated_at = now() - interval '30 hours', first_failed_at = now() - interval '1 minute'")
      bench.receiver.answer(.retry(after: nil, reason: "HTTP500"))
      _ = try await bench.runner().postDue()
      #expect(try await bench.deliveries(webhook).map(\.state) == [.failed])
      try await bench.note(pushes: 2)
      _ = try await bench.runner().postDue()
      #expect(bench.receiver.posts.last?.text == "push.accepted 2")
      // By hand it is posted again.
      let delivery = try #require(try await bench.deliveries(webhook).last)
      let again = try await bench.store.redeliver(bench.customer, webhook.webhookId, delivery.deliveryId)
      #expect(again.state == .waiting && again.messageId == delivery.messageId)
      _ = try await bench.runner().postDue()
      #expect(bench.receiver.posts.last?.header("webhook-id") == delivery.messageId)
      #expect(try await bench.deliveries(webhook).map(\.state) == [.delivered, .delivered])
    }
  }

  @Test func `What is being posted is not hastened, by hand or by a change of its webhook`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      try await bench.note(pushes: 1)
      let runner = bench.runner { post, customer in
        do {
          let delivery = try #require(try await bench.deliveries(webhook).first)
          let again = try await bench.store.redeliver(bench.customer, webhook.webhookId, delivery.deliveryId)
          #expect(again == delivery && again.attempts == 1 && again.nextAt != nil)
          _ = try await bench.change(webhook, EventWebhookRequest(enabled: true))
          #expect(try await bench.runner().postDue() == 0)
        } catch {
          Issue.record(error)
        }
        return await bench.receiver.post(post, customer)
      }
      bench.receiver.answer(.retry(after: nil, reason: "HTTP503"))
      #expect(try await runner.postDue() == 1)
      #expect(bench.receiver.posts.count == 1)
      // What waits for another attempt is.
      let delivery = try #require(try await bench.deliveries(webhook).first)
      _ = try await bench.store.redeliver(bench.customer, webhook.webhookId, delivery.deliveryId)
      #expect(try await bench.runner().postDue() == 1)
      #expect(try await bench.deliveries(webhook).map(\.state) == [.delivered])
    }
  }

  @Test func `A post that a hub that ends does not wait for is recorded, and posted again`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted], at: "https://silent.example.com/")
      bench.receiver.fallSilent(at: "https://silent.example.com/")
      try await bench.note(pushes: 1)
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: [bench.runner(shutdownTimeout: .zero)], gracefulShutdownSignals: [], logger: TestServer.logger))
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        try await waitUntil { !bench.receiver.posts.isEmpty }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
      }
      let delivery = try #require(try await bench.deliveries(webhook).first)
      #expect(delivery.state == .waiting && delivery.problem == HubReason.hubStopped.rawValue && delivery.attempts == 1)
      #expect(try await bench.delay() < RetryPolicy.lostPosts / .seconds(1))
    }
  }

  @Test func `A delivery that is given up alone is logged with what it means, and so is one whose webhook is removed`()
    async throws
  {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.importFinished])
      for number in 1...3 { try await bench.noteImport(Int64(number)) }
      bench.receiver.refuse("HTTP500")
      let log = LogCapture()
      // A line in a minute, however many are given up.
      let runner = bench.runner(linesEvery: .seconds(60), logger: log.logger)
      _ = try await runner.postDue()
      #expect(!log.lines.contains { $0.contains("gave up") })
      try await bench.database.query("UPDATE webhook_delivery SET created_at = now() - interval '25 hours'")
      try await bench.database.query(
        "UPDATE webhook SET updated_at = now() - interval '30 hours', first_failed_at = now() - interval '1 minute'")
      try await bench.makeDue()
      _ = try await runner.postDue()
      #expect(try await bench.deliveries(webhook).map(\.state) == [.failed, .failed, .failed])
      let lines = log.lines.filter { $0.contains("gave up") }
      #expect(lines.count == 1 && lines[0].hasPrefix("warning "), "\(lines)")
      #expect(lines[0].contains("somebody redelivers") && lines[0].contains("HTTP500"), "\(lines)")

      try await bench.noteImport(4)
      let later = LogCapture()
      let removing = bench.runner(logger: later.logger) { _, _ in
        _ = try? await bench.store.remove(bench.customer, webhook.webhookId)
        return .retry(after: nil, reason: "HTTP503")
      }
      #expect(try await removing.postDue() == 1)
      #expect(later.lines.filter { $0.contains("when somebody removed it") }.count == 1, "\(later.lines)")
    }
  }

  @Test func `A body that can never be made is given up, and holds up nothing else of its webhook`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.importFinished, .pushAccepted])
      let log = LogCapture()
      let runner = bench.runner(faulty: [.importFinished], logger: log.logger)
      try await bench.noteImport(1)
      try await bench.note(pushes: 2)
      _ = try await runner.postDue()
      #expect(bench.receiver.posts.map(\.text) == ["push.accepted 2"])
      let delay = try await bench.delay()
      #expect(delay <= RetryPolicy.steps.delay(after: 2, random: 1) / .seconds(1), "\(delay)")
      for _ in 1...RetryPolicy.mostStepFailures {
        try await bench.makeDue()
        _ = try await runner.postDue()
      }
      let faulty = try #require(try await bench.deliveries(webhook).last)
      #expect(faulty.state == .failed && faulty.attempts == RetryPolicy.mostStepFailures && faulty.status == nil)
      #expect(faulty.problem?.contains("could not be read") == true)
      #expect(
        log.lines.filter { $0.contains("could not make what a webhook") }.count == RetryPolicy.mostStepFailures - 1)
      let lines = log.lines.filter { $0.contains("gave up") }
      #expect(lines.count == 1 && lines[0].hasPrefix("error ") && lines[0].contains("Fault()"), "\(lines)")
      // The address was not asked.
      let now = try await bench.store.find(bench.customer, webhook.webhookId)
      #expect(now.enabled && now.failingSince == nil && bench.receiver.posts.count == 1)
      // A version that can make it posts it, once somebody asks for that.
      _ = try await bench.store.redeliver(bench.customer, webhook.webhookId, faulty.deliveryId)
      _ = try await bench.runner().postDue()
      #expect(bench.receiver.posts.last?.text == "import.finished 1")
      #expect(try await bench.deliveries(webhook).map(\.state) == [.delivered, .delivered])
    }
  }

  @Test func `Due are the webhooks of all customers that have something to post, and a place for it`() async throws {
    try await withWebhooks { bench in
      let other = WebhookBench(
        database: bench.database, vault: bench.vault, customer: try await bench.database.customer("Other"))
      let queue = WebhookQueue(database: bench.database.pool, vault: bench.vault)
      func due() async throws -> Set<Int64> { Set(try await queue.due().map(\.webhook.rawValue)) }
      func delivery(of webhook: EventWebhookReply, _ bench: WebhookBench, _ state: String, at: String) async throws {
        try await bench.database.query(
          """
          INSERT INTO webhook_delivery (customer_id, webhook_id, message_id, event, state, not_before)
          VALUES ($1, $2, gen_random_uuid(), 'push.accepted', '\(state)', \(at))
          """, bench.customer.rawValue, webhook.webhookId.rawValue)
      }
      #expect(try await due().isEmpty)
      let idle = try await bench.add([.importFinished])
      let waits = try await bench.add([.importFinished])
      let full = try await bench.add([.pushAccepted])
      let new = try await other.add([.pushAccepted])
      let retried = try await other.add([.importFinished])
      let disabled = try await other.add([.importFinished])
      try await delivery(of: idle, bench, "delivered", at: "now()")
      try await delivery(of: waits, bench, "waiting", at: "now() + interval '1 hour'")
      for _ in 1...EventWebhookQueries.mostWaiting {
        try await delivery(of: full, bench, "waiting", at: "now() + interval '1 hour'")
      }
      try await bench.note(pushes: 1)
      try await other.note(pushes: 1)
      try await delivery(of: retried, other, "waiting", at: "now() + interval '1 hour'")
      try await delivery(of: retried, other, "waiting", at: "now()")
      try await delivery(of: disabled, other, "waiting", at: "now()")
      _ = try await other.change(disabled, EventWebhookRequest(enabled: false))
      #expect(try await due() == [new.webhookId.rawValue, retried.webhookId.rawValue])
      #expect(try await queue.due().count == 2)
      try await bench.makeDue()
      #expect(try await due() == Set([waits, full, new, retried].map(\.webhookId.rawValue)))
    }
  }

  @Test func `What a killed hub has begun is posted by another, once its time is over`() async throws {
    try await withWebhooks { bench in
      try await bench.add([.pushAccepted])
      bench.receiver.fallSilent(at: "https://hooks.example.com/a")
      try await bench.note(pushes: 1)
      let runner = bench.runner()
      let killed = Task { try await runner.postDue() }
      try await waitUntil { !bench.receiver.posts.isEmpty }
      let other = WebhookBench(database: bench.database, vault: bench.vault, customer: bench.customer)
      #expect(try await other.runner().postDue() == 0)
      killed.cancel()
      _ = try? await killed.value
      let delay = try await bench.delay()
      #expect(delay > 0 && delay <= RetryPolicy.lostPosts / .seconds(1), "\(delay)")
      try await bench.makeDue()
      #expect(try await other.runner().postDue() == 1)
      #expect(other.receiver.posts.map(\.text) == ["push.accepted 1"])
      #expect(other.receiver.posts[0].header("webhook-id") == bench.receiver.posts[0].header("webhook-id"))
    }
  }

  @Test func `Two hubs post everything once`() async throws {
    try await withWebhooks { bench in
      try await bench.add([.importFinished])
      for number in 1...60 { try await bench.noteImport(Int64(number)) }
      let (first, second) = (bench.runner(), bench.runner())
      async let one = first.postDue()
      async let two = second.postDue()
      _ = try await (one, two)
      while try await bench.runner().postDue() > 0 {}
      #expect(bench.receiver.posts.count == 60)
      #expect(Set(bench.receiver.posts.map { $0.header("webhook-id") }).count == 60)
    }
  }

  @Test func `One that does not answer holds up no other`() async throws {
    try await withWebhooks { bench in
      try await bench.add([.pushAccepted], at: "https://hooks.example.com/silent")
      try await bench.add([.pushAccepted], at: "https://hooks.example.com/quick")
      bench.receiver.fallSilent(at: "https://hooks.example.com/silent")
      let runner = bench.runner()
      let running = Task { try await runner.run() }
      defer { running.cancel() }
      for count in 1...3 {
        try await bench.note(pushes: count)
        try await waitUntil {
          bench.receiver.posts.contains { $0.address.hasSuffix("quick") && $0.text == "push.accepted \(count)" }
        }
      }
      #expect(bench.receiver.posts.filter { $0.address.hasSuffix("silent") }.count == 1)
    }
  }

  @Test func `An answer that takes too long is none`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      bench.receiver.fallSilent(at: "https://hooks.example.com/a")
      try await bench.note(pushes: 1)
      _ = try await bench.runner(timeLimit: .milliseconds(1)).postDue()
      let delivery = try #require(try await bench.deliveries(webhook).first)
      #expect(delivery.state == .waiting && delivery.problem == HubReason.requestTimeout.rawValue)
    }
  }

  @Test func `After a rotation both secrets sign for a day`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      let rotated = try await bench.database.pool.transaction { transaction in
        try await EventWebhooks(transaction).rotate(bench.customer, webhook.webhookId, vault: bench.vault).after
      }
      #expect(rotated.secret != webhook.secret && rotated.formerSecretUntil != nil)
      let secrets = try [rotated, webhook].map { webhook in
        try #require(Data(base64Encoded: String((webhook.secret ?? "").dropFirst(6))))
      }
      try await bench.note(pushes: 1)
      _ = try await bench.runner().postDue()
      try await bench.database.query("UPDATE webhook SET former_until = now() - interval '1 second'")
      try await bench.note(pushes: 1)
      _ = try await bench.runner().postDue()
      for (post, count) in zip(bench.receiver.posts, [2, 1]) {
        let moment = Date(timeIntervalSince1970: Double(try #require(post.header("webhook-timestamp"))) ?? 0)
        let expected = WebhookSignature(secrets: secrets.prefix(count).map { Secret(bytes: Array($0)) })
          .headers(id: try #require(post.header("webhook-id")), at: moment, post.body)
        #expect(post.header("webhook-signature") == expected[2].value)
      }
      #expect(try await bench.store.find(bench.customer, webhook.webhookId).formerSecretUntil == nil)
    }
  }

  @Test func `A test is posted whatever the webhook is told, and not to one that is disabled`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      let delivery = try await bench.store.test(bench.customer, webhook.webhookId)
      #expect(delivery.event == .webhookTest && delivery.state == .waiting)
      #expect(try await bench.runner().postDue() == 1)
      #expect(bench.receiver.posts.map(\.text) == ["webhook.test 1"])
      _ = try await bench.change(webhook, EventWebhookRequest(enabled: false))
      await #expect(throws: RegistryError.self) { try await bench.store.test(bench.customer, webhook.webhookId) }
      await #expect(throws: RegistryError.numberUnknown("webhook")) {
        try await bench.store.test(CustomerID(bench.customer.rawValue + 1), webhook.webhookId)
      }
    }
  }

  @Test func `A certificate is told of once for each webhook and number of days`() async throws {
    try await withWebhooks { bench in
      try await bench.add([.certificateExpiring])
      try await bench.add([.pushAccepted])
      let end = Date(timeIntervalSince1970: 1_795_165_200)
      for days in [30, 30, 14, 14] {
        try await bench.store.tellExpiry(bench.customer, PushAppID(1), notAfter: end, days: days)
      }
      _ = try await bench.runner().postDue()
      #expect(bench.receiver.posts.count == 2)
    }
  }

  @Test func `What is older than 30 days is deleted`() async throws {
    try await withWebhooks { bench in
      let webhook = try await bench.add([.pushAccepted])
      try await bench.note(pushes: 1)
      _ = try await bench.runner().postDue()
      try await bench.database.query("UPDATE webhook_event SET at = now() - interval '31 days'")
      try await bench.database.query("UPDATE webhook_delivery SET created_at = now() - interval '31 days'")
      try await bench.note(pushes: 1)
      try await EventWebhooks.forgetExpired(bench.customer, in: bench.database.pool)
      #expect(try await bench.deliveries(webhook).isEmpty)
      #expect(try await bench.database.query("SELECT 1 FROM webhook_event").count == 1)
    }
  }

  @Test(arguments: [
    (EventWebhookRequest(events: [.pushAccepted]), "url"),
    (EventWebhookRequest(url: "http://hooks.example.com/", events: [.pushAccepted]), "url"),
    (EventWebhookRequest(url: "https://10.0.0.1/", events: [.pushAccepted]), "url"),
    (EventWebhookRequest(url: "https://hooks.example.com/", events: []), "events"),
    (EventWebhookRequest(url: "https://hooks.example.com/", events: [.pushAccepted], form: .carma), "events"),
    (
      EventWebhookRequest(url: "https://hooks.example.com/", events: [.pushOpened], description: "a\u{1}"),
      "description"
    ),
  ])
  func `What a webhook may not be is refused by its field`(request: EventWebhookRequest, field: String) async throws {
    try await withWebhooks { bench in
      let error = await #expect(throws: RegistryError.self) {
        try await bench.store.add(bench.customer, request, vault: bench.vault, rule: .webhook)
      }
      guard case .invalid(field, _)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test func `A customer has twenty webhooks at most`() async throws {
    try await withWebhooks { bench in
      for _ in 0..<EventWebhooks.most { try await bench.add([.pushAccepted]) }
      await #expect(throws: RegistryError.self) { try await bench.add([.pushAccepted]) }
    }
  }

  @Test func `A customer has no more than twenty webhooks, however many are added at once`() async throws {
    try await withWebhooks { bench in
      for _ in 2..<EventWebhooks.most { try await bench.add([.pushAccepted]) }
      let added = try await bench.database.pool.transaction { holder in
        // All of them begin while the customer is locked.
        try await holder.query(sql: "SELECT FROM customer FOR NO KEY UPDATE")
        let added = (1...4).map { _ in
          Task {
            do {
              try await bench.add([.pushAccepted])
              return true
            } catch RegistryError.invalid { return false }
          }
        }
        try await bench.database.withPool { try await bench.database.someoneWaits(added.count, as: $0) }
        return added
      }
      var count = 0
      for task in added where try await task.value { count += 1 }
      #expect(count == 2)
      #expect(try await bench.store.list(bench.customer, PageRequest(limit: 100)).items.count == EventWebhooks.most)
    }
  }
}
