import Delivery
import Registry
import Support
import Locking
import Testing
import Wire

@testable import Sendouts

@Suite struct ListPermitTests {
  private final class Events: Sendable {
    private let events = Mutex<[String]>([])

    var all: [String] { events.withLock { $0 } }
    func add(_ event: String) { events.withLock { $0.append(event) } }
  }

  @Test func `Lists of one customer wait for each other, and those of another customer do not`() async throws {
    try await withSendingBench { bench in
      let dispatcher = bench.dispatcher()
      let service = MessageService(
        bench.pool, dispatcher: dispatcher, messages: MessageDispatcher(dispatcher, sendsItself: false),
        apps: PushAppCache(bench.pool), credentials: PushCredentialVault(bench.pool, vault: bench.vault),
        registrations: RegistrationBatcher(bench.pool, limits: .patient))
      let other = CustomerID(bench.customer.rawValue + 1)
      let events = Events()
      let (gate, open) = AsyncStream.makeStream(of: Void.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await hold(service, bench.customer, permits: 8) {
            events.add("eight permits taken")
            for await _ in gate { break }
            events.add("eight permits given back")
          }
        }
        try await waitUntil { events.all.count == 1 }
        group.addTask { try await service.withListPermit(bench.customer) { events.add("the ninth list") } }
        // If it waited, too, this would never end.
        try await service.withListPermit(other) { events.add("another customer's list") }
        open.yield()
        try await group.waitForAll()
      }
      #expect(
        events.all == [
          "eight permits taken", "another customer's list", "eight permits given back", "the ninth list",
        ])
    }
  }

  /// Runs `body` with so many permits at a time.
  private func hold(
    _ service: MessageService, _ customer: CustomerID, permits: Int, _ body: @Sendable () async -> Void
  ) async throws {
    guard permits > 0 else { return await body() }
    try await service.withListPermit(customer) { try await hold(service, customer, permits: permits - 1, body) }
  }
}
