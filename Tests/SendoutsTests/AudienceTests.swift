import Delivery
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@Suite struct AudienceTests {
  @Test func `A sendout to all reaches every valid device of the app, each once and by name`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(150)
      let key = try await bench.withHubs {
        let key = try await bench.send()
        let shown = try await bench.until(key, .finished)
        #expect(shown.counts == SendoutCounts(audience: 150, sent: 150, accepted: 150))
        #expect(shown.startedAt != nil && shown.frozenAt != nil && shown.finishedAt != nil)
        return key
      }
      let received = bench.simulator.apns.requests
      #expect(Set(received.map(\.token)) == Set((1...150).map { bench.token($0) }))
      #expect(received.count == 150)
      let first = try #require(received.first { $0.token == bench.token(7) })
      let payload = try JSONValue(parsing: first.payload)
      #expect(payload["aps"]?["alert"] == "Hello N7")
      #expect(payload["source"] == "carma")
      #expect(payload["url"] == nil)
      #expect(payload.string("pushreadurl")?.hasPrefix("https://push.example.com/r/") == true)
      #expect(first.header("apns-collapse-id") == "s\(key.sendout)")
      #expect(first.header("apns-topic") == SendingBench.appID)
    }
  }

  @Test func `Invalidated devices, those of other apps and of other customers are left out`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(4)
      try await bench.database.query(
        "UPDATE device SET invalidated_at = now(), invalidation_type = 1 WHERE device_id = $1::bigint",
        devices[1].rawValue)
      let other = try await PushApps(bench.pool, vault: bench.vault).add(
        bench.customer, NewPushApp(appID: "com.acme.other", type: .ios, name: "Other"))
      try await bench.database.query(
        "UPDATE device SET push_app_id = $2::bigint WHERE device_id = $1::bigint", devices[2].rawValue,
        other.id.rawValue)
      let key = try await bench.withHubs { try await bench.finishedSendout() }
      #expect(try await bench.pushes(key).map(\.deviceId) == [devices[0], devices[3]])
      #expect(Set(bench.simulator.apns.requests.map(\.token)) == [bench.token(1), bench.token(4)])
    }
  }

  @Test func `Several lists reach each contact that is on one of them once`() async throws {
    try await withSendingBench { bench in
      let store = ContactLists(bench.pool)
      let (first, second) = (
        try await store.add(bench.customer, name: "friends").listId,
        try await store.add(bench.customer, name: "family").listId
      )
      let one = try await bench.addDevices(2, list: first)
      let other = try await bench.addDevices(2, from: 3, list: second)
      try await bench.addDevices(1, from: 5)
      // The first one is on both.
      try await bench.database.query(
        """
        INSERT INTO list_member (customer_id, list_id, contact_id)
        SELECT customer_id, $2::bigint, contact_id FROM device WHERE customer_id = $1::bigint AND device_id = $3::bigint
        """, bench.customer.rawValue, second.rawValue, one[0].rawValue)
      let key = try await bench.withHubs { try await bench.finishedSendout(audience: .lists([first, second, first])) }
      #expect(try await bench.pushes(key).map(\.deviceId) == one + other)
      let unknown = await #expect(throws: (any Error).self) {
        try await bench.send(audience: .lists([first, ListID(999)]))
      }
      #expect("\(unknown.map { $0 } as Any)".contains("audience.lists"))
    }
  }

  @Test func `A list reaches the contacts that are on it`() async throws {
    try await withSendingBench { bench in
      let list = try await ContactLists(bench.pool).add(bench.customer, name: "friends")
      try await bench.addDevices(5)
      let listed = try await bench.addDevices(3, from: 6, list: list.listId)
      let key = try await bench.withHubs { try await bench.finishedSendout(audience: .list(list.listId)) }
      #expect(try await bench.pushes(key).map(\.deviceId) == listed)
    }
  }

  @Test func `A contact on several lists gets a sendout to one of them once`() async throws {
    try await withSendingBench { bench in
      let lists = ContactLists(bench.pool)
      let (one, two) = (
        try await lists.add(bench.customer, name: "one").listId, try await lists.add(bench.customer, name: "two").listId
      )
      let listed = try await bench.addDevices(2, list: one)
      let both = MembersRequest(add: ["user1@example.com"])
      _ = try await bench.pool.transaction { try await ContactLists($0).change(bench.customer, two, both) }
      try await bench.withHubs {
        let toOne = try await bench.finishedSendout(audience: .list(one))
        #expect(try await bench.pushes(toOne).map(\.deviceId) == listed)
        let toTwo = try await bench.finishedSendout(audience: .list(two))
        #expect(try await bench.pushes(toTwo).map(\.deviceId) == [listed[0]])
      }
    }
  }

  @Test func `Original ids reach every device of their contacts once, and unknown ones are counted`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(5)
      // The second contact has two phones.
      try await bench.database.query(
        """
        UPDATE device SET contact_id = (SELECT contact_id FROM device WHERE device_id = $1::bigint)
         WHERE device_id = $2::bigint
        """, devices[1].rawValue, devices[2].rawValue)
      let ids = ["user2@example.com", "nobody", "user5@example.com", "user2@example.com", "NOBODY"]
      let key = try await bench.withHubs { try await bench.finishedSendout(audience: .originalIds(ids)) }
      #expect(try await bench.pushes(key).map(\.deviceId) == [devices[1], devices[2], devices[4]])
      let shown = try await bench.show(key)
      #expect(shown.unknownOriginalIds == 2)
      #expect(shown.audience == .originalIds(ids))
    }
  }

  @Test func `A sendout with an empty audience finishes immediately`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.withHubs { try await bench.finishedSendout() }
      #expect(try await bench.show(key).counts == SendoutCounts())
    }
  }

  @Test func `Each device is sent to in its own environment`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      try await bench.addDevices(2, from: 4, sandbox: true)
      _ = try await bench.withHubs { try await bench.finishedSendout() }
      let received = bench.simulator.apns.requests
      #expect(received.count { $0.environment == .production } == 3)
      #expect(Set(received.filter { $0.environment == .sandbox }.map(\.token)) == [bench.token(4), bench.token(5)])
    }
  }

  @Test func `Devices registered after the start are not in the audience`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(3)
      let key = try await bench.send()
      try await bench.withHubs { try await bench.until(key, .finished) }
      try await bench.addDevices(2, from: 4)
      #expect(try await bench.pushes(key).map(\.deviceId) == devices)
    }
  }
}

extension SendingBench {
  /// A sendout that has run to its end.
  func finishedSendout(audience: Audience = .all) async throws -> SendoutKey {
    let key = try await send(audience: audience)
    try await until(key, .finished)
    return key
  }
}
