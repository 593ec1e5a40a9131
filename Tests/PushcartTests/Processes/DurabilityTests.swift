import Foundation
import Postgres
import Registry
import Support
import Synchronization
import Testing
import Wire

/// Every acknowledged registration survives kills. `PUSHCART_SOAK` sets the number of registrations. Hub and database are killed once
/// per 5,000 of them.
@Suite struct DurabilityTests {
  private static let size = ProcessInfo.processInfo.environment["PUSHCART_SOAK"].flatMap { Int($0) } ?? 8000
  private static let kills = max(6, size / 5000)

  @Test func `Repeated kills of hub and database lose no acknowledged registration`() async throws {
    let folder = try TemporaryDirectory(named: "durability")
    defer { folder.remove() }
    let cluster = try await PrivateCluster.start(
      ClusterConfiguration(directory: "\(folder.path)/postgres"), logger: TestServer.logger)
    try await cluster.createDatabase("durable")
    let pushcart = Pushcart(
      databaseURL: cluster.connectionString(database: "durable"), masterKey: MasterKeys.generate())
    try await pushcart.run("migrate")
    try await pushcart.run("customer", "add", "--name", "ACME")
    try await pushcart.run(
      "app", "add", "--customer", "1", "--type", "ios", "--app-id", ProcessFixture.appID, "--name", "Acme", "--json")
    let key = try await pushcart.run("key", "add", "--customer", "1", "--name", "all", "--scope", "device", "--json")
    let run = Run(pushcart, key: try key.json.string("token") ?? "", goal: Self.size)

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<64 { group.addTask { await run.register() } }
      for kill in 1...Self.kills {
        try await run.startHub()
        await run.acknowledged(kill * Self.size / (Self.kills + 1))
        if kill % 2 == 1 {
          await run.killHub()
        } else {
          #expect(Foundation.kill(try #require(cluster.processID), SIGKILL) == 0)
        }
      }
      try await run.startHub()
      try await group.waitForAll()
    }
    await run.killHub()

    let pool = Pool(PoolConfiguration(connectionString: pushcart.databaseURL), logger: TestServer.logger)
    let numbers = run.acknowledgedNumbers
    #expect(numbers.count >= Self.size)
    let lost = try await pool.query(Self.lost, numbers)
    #expect(try lost[0].decode(Int64.self) == 0)
    #expect(try await pool.query(Self.halves)[0].decode(Int64.self) == 0)
    await pool.close()
    await cluster.stop()
  }

  private static let lost = Statement(
    "test.lost", .read,
    """
    SELECT count(*) FROM unnest($1::int8[]) AS n WHERE NOT EXISTS (
      SELECT FROM contact c JOIN device d USING (customer_id, contact_id)
      WHERE customer_id = 1 AND c.original_id = 'user' || n
        AND d.token IN (lpad(to_hex(n), 64, '0'), 'f' || lpad(to_hex(n), 63, '0'))
      HAVING count(*) = 2)
    """)
  private static let halves = Statement(
    "test.halves", .read,
    """
    SELECT count(*) FROM contact c
    LEFT JOIN (SELECT contact_id, count(*) AS devices FROM device GROUP BY contact_id) d USING (contact_id)
    LEFT JOIN (SELECT contact_id, count(*) AS events FROM device_event GROUP BY contact_id) e USING (contact_id)
    WHERE coalesce(d.devices, 0) <> 2 OR coalesce(e.events, 0) <> 2
    """)
}

/// Registers devices one after the other at the running hub, and remembers the acknowledged ones.
private final class Run: Sendable {
  private struct State {
    var hub: ProcessFixture.Hub?
    var last: Int64 = 0
    var acknowledged: [Int64] = []
    var waitingForHub: [CheckedContinuation<ProcessFixture.Hub, Never>] = []
    var waitingForCount: (count: Int, continuation: CheckedContinuation<Void, Never>)?
  }

  private let pushcart: Pushcart
  private let key: String
  private let goal: Int
  private let state = Mutex(State())

  init(_ pushcart: Pushcart, key: String, goal: Int) {
    self.pushcart = pushcart
    self.key = key
    self.goal = goal
  }

  var acknowledgedNumbers: [Int64] { state.withLock { $0.acknowledged } }

  /// Starts a hub unless one runs.
  func startHub() async throws {
    guard state.withLock({ $0.hub == nil }) else { return }
    let hub = try await ProcessFixture.Hub(pushcart, logLevel: "info")
    state.withLock { state in
      state.hub = hub
      for waiting in state.waitingForHub { waiting.resume(returning: hub) }
      state.waitingForHub = []
    }
  }

  func killHub() async {
    let hub = state.withLock { state in
      defer { state.hub = nil }
      return state.hub
    }
    await hub?.process.die()
  }

  /// Waits for a number of acknowledged registrations.
  func acknowledged(_ count: Int) async {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if state.acknowledged.count >= count {
          continuation.resume()
        } else {
          state.waitingForCount = (count, continuation)
        }
      }
    }
  }

  /// Registers until the goal is reached. A failed registration may have been committed, so it is not checked.
  func register() async {
    while let number = next() {
      let server = await currentHub().server
      let devices = Self.tokens(number).map { #"{"devicetoken":"\#($0)","osVersion":"17"}"# }
      let body = #"{"originalId":"user\#(number)","deviceInfo":[\#(devices.joined(separator: ","))]}"#
      let reply = try? await server.send(
        "PUT", "/rest/1/apps/\(ProcessFixture.appID)/pushdevices", headers: [("X-Carma-Authentication-Token", key)],
        json: body)
      if reply?.status == 200 { acknowledge(number) }
    }
  }

  private func next() -> Int64? {
    state.withLock { state in
      guard state.acknowledged.count < goal else { return nil }
      state.last += 1
      return state.last
    }
  }

  private func currentHub() async -> ProcessFixture.Hub {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if let hub = state.hub { continuation.resume(returning: hub) } else { state.waitingForHub.append(continuation) }
      }
    }
  }

  private func acknowledge(_ number: Int64) {
    state.withLock { state in
      state.acknowledged.append(number)
      if let waiting = state.waitingForCount, state.acknowledged.count >= waiting.count {
        waiting.continuation.resume()
        state.waitingForCount = nil
      }
    }
  }

  /// Two devices, so that half a registration would be noticed.
  private static func tokens(_ number: Int64) -> [String] {
    let digits = String(number, radix: 16)
    let token = String(repeating: "0", count: 64 - digits.count) + digits
    return [token, "f" + token.dropFirst()]
  }
}
