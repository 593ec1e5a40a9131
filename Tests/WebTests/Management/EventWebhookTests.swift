import Support
import Testing
import Wire

/// `/api/v1/webhooks`.
@Suite struct EventWebhookTests {
  @Test func `A webhook is added, changed, tried and removed, and its secret is shown once`() async throws {
    try await withManagementServer { managed in
      let made = try await managed.send(
        "POST", "/api/v1/webhooks",
        json:
          #"{"url":"https://hooks.example.com/a?key=secretive","events":["push.failed","push.accepted","push.failed"]}"#
      )
      #expect(made.status == 201, "\(made.text)")
      let id = try #require(try made.json.integer("webhookId"))
      let secret = try #require(try made.json.string("secret"))
      #expect(secret.hasPrefix("whsec_"))
      let webhook = try await managed.send("GET", "/api/v1/webhooks/\(id)").json
      #expect(webhook["secret"] == nil && webhook["url"] == "https://hooks.example.com/a")
      #expect(webhook["events"] == ["push.accepted", "push.failed"] && webhook["enabled"] == true)

      let changed = try await managed.send(
        "PATCH", "/api/v1/webhooks/\(id)", json: #"{"description":"Warehouse","events":["sendout.finished"]}"#
      ).json
      #expect(changed["description"] == "Warehouse" && changed["events"] == ["sendout.finished"])
      let bare = try await managed.send("PATCH", "/api/v1/webhooks/\(id)", json: #"{"description":""}"#)
      #expect(try bare.json["description"] == nil)

      let rotated = try await managed.send("POST", "/api/v1/webhooks/\(id)/rotate")
      #expect(rotated.status == 201)
      let second = try #require(try rotated.json.string("secret"))
      let until = try rotated.json.string("formerSecretUntil")
      #expect(second != secret && until != nil)

      let test = try await managed.send("POST", "/api/v1/webhooks/\(id)/test")
      let delivery = try #require(try test.json.integer("deliveryId"))
      let deliveries = try await managed.send("GET", "/api/v1/webhooks/\(id)/deliveries").json.array("items")
      #expect(deliveries?.map { $0["event"] } == ["webhook.test"] && deliveries?[0]["state"] == "waiting")
      let shown = try await managed.send("GET", "/api/v1/webhooks/\(id)/deliveries/\(delivery)")
      #expect(shown.status == 200, "\(shown.text)")
      let body = try shown.json["body"]
      #expect(body?["type"] == "webhook.test" && body?["data"]?["webhookId"] == .integer(id))
      for path in ["\(id)/deliveries/99", "99/deliveries/\(delivery)"] {
        #expect(try await managed.send("GET", "/api/v1/webhooks/\(path)").status == 404, "\(path)")
      }
      let foreignDelivery = try await managed.send(
        "GET", "/api/v1/webhooks/\(id)/deliveries/\(delivery)", key: managed.otherKey)
      #expect(foreignDelivery.status == 404)
      let again = try await managed.send("POST", "/api/v1/webhooks/\(id)/deliveries/\(delivery)/redeliver")
      let (first, repeated) = (try test.json.string("messageId"), try again.json.string("messageId"))
      #expect(again.status == 201 && first != nil && first == repeated)
      for path in ["test", "deliveries/\(delivery)/redeliver"] {
        let foreign = try await managed.send("POST", "/api/v1/webhooks/\(id)/\(path)", key: managed.otherKey)
        #expect(foreign.status == 404, "\(path): \(foreign.text)")
      }
      let unknown = try await managed.send("POST", "/api/v1/webhooks/\(id)/deliveries/99/redeliver")
      #expect(unknown.status == 404)

      _ = try await managed.send("PATCH", "/api/v1/webhooks/\(id)", json: #"{"enabled":false}"#)
      #expect(try await managed.send("POST", "/api/v1/webhooks/\(id)/test").status == 400)
      #expect(try await managed.send("DELETE", "/api/v1/webhooks/\(id)").status == 200)
      #expect(try await managed.send("GET", "/api/v1/webhooks/\(id)/deliveries").status == 404)
      let log = try await managed.send("GET", "/api/v1/audit").text
      #expect(!log.contains("whsec_") && !log.contains("secretive"))
    }
  }

  @Test(arguments: [
    (#"{"url":"https://10.0.0.1/","events":["push.failed"]}"#, "url"),
    (#"{"url":"https://hooks.example.com/"}"#, "events"),
    (#"{"url":"https://hooks.example.com/","events":["push.lost"]}"#, "events"),
    (#"{"url":"https://hooks.example.com/","events":["push.failed"],"form":"carma"}"#, "events"),
  ])
  func `What is wrong is refused by its field`(json: String, field: String) async throws {
    try await withManagementServer { managed in
      let reply = try await managed.send("POST", "/api/v1/webhooks", json: json)
      let sentence = try reply.json.string("error")
      #expect(reply.status == 400 && sentence?.contains(field) == true, "\(reply.text)")
    }
  }

  @Test func `Carma's form stays as it was added`() async throws {
    try await withManagementServer { managed in
      let made = try await managed.send(
        "POST", "/api/v1/webhooks",
        json: #"{"url":"https://hooks.example.com/","events":["push.opened","contact.suppressed"],"form":"carma"}"#)
      #expect(made.status == 201, "\(made.text)")
      let id = try #require(try made.json.integer("webhookId"))
      #expect(try await managed.send("PATCH", "/api/v1/webhooks/\(id)", json: #"{"form":"standard"}"#).status == 400)
      let other = try await managed.send("PATCH", "/api/v1/webhooks/\(id)", json: #"{"events":["push.failed"]}"#)
      #expect(other.status == 400)
    }
  }
}
