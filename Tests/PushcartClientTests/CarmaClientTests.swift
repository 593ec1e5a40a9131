import Delivery
import Foundation
import PushcartClient
import Registry
import Simulator
import Support
import Testing
import Wire

/// The client against the hub's own routes.
@Suite struct CarmaClientTests {
  @Test func `A device is registered, looked up, sent a message of a trigger, and invalidated`() async throws {
    try await withSendingBench { bench in
      let admin = try await AccessKeys(bench.pool).make(bench.customer, name: "people", scope: .admin).token
      let backend = try await AccessKeys(bench.pool).make(bench.customer, name: "back end", scope: .backend).token
      try await bench.withWholeServer { server in
        let trigger =
          #"{"name":"Shipped","appId":"com.acme.app","message":{"alert":"{{firstName}}: {{orderNo}}"}}"#
        #expect(try await server.send("POST", "/api/v1/triggers", key: admin, json: trigger).status == 201)
        let client = try Self.client(server, bench, key: backend)
        // A name that has to be escaped in a path.
        let name = "a b/ü%2F?#@example.com"
        let device = CarmaClient.Device(
          token: String(repeating: "ab", count: 32), appType: .ios, details: ["model": "iPhone 15"])
        let made = try await client.register(name, devices: [device], fields: ["firstName": "Åsa"])
        #expect(made["originalId"]?.text == name && made["firstName"]?.text == "Åsa")
        let found = try await client.contact(name)
        #expect(found == made)
        let sentence = try await client.send(
          trigger: 1, to: name, properties: ["orderNo": "4711"], idempotencyKey: "order 4711")
        #expect(sentence.contains("is accepted"))
        let again = try await client.send(
          trigger: 1, to: name, properties: ["orderNo": "4711"], idempotencyKey: "order 4711")
        #expect(again == sentence)
        try await waitUntil { !bench.simulator.apns.requests.isEmpty }
        let payload = try #require(bench.simulator.apns.requests.first).payload
        #expect(try JSONValue(parsing: payload)["aps"]?["alert"]?.text == "Åsa: 4711")
        try await client.invalidate(name, devices: [device])
        let unreachable = try await client.send(trigger: 1, to: name)
        #expect(unreachable.contains("no valid device"))
      }
      #expect(bench.simulator.apns.requests.count == 1)
    }
  }

  @Test func `A refusal has the hub's status and sentence`() async throws {
    try await withSendingBench { bench in
      let keys = AccessKeys(bench.pool)
      let backend = try await keys.make(bench.customer, name: "back end", scope: .backend).token
      let phones = try await keys.make(bench.customer, name: "phones", scope: .device).token
      try await withTestWebServer(try WholeWebServer(bench).routes) { server in
        let client = try Self.client(server, bench, key: backend)
        let missing = await #expect(throws: CarmaClient.Refusal.self) { try await client.contact("nobody") }
        #expect(missing?.status == 404 && missing?.sentence.isEmpty == false)
        let device = CarmaClient.Device(token: "", appType: .ios)
        let wrong = await #expect(throws: CarmaClient.Refusal.self) {
          try await client.register("somebody", devices: [device])
        }
        #expect(wrong?.status == 400 && wrong?.sentence.contains("devicetoken") == true, "\(wrong?.sentence ?? "")")
        let phone = try Self.client(server, bench, key: phones)
        let barred = await #expect(throws: CarmaClient.Refusal.self) { try await phone.send(trigger: 1, to: "a") }
        #expect(barred?.status == 403)
        let stranger = try Self.client(server, bench, key: "pck_1_x")
        let unknown = await #expect(throws: CarmaClient.Refusal.self) { try await stranger.contact("nobody") }
        #expect(unknown?.status == 401)
      }
    }
  }

  private static func client(_ server: TestWebServer, _ bench: SendingBench, key: String) throws -> CarmaClient {
    CarmaClient(
      try #require(URL(string: server.url)), customer: bench.customer, appId: SendingBench.appID, accessKey: key)
  }
}
