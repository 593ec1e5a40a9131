import Postgres
import Support
import Testing

@Suite struct SlowReportTests {
  @Test func `Slow reports hold up neither registrations nor the progress of a sendout`() async throws {
    try await withProcessFixture { fixture in
      try await fixture.addDevices(1)
      let hub = try await fixture.serve()
      let sendout = try await fixture.send(through: hub.server)
      @Sendable func state() async throws -> String? {
        try await hub.server.send("GET", "/api/v1/sendouts/\(sendout)", key: fixture.key).json.string("state")
      }
      try await waitUntil { try await state() == "finished" }
      try await fixture.database.withPool { observer in
        let reports = try await fixture.database.pool.transaction { transaction in
          try await transaction.query(sql: "LOCK TABLE push IN ACCESS EXCLUSIVE MODE")
          let reports = (0..<6).map { _ in
            Task { try await hub.server.send("GET", "/api/v1/reports/failures", key: fixture.key).status }
          }
          let waiting = Statement(
            "test.waiting", .read,
            """
            SELECT count(*) FROM \(TestDatabase.locks) JOIN \(TestDatabase.activity) USING (pid)
             WHERE NOT granted AND relation = 'push'::regclass AND query LIKE '%report.%'
            """)
          try await waitUntil { try await observer.query(waiting)[0].decode(Int.self) >= 1 }
          for number in 1...8 {
            let put = try await hub.server.send(
              "PUT", "/rest/1/apps/\(ProcessFixture.appID)/pushdevices",
              headers: [("X-Carma-Authentication-Token", fixture.key)],
              json: #"{"originalId":"during\#(number)","deviceInfo":[{"devicetoken":"c0ffee0\#(number)"}]}"#)
            #expect(put.status == 200, "\(put.text)")
          }
          #expect(try await state() == "finished")
          // A customer reads one at a time.
          #expect(try await observer.query(waiting)[0].decode(Int.self) == 1)
          return reports
        }
        for report in reports { #expect([200, 503].contains(try await report.value)) }
      }
      await hub.process.die()
    }
  }
}
