import Support
import Testing

@testable import Postgres

@Suite struct ReconnectBackoffTests {
  @Test(arguments: [0.0, 1.0]) func `While a server is away, attempts come soon, then about once a second`(
    jitter: Double
  ) {
    var backoff = ReconnectBackoff()
    var now = MonotonicInstant(nanoseconds: 0)
    var attempts: [MonotonicInstant] = []
    while now < MonotonicInstant(nanoseconds: 60_000_000_000) {
      attempts.append(now)
      backoff.failed("away", at: now, jitter: jitter)
      now = backoff.notBefore
    }
    #expect(attempts[1] <= MonotonicInstant(nanoseconds: 50_000_000))
    #expect((60...130).contains(attempts.count))
    for (one, next) in zip(attempts, attempts.dropFirst()) {
      #expect(next.nanoseconds - one.nanoseconds <= 1_000_000_000)
    }
    backoff.succeeded()
    #expect(backoff.notBefore <= MonotonicInstant(nanoseconds: 0))
    #expect(backoff.failures == 0)
  }

  @Test func `Connections that are dropped before the server answers count as failures`() async throws {
    let server = try await TestServer.shared
    var settings = PoolConfiguration(
      connectionString: "\(server.connectionString("postgres")) options='-c idle_session_timeout=1'")
    settings.queueTimeout = .seconds(60)
    let pool = Pool(settings, logger: TestServer.logger)
    await pool.waits { $0.failedAttempts >= 3 }
    await pool.close()
  }

  @Test func `An answer of the server resets the back-off`() async throws {
    let server = try await TestServer.shared
    guard let socket = server.cluster?.socketDirectory else { return }
    let proxy = try DatabaseProxy(to: socket)
    defer { proxy.close() }
    proxy.block()
    var settings = PoolConfiguration(connectionString: proxy.connectionString(for: server.connectionString("postgres")))
    settings.connectTimeout = .seconds(1)
    settings.queueTimeout = .seconds(60)
    let pool = Pool(settings, logger: TestServer.logger)
    async let answer = pool.query(Statement("test.one", .read, "SELECT 1"))
    await pool.waits { $0.failedAttempts >= 2 }
    proxy.unblock()
    #expect(try await answer.count == 1)
    await pool.waits { $0.failedAttempts == 0 }
    await pool.close()
  }
}
