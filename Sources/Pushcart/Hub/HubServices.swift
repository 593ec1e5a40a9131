import Delivery
import Postgres
import Registry
import ServiceLifecycle

/// Deletes expired idempotency records and keys hourly.
struct Housekeeping: Service {
  private let customers: Customers
  private let replies: IdempotentReplies
  private let messages: Messages

  init(_ pool: Pool, vault: Vault) {
    customers = Customers(pool)
    replies = IdempotentReplies(pool, vault: vault)
    messages = Messages(pool)
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        // If the database is away, the next hour's run deletes them.
        try? await tidy()
        try? await Task.sleep(for: .seconds(3600))
      }
    }
  }

  private func tidy() async throws {
    for customer in try await customers.all() {
      try await replies.forgetExpired(customer.id)
      try await messages.forgetExpiredKeys(customer.id)
    }
  }
}

/// Services that stop at the same moment. A `ServiceGroup` would stop one after the other, each waiting for the one before.
///
/// The first that fails, or ends before it is told to, cancels the others: a hub without its web server is none.
struct ConcurrentServices: Service {
  let members: [any Service]

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for member in members {
        group.addTask {
          try await member.run()
          guard Task.isCancelled || Task.isShuttingDownGracefully else {
            throw CommandFailure("The service \(type(of: member)) has ended unexpectedly.")
          }
        }
      }
      // `waitForAll` would keep an error until every member has ended.
      while try await group.next() != nil {}
    }
  }
}

/// Limits the graceful shutdown of a service. After the limit the service is cancelled, which is not an error.
struct ShutdownTimeout<Limited: Service>: Service {
  let service: Limited
  let limit: Duration

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await service.run() }
      group.addTask {
        try await gracefulShutdown()
        try await Task.sleep(for: limit)
      }
      try await group.next()
      group.cancelAll()
      while await group.nextResult() != nil {}
    }
  }
}
