import Foundation
import Postgres
import Support
import Testing
import Wire

@testable import Registry

/// What contacts, devices and apps tell webhooks.
@Suite struct EventSourceTests {
  /// Runs `body` with a customer whose webhook is told everything.
  private func withNoted(_ body: (RegistryFixture) async throws -> Void) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await database.addWebhook(fixture.customer)
      try await body(fixture)
    }
  }

  @Test func `A device that an app invalidates is told once`() async throws {
    try await withNoted { fixture in
      try await fixture.register("lars", token: "t")
      #expect(try await fixture.database.noted(fixture.customer) == [])
      for _ in 0..<2 {
        try await fixture.invalidate(#"{"originalId":"lars","deviceInfo":[{"devicetoken":"t"}]}"#)
      }
      #expect(try await fixture.database.noted(fixture.customer) == ["device.invalidated lars app"])
    }
  }

  @Test func `A device that a registration invalidates is told`() async throws {
    try await withNoted { fixture in
      try await fixture.register("lars", token: "t")
      try await fixture.register("lars", token: "t", #","invalidationType":1"#)
      #expect(try await fixture.database.noted(fixture.customer) == ["device.invalidated lars app"])
    }
  }

  @Test func `A device that its push service no longer knows is told with the service's word`() async throws {
    try await withNoted { fixture in
      let device = try await fixture.register("lars", token: "t").devices[0]
      let word = Retirement(device: device.id, moment: Date(), reason: "Unregistered", isSandbox: false)
      let devices = Devices(fixture.database.pool)
      #expect(try await devices.retire(fixture.customer, [word]) == [device.id: .retired])
      _ = try await devices.retire(fixture.customer, [word])
      #expect(try await fixture.database.noted(fixture.customer) == ["device.invalidated lars Unregistered"])
      let subject = try await fixture.database.query("SELECT subject_id FROM webhook_event")[0].decode(Int64.self)
      #expect(subject == device.id.rawValue)
    }
  }

  @Test func `A device that gave way to a newer one, and one that a person retires, are told`() async throws {
    try await withNoted { fixture in
      try await fixture.allowDevices(1)
      try await fixture.register("lars", token: "t1")
      let newer = try await fixture.register("lars", token: "t2").devices
      let valid = try #require(newer.first { $0.invalidatedAt == nil })
      _ = try await fixture.database.pool.transaction { transaction in
        try await ContactStore(transaction).retire(fixture.customer, valid.id, by: nil)
      }
      #expect(
        try await fixture.database.noted(fixture.customer) == [
          "device.invalidated lars \(Device.gaveWay)", "device.invalidated lars \(DeviceDetails.retired)",
        ])
    }
  }

  @Test func `A contact whose fields change is told, and one that stays as it is is not`() async throws {
    try await withNoted { fixture in
      let body = #"{"originalId":"lars","firstName":"Lars","deviceInfo":[{"devicetoken":"t"}]}"#
      // New ones are not told.
      for _ in 0..<2 { try await fixture.register(body) }
      #expect(try await fixture.database.noted(fixture.customer) == [])
      try await fixture.register(body.replacing("\"Lars\"", with: "\"Larsson\""))
      var request = ContactRequest()
      request.texts[.firstName] = "Lasse"
      for _ in 0..<2 {
        _ = try await fixture.database.pool.transaction { [request] transaction in
          try await ContactStore(transaction).change(fixture.customer, "lars", request)
        }
      }
      #expect(
        try await fixture.database.noted(fixture.customer) == ["contact.updated lars", "contact.updated lars"])
    }
  }

  @Test func `A suppression is told with its contact, if one has that name, and not twice`() async throws {
    try await withNoted { fixture in
      try await fixture.register("lars", token: "t")
      let suppressions = Suppressions(fixture.database.pool, key: SuppressionKey(key: [1]))
      let token = try DeviceToken("t", type: .ios, field: "token")
      for suppressed in [
        Suppressed.contact(originalID: "lars"), .contact(originalID: "lars"), .contact(originalID: "nobody"),
        .device(fixture.app[0].id, token),
      ] {
        _ = try await suppressions.add(fixture.customer, suppressed, .marketing)
      }
      _ = try await suppressions.add(fixture.customer, .contact(originalID: "lars"), .all)
      #expect(
        try await fixture.database.noted(fixture.customer) == [
          "contact.suppressed lars marketing", "contact.suppressed marketing", "contact.suppressed lars marketing",
          "contact.suppressed lars all",
        ])
    }
  }

  @Test func `An app's alarm is told when it is raised, and again only after all was well`() async throws {
    try await withNoted { fixture in
      let alarms = PushAppAlarms(fixture.database.pool)
      let app = fixture.app[0].id
      for reason in ["InvalidProviderToken", "BadTopic"] {
        try await alarms.raise(fixture.customer, app, isSandbox: false, reason: reason)
      }
      try await alarms.raise(fixture.customer, app, isSandbox: true, reason: "TopicDisallowed")
      try await alarms.clear(fixture.customer, app, isSandbox: false)
      try await alarms.raise(fixture.customer, app, isSandbox: false, reason: "BadTopic")
      #expect(
        try await fixture.database.noted(fixture.customer) == [
          "app.refused InvalidProviderToken", "app.refused TopicDisallowed", "app.refused BadTopic",
        ])
    }
  }

  @Test func `A webhook is told what it wants, and each has its own`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      for _ in 0..<2 { try await database.addWebhook(fixture.customer, [.appRefused]) }
      try await database.addWebhook(fixture.customer, [.deviceInvalidated])
      try await PushAppAlarms(database.pool).raise(fixture.customer, fixture.app[0].id, isSandbox: false, reason: "x")
      let rows = try await database.query("SELECT count(*), count(DISTINCT webhook_id) FROM webhook_event")
      #expect(try rows[0].decode(Int.self, Int.self) == (2, 2))
    }
  }
}
