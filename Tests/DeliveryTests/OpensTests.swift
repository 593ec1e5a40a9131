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
  /// A frozen sendout with an audience of that size, and the links of its pushes.
  private func withFrozen(
    _ count: Int, _ body: (SendingBench, Opens, SendoutKey, [PushLink]) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(count)
      let key = try await bench.send()
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      let links = devices.enumerated().map {
        PushLink(customer: bench.customer, sendout: key.sendout, push: PushNumber(Int64($0) + 1), device: $1)
      }
      try await body(bench, Opens(bench.pool), key, links)
    }
  }

  private func events(_ bench: SendingBench) async throws -> [String] {
    try await bench.database.query(
      """
      SELECT push_no || ' ' || via || ' ' || reader || CASE sum(opens) WHEN 1 THEN '' ELSE ' ' || sum(opens) END
      FROM open_event GROUP BY push_no, via, reader ORDER BY min(at), push_no
      """
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
      #expect(try await events(bench) == ["1 page machine", "1 pushreadurl person", "1 page person"])
      #expect(try await bench.show(key).counts?.opened == 1)
    }
  }

  @Test func `An open on a phone that changed hands is an event, and nobody's first open`() async throws {
    try await withFrozen(2) { bench, opens, key, links in
      try await bench.database.query(
        "UPDATE device SET contact_id = (SELECT max(contact_id) FROM contact) WHERE device_id = $1::bigint",
        links[0].device.rawValue)
      let contact = try await bench.pushes(key)[0].contactId
      for via in Open.Via.allCases {
        #expect(try await opens.record(Open(links[0], via: via, by: .person)) == contact)
      }
      #expect(try await events(bench).count == 2)
      #expect(try await bench.pushes(key)[0].openedAt == nil)
      #expect(try await bench.show(key).counts?.opened == 0)
    }
  }

  @Test func `An open rate is of the accepted, whatever else was opened`() async throws {
    try await withFrozen(4) { bench, opens, key, links in
      for (device, state) in zip(links.map(\.device), ["accepted", "accepted", "uncertain", "failed"]) {
        try await bench.database.query(
          "UPDATE push SET attempts = 1, state = $2::text WHERE device_id = $1::bigint", device.rawValue, state)
      }
      try await bench.database.recountBatches()
      for link in links.dropFirst() { _ = try await opens.record(Open(link, via: .page, by: .person)) }
      let totals = try await bench.database.query(
        "SELECT opened, accepted_opened, open_rate::float8 FROM report.sendout_totals")[0]
      #expect(try totals.decode(Int.self, Int.self, Double.self) == (3, 1, 0.5))
      let funnel = try await bench.database.query(
        "SELECT pushes, of_previous::float8 FROM report.funnel WHERE stage = 'opened'")[0]
      #expect(try funnel.decode(Int.self, Double.self) == (3, 0.5))
    }
  }

  @Test func `A push that is not in the ledger is not opened`() async throws {
    try await withFrozen(1) { bench, opens, key, links in
      let device = links[0].device
      for link in [
        PushLink(customer: bench.customer, sendout: key.sendout, push: PushNumber(2), device: device),
        PushLink(
          customer: bench.customer, sendout: SendoutID(key.sendout.rawValue + 1), push: PushNumber(1), device: device),
        PushLink(
          customer: CustomerID(bench.customer.rawValue + 1), sendout: key.sendout, push: PushNumber(1), device: device),
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
      let total = try await bench.database.query("SELECT sum(opens) FROM open_event")[0].decode(Int.self)
      #expect(total == 1000)
      #expect(try await bench.show(key).counts?.opened == 100)
    }
  }
}

extension Opens {
  fileprivate func record(_ open: Open) async throws -> ContactID? {
    try await withCheckedThrowingContinuation { continuation in
      record(open) { continuation.resume(with: $0) }
    }
  }
}
