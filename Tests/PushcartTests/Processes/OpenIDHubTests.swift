import Simulator
import Support
import Testing

@Suite struct OpenIDHubTests {
  @Test func `A hub sends people to the provider of its settings, and logs no secret`() async throws {
    try await withProcessFixture { fixture in
      let consoleURL = "https://console.example.com"
      let path = "/console/sign-in/openid"
      let client = SimulatedOpenID.Client(id: "hub", secret: "canary", redirectURL: "\(consoleURL)\(path)/callback")
      let mia = SimulatedOpenID.Person("user|1", email: "mia@example.com", name: "Mia", roles: ["push-admins"])
      let provider = try SimulatedOpenID(client, [mia])
      try await provider.start(caFile: fixture.simulator.caFile)
      var pushcart = fixture.pushcart
      pushcart.environment.merge([
        "PUSHCART_CONSOLE_URL": consoleURL, "PUSHCART_OIDC_ISSUER": provider.issuer, "PUSHCART_OIDC_CLIENT_ID": "hub",
        "PUSHCART_OIDC_CLIENT_SECRET": "canary", "PUSHCART_OIDC_ROLES": "push-admins=owner:1",
      ]) { $1 }
      let hub = try await ProcessFixture.Hub(pushcart)
      var begun = try await hub.server.send("GET", path)
      // A busy machine may take too long for the provider's documents.
      try await waitUntil(every: .seconds(1)) {
        if begun.status == 503 { begun = try await hub.server.send("GET", path) }
        return begun.status != 503
      }
      let cookie = try #require(begun.header("Set-Cookie")?.split(separator: ";").first)
      let back = try provider.signIn("user|1", at: try #require(begun.header("Location")))
      let ended = try await hub.server.send(
        "GET", String(back.dropFirst(consoleURL.count)), headers: [("Cookie", String(cookie))])
      #expect(ended.status == 303 && ended.header("Location") == "/console", "\(ended.text)")
      let code = try #require(back.firstMatch(of: /code=([^&]+)/)?.1)
      for secret in ["canary", String(code), String(cookie.dropFirst(20))] {
        #expect(!hub.process.text.contains(secret))
      }
      await hub.process.die()
      await provider.stop()
    }
  }
}
