import Postgres
import Registry
import Support
import Testing
import Wire

/// What people write into the tables by psql, past every check of ours.
@Suite struct OddDataTests {
  /// As a database has it that was filled before the constraint.
  private func store(_ dateOfBirth: String, of originalID: String, _ database: TestDatabase) async throws {
    try await database.query("ALTER TABLE contact DROP CONSTRAINT IF EXISTS contact_whole")
    try await database.query(
      "UPDATE contact SET date_of_birth = $1::text::date WHERE original_id = $2", dateOfBirth, originalID)
    try await database.query(
      "ALTER TABLE contact ADD CONSTRAINT contact_whole CHECK (isfinite(date_of_birth)) NOT VALID")
  }

  @Test(arguments: ["infinity", "-infinity"])
  func `An infinite day of birth reads as none, and goes with the next change`(_ day: String) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let device = try await fixture.register("a", token: "t").devices[0]
      try await store(day, of: "a", database)
      #expect(try await fixture.contact("a")?.dateOfBirth == nil)
      #expect(try await Devices(database.pool).recipients(fixture.customer, [device.id])[0].contact.dateOfBirth == nil)
      let told = try await fixture.register(#"{"originalId":"a","city":"Lund","deviceInfo":[{"devicetoken":"t"}]}"#)
      #expect(told.dateOfBirth == nil)
      let left = try await database.query("SELECT count(*) FROM contact WHERE date_of_birth IS NOT NULL")
      #expect(try left[0].decode(Int.self) == 0)
    }
  }

  @Test func `No infinite day of birth can be written`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      let error = await #expect(throws: PostgresError.self) {
        try await database.query("UPDATE contact SET date_of_birth = 'infinity'")
      }
      #expect(error?.constraint == "contact_whole")
    }
  }

  @Test(arguments: ["5874897-12-31", "4713-01-01 BC", "0001-01-01"])
  func `The ends of the calendar are days like any other`(_ day: String) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      try await store(day, of: "a", database)
      let days = try await database.query("SELECT date_of_birth - '1970-01-01'::date FROM contact")[0].decode(
        Int32.self)
      #expect(try await fixture.contact("a")?.dateOfBirth == days)
    }
  }

  @Test(arguments: [
    ("infinity", 253_402_300_799_999), ("-infinity", -62_135_596_800_000),
    ("294276-12-31 23:59:59.999999+00", 253_402_300_799_999), ("4713-01-01 00:00:00+00 BC", -62_135_596_800_000),
    ("1969-12-31 23:59:59.9994+00", -1), ("2000-01-01 00:00:00+00", 946_684_800_000),
  ])
  func `Whatever moment is stored, a device tells a date that can be sent back`(_ moment: String, _ told: Int64)
    async throws
  {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      try await database.query(
        "UPDATE device SET invalidated_at = $1::text::timestamptz, invalidation_type = 1, invalidation_reason = 'app'",
        moment)
      #expect(try await fixture.contact("a")?.devices[0].invalidatedAt == told)
      try await fixture.register("a", token: "t", #","invalidationType":1,"dateOfInvalidation":\#(told)"#)
      #expect(try await fixture.contact("a")?.devices[0].invalidatedAt == told)
    }
  }

  @Test func `Nested properties and numbers of any size are told as they are`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      let stored = #"{"a": [1, {"b": [[]]}], "n": 1\#(String(repeating: "0", count: 400)), "z": null}"#
      try await database.query("UPDATE contact SET properties = $1::json", JSONDocument(stored))
      #expect(try await fixture.contact("a")?.properties == stored)
    }
  }

  @Test func `Every millisecond comes back as it was sent`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let dates = (0..<100).map { 1_700_000_000_000 + Int64($0) * 999_999_937 } + [253_402_300_799_999, -1, 0, 1]
      let devices = dates.enumerated().map { index, date in
        #"{"devicetoken":"t\#(index)","invalidationType":1,"dateOfInvalidation":\#(date)}"#
      }
      for (part, half) in [devices[..<60], devices[60...]].enumerated() {
        let contact = try await fixture.register(
          #"{"originalId":"a\#(part)","deviceInfo":[\#(half.joined(separator: ","))]}"#)
        for device in contact.devices {
          #expect(device.invalidatedAt == Int(device.token.dropFirst()).map { dates[$0] })
        }
      }
    }
  }
}
