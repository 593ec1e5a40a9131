import Support
import Testing

@Suite struct CarmaCanaryTests {
  /// What belongs to the customer's users, and the keys: the log says which route was answered how, and nothing of these.
  @Test func `Neither the log nor an error contains a key, token, original id or field value`() async throws {
    let log = LogCapture()
    try await withCarmaServer(logger: log.logger) { carma in
      let key = carma.acme.backend
      let secrets = [key, carma.acme.device, "canary-token", "canary@example.com", "canary%40example.com", "Canary"]
      let good =
        #"{"originalId":"canary@example.com","firstName":"Canary","deviceInfo":[{"devicetoken":"canary-token"}]}"#
      #expect(try await carma.put(good).status == 200)
      #expect(try await carma.get("canary%40example.com?q=Canary").status == 200)
      let refused = [
        try await carma.put(good.replacing("canary-token", with: "canary-token Canary")),
        try await carma.put(good.replacing(#""Canary""#, with: #"["Canary"]"#)),
        try await carma.put(good.dropLast() + #","dateOfBirth":"Canary","listId":"Canary"}"#),
        try await carma.put(good, key: "Canary"), try await carma.put(good, app: "Canary"),
        try await carma.get("Canary"), try await carma.get("Canary", key: carma.acme.device),
        try await carma.invalidate(good.replacing("canary-token", with: "Canary")),
        try await carma.send("POST", carma.path("pushdevices"), json: good),
        try await carma.send("PUT", carma.path("pushdevices"), headers: [("Content-Type", "Canary")]),
        try await carma.send("GET", "/canary@example.com/canary-token"),
      ]
      for reply in refused {
        #expect((400..<500).contains(reply.status))
        for secret in secrets { #expect(!reply.text.contains(secret), "\(reply.text)") }
      }
    }
    #expect(log.lines.count { $0.contains("answered") } == 13)
    for line in log.lines {
      for secret in ["pck_", "canary", "Canary"] { #expect(!line.contains(secret), "\(line)") }
    }
  }
}
