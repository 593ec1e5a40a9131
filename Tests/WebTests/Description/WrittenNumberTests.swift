import Delivery
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

/// Numbers that no binary number of a fixed size holds, through every route that takes some: they come out as they went in.
@Suite struct WrittenNumberTests {
  private static let numbers = [
    "1e400", "12345678901234567890", "19.90", "100.00", "-0", "1.5E+2", "0.10000000000000000001",
  ]

  @Test(arguments: numbers)
  func `A number comes out as it went in`(number: String) async throws {
    try await withNumbers { hub in
      let message = """
        {"alert":"{{p}} {{r}}","fields":{"n":\(number),"in":[{"n":\(number)}]},
        "overrides":{"apns":{"payload":{"o":\(number)}}}}
        """
      let written = [#""n":\#(number)"#, #""in":[{"n":\#(number)}]"#, #""o":\#(number)"#]
      func expect(_ text: String, _ parts: [String], _ place: String) {
        for part in parts { #expect(text.contains(part), "\(place): \(text)") }
      }

      // A contact, its properties and its page.
      let devices = #"[{"devicetoken":"\#(hub.bench.token(1))"}]"#
      let contact = #"{"originalId":"user1@example.com","properties":{"r":\#(number)},"deviceInfo":\#(devices)}"#
      expect(try await hub.carma("PUT", "apps/com.acme.app/pushdevices", contact), [#""r":\#(number)"#], "registration")
      expect(
        try await hub.carma("GET", "apps/com.acme.app/pushdevices/user1@example.com"), [#""r":\#(number)"#], "contact")

      // A message, its preview and its push.
      let single = """
        {"appId":"com.acme.app","to":{"originalId":"user1@example.com"},"message":\(message),
        "properties":{"p":\(number)},"wait":30}
        """
      let texts = "\(number) \(number)"
      expect(try await hub.manage("POST", "messages/preview", single), written + [texts], "preview")
      expect(try await hub.manage("POST", "messages", single), ["accepted"], "message")
      expect(try hub.payload(), written + [texts], "push")

      // A trigger, the push of its message, and what it stores.
      let trigger = #"{"name":"t","appId":"com.acme.app","message":\#(message)}"#
      expect(try await hub.manage("POST", "triggers", trigger), written, "trigger")
      expect(try await hub.manage("GET", "triggers/1"), written, "stored trigger")
      let call = #"{"originalId":"user1@example.com","properties":{"p":\#(number)},"saveProps":true}"#
      expect(try await hub.carma("POST", "triggers/1/messages", call), ["accepted"], "trigger's message")
      _ = await hub.bench.simulator.apns.received(count: 2)
      expect(try hub.payload(), written + [texts], "trigger's push")
      expect(
        try await hub.carma("GET", "apps/com.acme.app/pushdevices/user1@example.com"),
        [#""p":\#(number)"#, #""r":\#(number)"#], "saved properties")

      // A sendout, and the audit log of all of it.
      let sendout = #"{"appId":"com.acme.app","name":"s","audience":{"all":true},"message":\#(message)}"#
      expect(try await hub.manage("POST", "sendouts", sendout), written, "sendout")
      expect(try await hub.manage("GET", "audit"), written, "audit log")

      // A data tree.
      for (path, value) in [("/a", number), ("/b", "[\(number)]"), ("/c", #"{"n":\#(number)}"#)] {
        expect(try await hub.tree("PUT", path, value), [], "write")
        #expect(try await hub.tree("GET", path) == value)
      }
    }
  }

  /// A hub with its sender, over a bench.
  private struct NumberHub: Sendable {
    let bench: SendingBench
    let server: TestWebServer
    let key: String
    let secret: String

    private func text(_ reply: TestReply) -> String {
      #expect((200..<300).contains(reply.status), "\(reply.text)")
      return reply.text
    }

    func manage(_ method: String, _ path: String, _ json: String? = nil) async throws -> String {
      text(try await server.send(method, "/api/v1/\(path)", key: key, json: json))
    }

    func carma(_ method: String, _ path: String, _ json: String? = nil) async throws -> String {
      text(
        try await server.send(
          method, "/rest/\(bench.customer)/\(path)", headers: [("X-Carma-Authentication-Token", key)], json: json))
    }

    func tree(_ method: String, _ path: String, _ json: String? = nil) async throws -> String {
      text(try await server.send(method, "/datasync/v2/com.acme.app/data\(path)", key: secret, json: json))
    }

    /// What the phone got last.
    func payload() throws -> String {
      String(decoding: try #require(bench.simulator.apns.requests.last).payload, as: UTF8.self)
    }
  }

  private func withNumbers(_ body: @escaping @Sendable (NumberHub) async throws -> Void) async throws {
    try await withSendingBench { bench in
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "numbers", scope: .admin).token
      try await bench.withWholeServer { server in
        let enabled = try await server.send("POST", "/api/v1/datasync", key: key, json: #"{"app":"com.acme.app"}"#)
        let secret = try #require(try enabled.json.string("secret"), "\(enabled.text)")
        try await body(NumberHub(bench: bench, server: server, key: key, secret: secret))
      }
    }
  }
}
