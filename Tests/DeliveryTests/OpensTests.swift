import Content
import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

@Suite struct OpensTests {
  /// A sendout whose audience of so many is frozen, and the links to its pushes.
  private func withFrozen(
    _ count: Int, _ body: (SendingBench, Opens, SendoutKey, [PushLink]) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(count)
      let key = try await bench.send()
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, app: bench.app.id, audience: .all)
      }
      let links = devices.map { PushLink(customer: bench.customer, sendout: key.sendout, device: $0) }
      try await body(bench, Opens(bench.pool), key, links)
    }
  }

  private func events(_ bench: SendingBench) async throws -> [String] {
    try await bench.database.query(
      "SELECT device_id || ' ' || via || ' ' || reader FROM open_event ORDER BY open_event_id"
    ).map { try $0.decode(String.self) }
  }

  @Test func `Every open is an event, and the first by a person is the push's`() async throws {
    try await withFrozen(2) { bench, opens, key, links in
      let contact = try await bench.pushes(key)[0].contactId
      #expect(try await opens.record(Open(links[0], via: .page, by: .machine)) == contact)
      #expect(try await bench.pushes(key)[0].openedAt == nil)
      _ = try await opens.record(Open(links[0], via: .pushreadurl, by: .person))
      let first = try #require(try await bench.pushes(key)[0].openedAt)
      _ = try await opens.record(Open(links[0], via: .page, by: .person))
      #expect(try await bench.pushes(key)[0].openedAt == first)
      #expect(try await bench.pushes(key)[1].openedAt == nil)
      let device = links[0].device
      #expect(
        try await events(bench) == ["\(device) page machine", "\(device) pushreadurl person", "\(device) page person"])
      #expect(try await bench.show(key).counts?.opened == 1)
    }
  }

  @Test func `A push that is not in the ledger is not opened`() async throws {
    try await withFrozen(1) { bench, opens, key, links in
      let device = links[0].device
      for link in [
        PushLink(customer: bench.customer, sendout: key.sendout, device: DeviceID(device.rawValue + 1)),
        PushLink(customer: bench.customer, sendout: SendoutID(key.sendout.rawValue + 1), device: device),
        PushLink(customer: CustomerID(bench.customer.rawValue + 1), sendout: key.sendout, device: device),
      ] {
        let contact = try await opens.record(Open(link, via: .page, by: .person))
        #expect(contact == nil)
      }
      #expect(try await events(bench).isEmpty)
    }
  }

  @Test func `A crowd that opens at once is counted one by one`() async throws {
    try await withFrozen(100) { bench, opens, key, links in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for round in 0..<1000 {
          group.addTask {
            let contact = try await opens.record(Open(links[round % 100], via: .page, by: .person))
            #expect(contact != nil)
          }
        }
        try await group.waitForAll()
      }
      #expect(try await events(bench).count == 1000)
      #expect(try await bench.show(key).counts?.opened == 100)
    }
  }
}
