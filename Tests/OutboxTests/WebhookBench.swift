import Foundation
import Locking
import Logging
import Postgres
import Providers
import Registry
import Support
import Testing
import Wire

@testable import Outbox

/// A customer with webhooks, and an address that answers as it is told.
struct WebhookBench: Sendable {
  let database: TestDatabase
  let vault: Vault
  let customer: CustomerID
  let receiver = Receiver()

  var store: EventWebhooks { EventWebhooks(database.pool) }

  @discardableResult
  func add(
    _ events: [WebhookEvent], at url: String = "https://hooks.example.com/a", form: EventWebhookForm = .standard
  ) async throws -> EventWebhookReply {
    try await database.pool.transaction { transaction in
      try await EventWebhooks(transaction).add(
        customer, EventWebhookRequest(url: url, events: events, form: form), vault: vault, rule: .webhook)
    }
  }

  func change(_ webhook: EventWebhookReply, _ request: EventWebhookRequest) async throws -> EventWebhookReply {
    try await database.pool.transaction { transaction in
      try await EventWebhooks(transaction).change(customer, webhook.webhookId, request, rule: .webhook).after
    }
  }

  /// Notes that so many pushes were accepted, as a settlement does.
  func note(_ event: WebhookEvent = .pushAccepted, pushes count: Int, in database: (any Querying)? = nil) async throws {
    try await (database ?? self.database.pool).query(
      sql: """
        WITH settled AS (SELECT push_no FROM generate_series(1, $2::int8) AS n (push_no)),
        told AS (\(EventSQL.notePushes(event, of: "settled", sendout: "7::bigint")))
        SELECT 1
        """, customer.rawValue, Int64(count))
  }

  /// Notes that an import has ended, which is told alone.
  func noteImport(_ number: Int64, in database: (any Querying)? = nil) async throws {
    try await (database ?? self.database.pool).query(
      sql: """
        WITH ended AS (SELECT $2::bigint AS import_id),
        told AS (\(EventSQL.note(.importFinished, of: "ended", subject: "import_id")))
        SELECT 1
        """, customer.rawValue, number)
  }

  /// - Parameters:
  ///   - timeLimit: how long an answer may take.
  ///   - shutdownTimeout: how long it may take once the hub ends.
  ///   - isEmpty: whether what deliveries tell of is gone.
  ///   - faulty: events of which no body can be made.
  func runner(
    timeLimit: Duration = .seconds(600), shutdownTimeout: Duration = .seconds(25), isEmpty: Bool = false,
    faulty: Set<WebhookEvent> = [], linesEvery: Duration = .zero, logger: Logger = TestServer.logger,
    post: OutboxRunner.Post? = nil
  ) -> WebhookRunner {
    WebhookRunner(
      database.pool, vault: vault, bodies: ItemBodies(isEmpty: isEmpty, faulty: faulty), interval: .milliseconds(10),
      timeLimit: timeLimit, shutdownTimeout: shutdownTimeout, linesEvery: linesEvery, logger: logger,
      post: post ?? receiver.post)
  }

  func deliveries(_ webhook: EventWebhookReply) async throws -> [EventDeliveryReply] {
    try await store.deliveries(customer, webhook.webhookId, PageRequest(limit: 1000)).items
  }

  /// Makes what waits for another attempt due.
  func makeDue() async throws {
    try await database.query("UPDATE webhook_delivery SET not_before = now() WHERE state = 'waiting'")
  }

  /// In how many seconds the only delivery that waits is posted next, by the database's clock.
  func delay() async throws -> Double {
    try await database.query(
      "SELECT extract(epoch FROM not_before - now())::float8 FROM webhook_delivery WHERE state = 'waiting'")[0]
      .decode(Double.self)
  }
}

func withWebhooks(_ body: (WebhookBench) async throws -> Void) async throws {
  try await withDatabase { database in
    try await body(WebhookBench(database: database, vault: try .fresh(), customer: try await database.customer()))
  }
}

/// Takes posts, and answers them as it is told.
final class Receiver: Sendable {
  private struct State {
    var posts: [JSONPost] = []
    var verdicts: [Verdict] = []
    var silent: Set<String> = []
    var refusal: String?
  }

  private let state = Mutex(State())

  var posts: [JSONPost] { state.withLock(\.posts) }

  /// The next answers; those after them take the post.
  func answer(_ verdicts: Verdict...) { state.withLock { $0.verdicts = verdicts } }

  /// Refuses whatever comes, for this reason, unless it is nil.
  func refuse(_ reason: String?) { state.withLock { $0.refusal = reason } }

  /// Answers nothing at this address.
  func fallSilent(at url: String) { state.withLock { _ = $0.silent.insert(url) } }

  @Sendable func post(_ post: JSONPost, _ customer: CustomerID) async -> Verdict {
    let verdict = state.withLock { state -> Verdict? in
      state.posts.append(post)
      if state.silent.contains(post.address) { return nil }
      if let refusal = state.refusal { return .retry(after: nil, reason: refusal) }
      return state.verdicts.isEmpty ? .accepted : state.verdicts.removeFirst()
    }
    if let verdict { return verdict }
    try? await Task.sleep(for: .seconds(86_400))
    return .uncertain(reason: .hub(.requestTimeout))
  }
}

/// A body with the event's name and how many items there are.
private struct ItemBodies: WebhookBodies {
  let isEmpty: Bool
  let faulty: Set<WebhookEvent>

  struct Fault: Error {}

  func bodies(
    of deliveries: [EventDelivery], in form: EventWebhookForm, _ customer: CustomerID
  ) async throws -> [[UInt8]?] {
    guard !isEmpty else { return deliveries.map { _ in nil } }
    guard !deliveries.contains(where: { faulty.contains($0.event) }) else { throw Fault() }
    return deliveries.map { delivery in
      let items = delivery.events.reduce(0) { $0 + max(1, $1.pushes.count) }
      return Array("\(delivery.event.rawValue) \(items)".utf8)
    }
  }
}

extension JSONPost {
  var text: String { String(decoding: body, as: UTF8.self) }
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
