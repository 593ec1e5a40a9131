import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct RetirementTests {
  @Test func `A device is retired when the word is about its last registration or later`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let device = try await fixture.register("a", token: "t").devices[0]
      let devices = Devices(database.pool)
      // The push service gives whole milliseconds: the registration of the same one is not later.
      let moment = Date(timeIntervalSince1970: (device.registeredAt.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
      let word = Retirement(device: device.id, moment: moment, reason: "Unregistered", isSandbox: false)
      #expect(try await devices.retire(fixture.customer, [word]) == [device.id: .retired])
      let retired = try #require(try await fixture.contact("a")?.devices[0])
      #expect(retired.invalidationType == 2)
      #expect(retired.invalidatedAt == Int64((moment.timeIntervalSince1970 * 1000).rounded()))
      let event = try await database.query(
        "SELECT kind, reason FROM device_event ORDER BY device_event_id DESC LIMIT 1")[0]
      #expect(try event.decode(String.self, String.self) == ("invalidated", "Unregistered"))
    }
  }

  @Test func `A device that was registered after the moment is kept`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let device = try await fixture.register("a", token: "t").devices[0]
      let word = Retirement(
        device: device.id, moment: device.registeredAt.addingTimeInterval(-0.002), reason: "Unregistered",
        isSandbox: false)
      #expect(try await Devices(database.pool).retire(fixture.customer, [word]) == [device.id: .kept])
      #expect(try await fixture.contact("a")?.devices[0].invalidatedAt == nil)
      #expect(try await fixture.events("t") == ["registered"])
    }
  }

  @Test func `A word about the other environment does not count`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let device = try await fixture.register("a", token: "t", #","sandboxToken":"true""#).devices[0]
      let word = Retirement(device: device.id, moment: .now, reason: "BadDeviceToken", type: 3, isSandbox: false)
      #expect(try await Devices(database.pool).retire(fixture.customer, [word]) == [device.id: .kept])
      let right = Retirement(
        device: device.id, moment: .now.addingTimeInterval(1), reason: "BadDeviceToken", type: 3, isSandbox: true)
      #expect(try await Devices(database.pool).retire(fixture.customer, [right]) == [device.id: .retired])
      #expect(try await fixture.contact("a")?.devices[0].invalidationType == 3)
      // Registering it for the other environment revives it.
      try await fixture.register("a", token: "t")
      #expect(try await fixture.events("t") == ["registered", "invalidated", "environment", "revived"])
    }
  }

  @Test func `What is invalid already keeps its date and reason`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let device = try await fixture.register("a", token: "t").devices[0]
      try await fixture.invalidate(#"{"originalId":"a","deviceInfo":[{"devicetoken":"t","dateOfInvalidation":5}]}"#)
      let word = Retirement(
        device: device.id, moment: .now.addingTimeInterval(1), reason: "Unregistered", isSandbox: false)
      #expect(try await Devices(database.pool).retire(fixture.customer, [word]) == [device.id: .alreadyInvalid])
      #expect(try await fixture.contact("a")?.devices[0].invalidationType == 1)
      #expect(try await fixture.events("t") == ["registered", "invalidated"])
    }
  }

  @Test func `A thousand are retired at once, and no device of another customer`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let other = try await RegistryFixture(database)
      let foreign = try await other.register("a", token: "t").devices[0].id
      try await fixture.allowDevices(1000)
      var ids: [DeviceID] = []
      for part in 0..<10 {
        let devices = (0..<100).map { #"{"devicetoken":"t\#(part)-\#($0)"}"# }.joined(separator: ",")
        ids += try await fixture.register(#"{"originalId":"a\#(part)","deviceInfo":[\#(devices)]}"#).devices.map(\.id)
      }
      let words = (ids + [foreign]).map {
        Retirement(device: $0, moment: .now.addingTimeInterval(1), reason: "Unregistered", isSandbox: false)
      }
      let outcomes = try await Devices(database.pool).retire(fixture.customer, words)
      #expect(outcomes.count { $0.value == .retired } == 1000)
      #expect(outcomes[foreign] == .alreadyInvalid)
      #expect(try await other.contact("a")?.devices[0].invalidatedAt == nil)
      #expect(try await Devices(database.pool).retire(fixture.customer, []) == [:])
    }
  }

  @Test func `Recipients come with all that is known of them, or with what is asked for`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let other = try await RegistryFixture(database)
      let foreign = try await other.register("a", token: "t").devices[0].id
      var ids: [DeviceID] = []
      for number in 0..<300 {
        let json =
          #"{"originalId":"user\#(number)","firstName":"Name \#(number)","properties":{"n":\#(number)},"deviceInfo":[{"devicetoken":"token\#(number)","sandboxToken":\#(number.isMultiple(of: 2))}]}"#
        ids.append(try await fixture.register(json).devices[0].id)
      }
      let asked = Array(ids.reversed()) + [foreign, DeviceID(99_999_999)]
      let recipients = try await Devices(database.pool).recipients(fixture.customer, asked)
      #expect(recipients.count == 300 && Set(recipients.map(\.device.id)) == Set(ids))
      let first = try #require(recipients.first { $0.device.id == ids[299] })
      #expect(first.contact.originalID == "user299")
      #expect(first.contact[.firstName] == "Name 299")
      #expect(first.contact.properties == #"{"n":299}"#)
      #expect(first.device.token == "token299")
      #expect(Set(recipients.filter(\.device.isSandbox).map(\.device.id)) == Set((0..<150).map { ids[2 * $0] }))
      #expect(try await Devices(database.pool).recipients(fixture.customer, []).isEmpty)
      let named = try await Devices(database.pool).recipients(
        fixture.customer, [ids[7]], with: RecipientFields(named: ["firstName"]))
      #expect(named.map(\.contact.properties) == ["{}"] && named.map { $0.contact[.firstName] } == ["Name 7"])
      #expect(named.map(\.contact.originalID) == [""])
      let bare = try await Devices(database.pool).recipients(fixture.customer, [ids[7], foreign], with: [])
      #expect(bare.map(\.contact.id) == [recipients.first { $0.device.id == ids[7] }?.contact.id])
      #expect(bare.map(\.device.token) == ["token7"] && bare.map { $0.contact[.firstName] } == [nil])
    }
  }
}
