import Postgres
import Registry
import ServiceLifecycle

/// Puts away once an hour what has had its time.
struct Housekeeping: Service {
  private let customers: Customers
  private let replies: IdempotentReplies

  init(_ pool: Pool, vault: Vault) {
    customers = Customers(pool)
    replies = IdempotentReplies(pool, vault: vault)
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        // The database may be away now; an hour later it will not be.
        try? await tidy()
        try? await Task.sleep(for: .seconds(3600))
      }
    }
  }

  private func tidy() async throws {
    for customer in try await customers.all() { try await replies.forgetExpired(customer.id) }
  }
}
