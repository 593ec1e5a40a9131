import Delivery
import Foundation
import Hybrid
import Postgres
import Providers
import Simulator
import Support
import Synchronization
import Testing
import Wire

@Suite struct StatusReporterTests {
  @Test func `A status is posted in the form of CM's status reports until it is taken`() async throws {
    try await withHybridBench(statusURL: "https://crm.example.com/status?a=1") { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1, reference: "order7"))
      _ = try await hybrid.until { $0[0].status == "Accepted" }
      let posts = Posts(refusals: 1)
      let reporter = posts.reporter(hybrid)
      #expect(try await reporter.postDue() == 1)
      #expect(try await reporter.postDue() == 0)
      let (attempts, isLater) = try await hybrid.bench.database.query(
        "SELECT attempts, not_before BETWEEN now() + interval '10 seconds' AND now() + interval '31 seconds' FROM hybrid_report"
      )[0].decode(Int16.self, Bool.self)
      #expect(attempts == 1 && isLater)
      try await hybrid.bench.database.query("UPDATE hybrid_report SET not_before = now()")
      #expect(try await reporter.postDue() == 1)
      #expect(try await hybrid.bench.database.query("SELECT 1 FROM hybrid_report").isEmpty)
      let all = posts.all
      #expect(all.count == 2 && all[0].url == "https://crm.example.com/status?a=1" && all[0].body == all[1].body)
      let message = try #require(try JSONValue(parsing: Array(all[0].body.utf8))["messages"]?["msg"])
      #expect(message.string("to") == "0031610000001" && message.string("reference") == "order7")
      #expect(message["status"] == ["code": "0", "errorCode": "", "errorDescription": "Accepted"])
    }
  }

  @Test func `A report whose hub was killed is posted by another, and one of 7 days is dropped`() async throws {
    try await withHybridBench(statusURL: "https://crm.example.com") { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1))
      _ = try await hybrid.until { $0[0].status == "Accepted" }
      let posts = Posts(refusals: 0, isSilent: true)
      let killed = Task { try await posts.reporter(hybrid).postDue() }
      while posts.all.isEmpty { await Task.yield() }
      // While the lease lasts, no other hub posts it.
      #expect(try await Posts(refusals: 0).reporter(hybrid).postDue() == 0)
      killed.cancel()
      _ = try? await killed.value
      try await hybrid.bench.database.query(
        "UPDATE hybrid_report SET not_before = now(), created_at = now() - interval '8 days'")
      let other = Posts(refusals: 1)
      #expect(try await other.reporter(hybrid).postDue() == 1)
      #expect(other.all.count == 1)
      #expect(try await hybrid.bench.database.query("SELECT 1 FROM hybrid_report").isEmpty)
    }
  }

  @Test func `Reports go to hosts of the internet, and to listed ones`() async throws {
    try await withSimulator { simulator in
      let url = "\(simulator.fcmURL)/status"
      let endpoint = try PushEndpoint(url: url)
      try await withProvider(PushServiceSettings(simulator)) { services in
        let problem = await services.post(Array("{}".utf8), to: endpoint, of: CustomerID(1))
        #expect(problem == "must be at port 443 or 8443" || problem == "must be at a host of the internet")
      }
      var settings = PushServiceSettings(simulator)
      settings.endpoints.webhook.listed = HostList("\(endpoint.host):\(endpoint.port)")
      try await withProvider(settings) { services in
        // It is there, and does not take it.
        let problem = try #require(await services.post(Array("{}".utf8), to: endpoint, of: CustomerID(1)))
        #expect(problem.hasPrefix("HTTP4"), "\(problem)")
      }
    }
  }
}

/// What was posted to a customer's address.
private final class Posts: Sendable {
  private let state: Mutex<(refusals: Int, all: [(url: String, body: String)])>
  /// Whether nothing is ever answered.
  private let isSilent: Bool

  init(refusals: Int, isSilent: Bool = false) {
    state = Mutex((refusals, []))
    self.isSilent = isSilent
  }

  var all: [(url: String, body: String)] { state.withLock(\.all) }

  func reporter(_ hybrid: HybridBench) -> StatusReporter {
    StatusReporter(hybrid.bench.pool, logger: TestServer.logger) { json, endpoint, _ in
      let isRefused = self.state.withLock { state in
        state.all.append((endpoint.url, String(decoding: json, as: UTF8.self)))
        state.refusals -= 1
        return state.refusals >= 0
      }
      if self.isSilent { try? await Task.sleep(for: .seconds(3600)) }
      return isRefused || self.isSilent ? "HTTP503" : nil
    }
  }
}
