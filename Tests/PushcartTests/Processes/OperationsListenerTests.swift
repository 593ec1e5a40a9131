import ServiceLifecycle
import Support
import Testing

@testable import Pushcart

@Suite struct OperationsListenerTests {
  @Test func `With a port of its own, operations are served there and nowhere else`() async throws {
    try await withProcessFixture { fixture in
      let port = Port.free(1)[0]
      var pushcart = fixture.pushcart
      pushcart.environment["PUSHCART_OPERATIONS_PORT"] = "\(port)"
      let hub = try await ProcessFixture.Hub(pushcart)
      try await hub.process.says(#""message":"listening for operations""#)
      let operations = TestWebServer(url: "http://127.0.0.1:\(port)")
      for path in ["/metrics", "/api/v1/keys", "/api/v1/sendouts", "/openapi.json", "/swagger/", "/swagger"] {
        #expect(try await hub.server.send("GET", path, key: fixture.key).status == 404, "\(path)")
        let status = try await operations.send("GET", path, key: fixture.key).status
        #expect(status == (path == "/swagger" ? 308 : 200), "\(path)")
      }
      for path in ["/healthz", "/readyz"] {
        // A busy database may take longer than a probe of readiness waits.
        try await waitUntil { try await hub.server.send("GET", path).status == 200 }
        try await waitUntil { try await operations.send("GET", path).status == 200 }
      }
      let carma = "/rest/1/apps/\(ProcessFixture.appID)/pushdevices/a"
      #expect(try await hub.server.send("GET", carma).status == 401)
      #expect(try await operations.send("GET", carma).status == 404)
      #expect(try await operations.send("GET", "/c/x").status == 404)
    }
  }

  @Test(arguments: [("127.0.0.1", "198.51.100.7"), ("192.0.2.1", "127.0.0.1")])
  func `The audit log has the client's address behind a trusted proxy, and else the proxy's`(
    trusted: String, address: String
  ) async throws {
    try await withProcessFixture { fixture in
      var pushcart = fixture.pushcart
      let port = Port.free(1)[0]
      pushcart.environment["PUSHCART_OPERATIONS_PORT"] = "\(port)"
      pushcart.environment["PUSHCART_TRUSTED_PROXIES"] = trusted
      let hub = try await ProcessFixture.Hub(pushcart)
      try await hub.process.says(#""message":"listening for operations""#)
      let operations = TestWebServer(url: "http://127.0.0.1:\(port)")
      let forwarded = [("X-Forwarded-For", "203.0.113.1, 198.51.100.7")]
      let made = try await operations.send(
        "POST", "/api/v1/lists", key: fixture.key, headers: forwarded, json: #"{"name":"some"}"#)
      #expect(made.status == 201)
      let audit = try await operations.send("GET", "/api/v1/audit", key: fixture.key)
      #expect(audit.text.contains(#""address":"\#(address)""#), "\(audit.text)")
      await hub.process.die()
    }
  }

  @Test func `A hub that cannot listen on one of its ports ends with the reason`() async throws {
    try await withProcessFixture { fixture in
      let port = "\(Port.free(1)[0])"
      let environment = fixture.pushcart.environment.merging(
        [
          "DATABASE_URL": fixture.pushcart.databaseURL, "PUSHCART_MASTER_KEY": fixture.pushcart.masterKey,
          "PUSHCART_PORT": port, "PUSHCART_OPERATIONS_HOST": "0.0.0.0", "PUSHCART_OPERATIONS_PORT": port,
          "PUSHCART_LOG_FORMAT": "json",
        ]) { $1 }
      let hub = try RunningPushcart(["serve"], environment: environment, folder: "/tmp")
      #expect(await hub.exit() == 1, "\(hub.text)")
      #expect(hub.text.contains("in use"), "\(hub.text)")
    }
  }

  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func `The first service that fails or ends early cancels the others`(fails: Bool) async throws {
    struct Failure: Error {}
    struct Short: Service {
      let fails: Bool
      func run() async throws { if fails { throw Failure() } }
    }
    struct Long: Service {
      func run() async throws { try await gracefulShutdown() }
    }
    let services = ConcurrentServices(members: [Long(), Short(fails: fails), Long()])
    let error = await #expect(throws: (any Error).self) { try await services.run() }
    #expect((error is Failure) == fails, "\(String(describing: error))")
    if !fails { #expect("\(String(describing: error))".contains("Short has ended unexpectedly")) }
  }
}
