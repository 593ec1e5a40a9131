import Providers
public import Registry
import Wire

extension SendingBench {
  /// Runs `body` on a bench whose database has a clock of its own.
  @discardableResult
  public func withMovedClock<Answer: Sendable>(
    _ body: (SendingBench, MovedClock) async throws -> Answer
  ) async throws -> Answer {
    try await database.withMovedClock { database, clock in
      try await body(with(database, customer: customer, app: app), clock)
    }
  }

  /// The bench of another customer, with an app of the same name.
  public func ofAnother(_ settings: CustomerUpdate = CustomerUpdate()) async throws -> SendingBench {
    let customer = try await database.customer()
    _ = try await Customers(pool).update(customer, settings)
    let app = try await PushApps(pool, vault: vault).add(
      customer,
      NewPushApp(appID: Self.appID, type: .ios, name: "Acme", service: APNsCredentials.sample.fields))
    return with(database, customer: customer, app: app)
  }

  private func with(_ database: TestDatabase, customer: CustomerID, app: PushApp) -> SendingBench {
    SendingBench(
      database: database, simulator: simulator, services: services, vault: vault, masterKey: masterKey, links: links,
      signer: signer, customer: customer, app: app)
  }
}
