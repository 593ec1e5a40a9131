import Delivery
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// What a sendout tells of one recipient.
@Suite struct WhyTests {
  private func texts(_ bench: SendingBench, _ key: SendoutKey, _ originalID: String) async throws -> [String] {
    let reply = try await bench.sendouts.why(bench.customer, key.sendout, originalID: originalID)
    #expect(reply.originalId == originalID && reply.sendoutId == key.sendout)
    return reply.lines.map(\.text)
  }

  private static let written = "The audience was written into the ledger."

  @Test func `Of a recipient it tells when the push was sent, what the push service said, and the open`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(1)
      try await bench.addDevices(1, from: 2, prefix: "dd")
      bench.simulator.apns.rule(.prefix("dd"), .refuse(status: 400, reason: "BadDeviceToken"))
      let draft = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hello")))
      let key = SendoutKey(bench.customer, draft.sendoutId)
      #expect(try await texts(bench, key, "user1@example.com") == ["The sendout is a draft. It has not been started."])
      try await bench.sendouts.start(bench.customer, key.sendout)
      try await bench.withHubs { _ = try await bench.until(key, .finished) }
      #expect(
        try await texts(bench, key, "user2@example.com")
          == [Self.written, "Sent.", "Failed: BadDeviceToken. It is not sent again."])
      try await bench.database.query("UPDATE push SET opened_at = now() WHERE push_no = 1")
      try await bench.database.recountBatches()
      let reply = try await bench.sendouts.why(bench.customer, key.sendout, originalID: "user1@example.com")
      #expect(
        reply.lines.map(\.text) == [Self.written, "Sent.", "Accepted by the push service.", "Opened by a person."])
      #expect(reply.lines.dropFirst().allSatisfy { $0.deviceId == devices[0] && $0.pushNo == PushNumber(1) })
      #expect(reply.lines.allSatisfy { $0.at != nil })
      #expect(
        try await texts(bench, key, "USER1@example.com")
          == [Self.written, "There is no contact with this original id. It is compared exactly."])
    }
  }

  @Test func `Of a push that waits for its moment it tells when that is`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let wall = try #require(WallTime.fromNow(2 * 3600))
      let key = try await bench.make(CampaignFields(localTime: wall), draft: true)
      try await bench.sendouts.start(bench.customer, key.sendout)
      try await bench.step(key)
      #expect(try await bench.show(key).frozenAt != nil)
      let reply = try await bench.sendouts.why(bench.customer, key.sendout, originalID: "user1@example.com")
      #expect(reply.lines.map(\.text) == [Self.written, "Is planned to be sent."])
      #expect(reply.lines.last?.at == Timestamp("\(wall):00Z"))
    }
  }

  @Test func `Of a sendout with variants it names that of each push, and the winner's once that is chosen`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let variants = ["A", "B"].map { MessageVariant(name: $0, share: 50, message: MessageBody(alert: $0)) }
      let key = try await bench.make(CampaignFields(variants: variants), draft: true)
      try await bench.sendouts.start(bench.customer, key.sendout)
      try await bench.step(key)
      let number = try await bench.database.query("SELECT variant FROM push")[0].decode(Int16.self)
      func lines() async throws -> [WhyLine] {
        try await bench.sendouts.why(bench.customer, key.sendout, originalID: "user1@example.com").lines
      }
      let named = try await lines()
      #expect(named.map(\.text)[1] == "Its variant is \(number == 1 ? "A" : "B").")
      #expect(named[1].pushNo == PushNumber(1) && named[1].deviceId != nil)
      // As of somebody who waits for a winner.
      try await bench.database.query("UPDATE push SET variant = 0")
      #expect(try await !lines().contains { $0.text.contains("variant") })
      try await bench.database.query("UPDATE sendout SET winner_no = 2, winner_by = 'person', winner_at = now()")
      #expect(try await lines().map(\.text)[1] == "Its variant is B.")
    }
  }

  @Test func `Of somebody outside the audience it tells why`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(3)
      let list = try await ContactLists(bench.pool).add(bench.customer, name: "news").listId
      try await bench.database.query(
        """
        INSERT INTO list_member (customer_id, list_id, contact_id)
        SELECT customer_id, $1::bigint, contact_id FROM contact WHERE original_id <> 'user3@example.com'
        """, list.rawValue)
      try await bench.database.query(
        """
        UPDATE device SET invalidated_at = now(), invalidation_type = 2, invalidation_reason = 'Unregistered'
        WHERE device_id = $1::bigint
        """, devices[1].rawValue)
      try await bench.database.query(
        """
        WITH made AS (INSERT INTO contact (customer_id, original_id) VALUES ($1::bigint, 'bare') RETURNING contact_id)
        INSERT INTO list_member (customer_id, list_id, contact_id) SELECT $1::bigint, $2::bigint, contact_id FROM made
        """, bench.customer.rawValue, list.rawValue)
      let toList = try await bench.send(audience: .list(list))
      let toOne = try await bench.send(audience: .originalIds(["user1@example.com"]))
      try await bench.withHubs {
        for key in [toList, toOne] { _ = try await bench.until(key, .finished) }
      }
      #expect(
        try await texts(bench, toList, "user2@example.com")
          == [Self.written, "The device was invalidated because of Unregistered."])
      #expect(
        try await texts(bench, toList, "user3@example.com").prefix(2)
          == [Self.written, "The audience is list \(list). The contact is on no list."])
      #expect(
        try await texts(bench, toOne, "user3@example.com").prefix(2)
          == [Self.written, "The audience names original ids, and this is none of them."])
      #expect(
        try await texts(bench, toList, "bare")
          == [Self.written, "The contact has no device in the app \(SendingBench.appID) (app type 1)."])
      try await bench.addDevices(1, from: 9)
      try await bench.database.query(
        """
        INSERT INTO list_member (customer_id, list_id, contact_id)
        SELECT customer_id, $1::bigint, contact_id FROM contact WHERE original_id = 'user9@example.com'
        """, list.rawValue)
      #expect(
        try await texts(bench, toList, "user9@example.com")
          == [Self.written, "The contact got the device after the audience was written."])
      await #expect(throws: RegistryError.numberUnknown("sendout")) {
        try await bench.sendouts.why(bench.customer, SendoutID(99), originalID: "user1@example.com")
      }
    }
  }
}
