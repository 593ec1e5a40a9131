import Support
import Testing

@Suite struct OperationsListenerTests {
  @Test func `With a port of its own, operations are served there and nowhere else`() async throws {
    try await withStage { fixture in
      let port = Port.free(1)[0]
      var pushcart = fixture.pushcart
      pushcart.environment["PUSHCART_OPERATIONS_PORT"] = "\(port)"
      let hub = try await ProcessFixture.Hub(pushcart)
      let operations = TestSite(url: "http://127.0.0.1:\(port)")
      for path in ["/metrics", "/api/v1/keys", "/api/v1/sendouts", "/openapi.json", "/swagger/", "/swagger"] {
        #expect(try await hub.site.send("GET", path, key: fixture.key).status == 404, "\(path)")
        let status = try await operations.send("GET", path, key: fixture.key).status
        #expect(status == (path == "/swagger" ? 308 : 200), "\(path)")
      }
      for path in ["/healthz", "/readyz"] {
        #expect(try await hub.site.send("GET", path).status == 200)
        #expect(try await operations.send("GET", path).status == 200)
      }
      let carma = "/rest/1/apps/\(ProcessFixture.appID)/pushdevices/a"
      #expect(try await hub.site.send("GET", carma).status == 401)
      #expect(try await operations.send("GET", carma).status == 404)
      #expect(try await operations.send("GET", "/c/x").status == 404)
    }
  }
}
