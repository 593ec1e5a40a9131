import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct StatisticsTests {
  /// Plans made for empty tables read large ones from end to end; PostgreSQL itself looks again a minute too late.
  @Test func `Once a thousand devices are registered, the planner is told`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.allowDevices(100)
      func devices(_ part: Int) -> String {
        (0..<100).map { #"{"devicetoken":"t\#(part)-\#($0)"}"# }.joined(separator: ",")
      }
      for part in 0..<10 { try await fixture.register(#"{"originalId":"a\#(part)","deviceInfo":[\#(devices(part))]}"#) }
      var rows = 0
      while rows < 900 {
        rows = try await database.query("SELECT reltuples::int8 FROM pg_class WHERE relname = 'device'")[0].decode(
          Int.self)
      }
      #expect(rows >= 900)
    }
  }
}
