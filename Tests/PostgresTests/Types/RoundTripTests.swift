import FoundationEssentials
import Postgres
import Support
import Testing

@Suite struct RoundTripTests {
  /// Sends each value to the server and back, alone, in an array, and as NULL; the server names the type.
  private func roundTrip<Value: PostgresArrayElement & Equatable>(
    _ type: String, _ values: [Value], on database: TestDatabase
  ) async throws {
    let echo = Statement("echo.\(type)", .read, "SELECT $1::\(type), pg_typeof($1)::text")
    for value in values {
      let (back, name) = try await database.pool.query(echo, value)[0].decode(Value.self, String.self)
      #expect(back == value, "\(type)")
      #expect(name == type)
    }
    #expect(try await database.pool.query(echo, Value?.none)[0].decode(Value?.self) == nil)
    let echoArray = Statement("echo.\(type)[]", .read, "SELECT $1::\(type)[]")
    for array in [values, []] {
      #expect(try await database.pool.query(echoArray, array)[0].decode([Value].self) == array, "\(type)[]")
    }
    let sparse = [nil] + values.map(Optional.some) + [nil]
    #expect(try await database.pool.query(echoArray, sparse)[0].decode([Value?].self) == sparse, "\(type)[]")
    #expect(try await database.pool.query(echoArray, [Value]?.none)[0].decode([Value]?.self) == nil)
  }

  @Test func `Booleans and numbers come back at their extremes`() async throws {
    try await withDatabase { database in
      try await roundTrip("boolean", [true, false], on: database)
      try await roundTrip("smallint", [.min, -1, 0, 1, .max] as [Int16], on: database)
      try await roundTrip("integer", [.min, -1, 0, 1, .max] as [Int32], on: database)
      try await roundTrip("bigint", [.min, -1, 0, 1, .max] as [Int64], on: database)
      try await roundTrip("bigint", [.min, -1, 0, 1, .max] as [Int], on: database)
      let doubles: [Double] = [
        -.infinity, -.greatestFiniteMagnitude, -1, 0, .leastNonzeroMagnitude, 0.1, .pi, .greatestFiniteMagnitude,
        .infinity,
      ]
      try await roundTrip("double precision", doubles, on: database)
      let echo = Statement("test.nan", .read, "SELECT $1::float8, '-0'::float8, 1.5::float4")
      let (nan, zero, single) = try await database.pool.query(echo, Double.nan)[0].decode(
        Double.self, Double.self, Double.self)
      #expect(nan.isNaN)
      #expect(zero.sign == .minus)
      #expect(single == 1.5)
    }
  }

  @Test func `Texts, bytes, documents and identifiers come back as they were`() async throws {
    try await withDatabase { database in
      let megabyte = String(repeating: "naïve 🛒 ", count: 87_382)
      #expect(megabyte.utf8.count > 1_000_000)
      try await roundTrip("text", ["", " ", "'", "\\", "\u{1}\u{7f}", "e\u{301}", "👩‍👩‍👧‍👦", megabyte], on: database)
      let bytes = [Bytes([]), Bytes([0]), Bytes(0...255), Bytes(repeatElement(0xa5, count: 1 << 20))]
      try await roundTrip("bytea", bytes, on: database)
      let nilUUID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
      try await roundTrip("uuid", [UUID(), nilUUID], on: database)
      let documents = ["{}", "[]", "null", "{\"a\": [1, \"\\\"\", {\"b\": null}]}"]
      try await roundTrip("jsonb", documents.map { JSONB($0) }, on: database)
      let asWritten = documents + ["{ \"b\":1.50,\"a\":1e400, \"a\" : 100.00 }"]
      try await roundTrip("json", asWritten.map { JSONDocument($0) }, on: database)
      let large = JSONB("\"\(String(repeating: "x", count: 1 << 20))\"")
      try await roundTrip("jsonb", [large], on: database)
    }
  }

  @Test func `Times and dates come back at their extremes, infinities included`() async throws {
    try await withDatabase { database in
      let earliest = PostgresTimestamp(microseconds: -211_813_488_000_000_000)
      let latest = PostgresTimestamp(microseconds: 9_223_371_331_199_999_999)
      let epoch = PostgresTimestamp(microseconds: 0)
      try await roundTrip(
        "timestamp with time zone", [.negativeInfinity, earliest, epoch, latest, .infinity], on: database)
      let dates = [
        Date.distantPast, Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1_732_139_594.5), .distantFuture,
      ]
      try await roundTrip("timestamp with time zone", dates, on: database)
      let days = [
        CalendarDate(days: .min), CalendarDate(days: -2_451_545), CalendarDate(days: 0), CalendarDate(days: .max),
      ]
      try await roundTrip("date", days, on: database)
      let named = Statement(
        "test.named", .read,
        "SELECT '2024-11-20 21:53:14.5+00'::timestamptz, '2024-11-20'::date, 'infinity'::timestamptz")
      let (time, day, infinity) = try await database.pool.query(named)[0].decode(
        Date.self, CalendarDate.self, Date.self)
      #expect(time == Date(timeIntervalSince1970: 1_732_139_594.5))
      #expect(Int(day.days) + Int(CalendarDate.daysFromUnixEpoch) == 1_732_139_594 / 86_400)
      #expect(infinity == .distantFuture)
    }
  }

  @Test func `Text with U+0000 is refused by the server and harms no other statement`() async throws {
    try await withDatabase { database in
      let echo = Statement("test.echo", .read, "SELECT $1::text")
      async let good = database.pool.query(echo, "fine")
      let error = await #expect(throws: PostgresError.self) { try await database.pool.query(echo, "a\u{0}b") }
      guard case .server(let failure) = error else {
        Issue.record("\(error as Any)")
        return
      }
      #expect(failure.sqlState == "22021")
      let answer = try await good[0].decode(String.self)
      #expect(answer == "fine")
    }
  }

  @Test func `A column read as the wrong type is an error that names statement and column`() async throws {
    try await withDatabase { database in
      let row = try await database.pool.query(Statement("test.row", .read, "SELECT 1 AS number, NULL::text AS word"))[0]
      #expect { try row.get("number", as: String.self) } throws: { error in
        guard case .decoding(statement: "test.row", column: "number", .type(found: .int4))? = error as? PostgresError
        else {
          return false
        }
        return true
      }
      #expect { try row.get("word", as: String.self) } throws: { error in
        guard case .decoding(statement: _, column: "word", .null)? = error as? PostgresError else { return false }
        return true
      }
      #expect { try row.get("absent", as: String.self) } throws: { error in
        guard case .decoding(statement: _, column: "absent", .noSuchColumn)? = error as? PostgresError else {
          return false
        }
        return true
      }
      #expect(try row.isNull("word"))
      #expect(try row.get("word") == String?.none)
    }
  }

  @Test func `A statement takes as many parameters as the protocol does`() async throws {
    try await withDatabase { database in
      let sum = Statement("test.sum", .read, "SELECT " + (1...1000).map { "$\($0)::int8" }.joined(separator: "+"))
      var parameters = ParameterBuffer()
      for number in 1...1000 { parameters.append(number) }
      let total = try await database.pool.run(sum, parameters)[0].decode(Int.self)
      #expect(total == 500_500)
    }
  }
}
