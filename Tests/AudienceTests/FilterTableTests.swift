import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Audience

/// Every operator on every kind of field, and literals of people who mean harm.
@Suite struct FilterTableTests {
  /// A line, and which of the three contacts meet it: 1 has all, 2 has other types and edges, 3 has nothing.
  private static let table: [(String, [Int64])] = [
    ("everyone", [1, 2, 3]),
    ("country = 'SE'", [1]), ("country != 'SE'", [2]), ("not country = 'SE'", [2, 3]), ("country < 'a'", [1, 2]),
    ("country <= 'NO'", [2]), ("country > 'NO'", [1]), ("country >= 'NO'", [1, 2]), ("country in ('SE', 'DK')", [1]),
    ("country contains 'e'", [1]), ("country starts with 's'", [1]), ("country ends with 'O'", [2]),
    ("country is set", [1, 2]), ("country is not set", [3]), ("originalId = 'a2'", [2]),
    ("originalId starts with 'A'", [1, 2, 3]),
    ("firstName contains 'strasse'", [1]), ("firstName contains 'ΟΔΟΣ'", [2]), ("firstName = 'STRASSE'", []),
    ("city contains '%'", [2]), ("city contains '_'", []), ("city ends with '\\'", [1]), ("city contains ''''", []),
    ("dateOfBirth = date '1980-02-29'", [1]), ("dateOfBirth != date '1980-02-29'", [2]),
    ("dateOfBirth < date '1990-12-08'", [1]), ("dateOfBirth <= date '1990-12-08'", [1, 2]),
    ("dateOfBirth > date '1980-02-29'", [2]), ("dateOfBirth >= date '1980-02-29'", [1, 2]),
    ("dateOfBirth in (date '1980-02-29', date '1990-12-08')", [1, 2]), ("dateOfBirth is not set", [3]),
    ("birthday(dateOfBirth) within next 7 days", [2]), ("birthday(dateOfBirth) within last 7 days", []),
    ("birthday(dateOfBirth) within next 90 days", [1, 2]), ("birthday(dateOfBirth) within next 89 days", [2]),
    ("createdAt within last 7 days", [1]), ("createdAt within last 168 hours", [1]),
    ("createdAt within last 8 days", [1, 2]),
    ("createdAt within next 1 days", [3]), ("createdAt = date '2026-12-01'", []),
    ("updatedAt = date '2026-12-01'", [1, 2, 3]),
    ("properties.n = 3", [1, 2]), ("properties.n != 3", []), ("properties.n > 2.999999999999999999", [1, 2]),
    ("properties.n in (3, 'x')", [1, 2]), ("properties.n = '3.0'", [2]), ("properties.n is set", [1, 2]),
    ("properties.big > 12345678901234567890", [1]), ("properties.big = 12345678901234567891", [1]),
    ("properties.b = true", [1]), ("properties.b != true", []), ("properties.b = 'true'", [2]),
    ("properties.b = false", []),
    ("properties.d = date '2026-12-01'", [1, 2]), ("properties.d < date '2026-12-02'", [1, 2]),
    ("properties.d within last 1 days", [1, 2]), ("properties.v >= version '17.2'", [1]),
    ("properties.v < version '17.10.1'", [1]),
    ("properties.v = version '17.10.0'", [1]), ("properties.e = ''", [1]), ("properties.e is set", [1]),
    ("properties.e contains ''", [1]), ("properties.\"any \"\"name\"\"\" = 'x'", [1]),
    ("has device", [1]), ("not has device", [2, 3]), ("device(app = 'com.acme.app')", [1]),
    ("device(app != 'com.acme.app')", []),
    ("device(platform = 'ios')", [1]), ("device(platform in ('android', 'web'))", []),
    ("device(osVersion >= version '17.2')", [1]), ("device(osVersion contains '17')", [1]),
    ("device(sandbox = true)", [1]),
    ("device(sandbox != true)", []), ("device(manufacturer is not set and model is not set)", [1]),
    ("device(registeredAt within last 2 days)", [1]), ("device(not country = 'SE')", [1]),
    ("in list 'newsletter'", [1]), ("not in list 'newsletter'", [2, 3]), ("in segment 'by hand'", [2]),
    ("received", [1]), ("received >= 2", [1]), ("received = 2", [1]), ("received < 1", [2, 3]),
    ("received = 0", [2, 3]),
    ("received != 2", [2, 3]), ("received sendout 1 = 1", [1]), ("received >= 1 within 1 days", [1]),
    ("received >= 2 within 1 days", []), ("opened", [1]), ("opened >= 1 of last 1", []), ("opened >= 1 of last 2", [1]),
    ("opened < 1 of last 1", [1, 2, 3]), ("received = 2 of last 5", [1]), ("opened within 3 days", [1]),
    ("outcome of sendout 1 = 'opened'", [1]), ("outcome of sendout 1 = 'notOpened'", []),
    // Of the two phones one got it.
    ("outcome of sendout 2 = 'notOpened'", [1]), ("outcome of sendout 2 = 'failed'", []),
    ("outcome of sendout 2 = 'any'", [1]), ("outcome of sendout 3 = 'any'", []),
    ("not outcome of sendout 2 = 'notOpened'", [2, 3]), ("outcome of sendout 2 = 'skipped'", []),
    ("outcome of sendout 4 = 'capped'", [2]), ("outcome of sendout 4 = 'heldOut'", [3]),
    // One of the two phones was not left out.
    ("outcome of sendout 4 = 'suppressed'", []), ("outcome of sendout 4 = 'skipped'", [2, 3]),
    ("bucket(0, 100)", [1, 2, 3]),
  ]

  private func withThree(_ body: (FilterFixture) async throws -> Void) async throws {
    try await withDatabase { database in
      var fixture = try await FilterFixture(database)
      let (now, day) = (fixture.model.now, Int64(86_400_000))
      var first = FilterModel.Contact(id: 1, originalId: "a1", createdAt: now - 7 * day, updatedAt: now)
      first.texts[.country] = "SE"
      first.texts[.firstName] = "Große Straße"
      first.texts[.city] = #"a_b\"#.replacing("_", with: "-")
      first.dateOfBirth = CalendarDay("1980-02-29")
      first.properties = [
        "n": 3, "big": .number(JSONNumber("12345678901234567891") ?? 0), "b": true, "d": "2026-12-01T12:00:00Z",
        "v": "17.10",
        "e": "", "any \"name\"": "x",
      ]
      first.lists = [fixture.model.lists["newsletter"] ?? 0]
      var device = FilterModel.Device(app: "com.acme.app", platform: .ios, registeredAt: now - day)
      (device.osVersion, device.sandbox) = ("17.2.1", true)
      var old = FilterModel.Device(app: "com.acme.both", platform: .web, registeredAt: now)
      old.isValid = false
      first.devices = [device, old]
      first.pushes = [
        FilterModel.Push(sendout: 1, number: 1, acceptedAt: now - 2 * day, openedAt: now - 2 * day),
        FilterModel.Push(sendout: 2, number: 2, acceptedAt: now - day),
        FilterModel.Push(sendout: 2, number: 3, acceptedAt: nil),
        FilterModel.Push(sendout: 4, number: 4, acceptedAt: nil, state: .skipped, reason: "suppressed"),
        FilterModel.Push(sendout: 4, number: 5, acceptedAt: nil),
      ]
      var second = FilterModel.Contact(id: 2, originalId: "a2", createdAt: now - 7 * day - 1, updatedAt: now)
      second.texts[.country] = "NO"
      second.texts[.firstName] = "οδος"
      second.texts[.city] = "100 %"
      second.dateOfBirth = CalendarDay("1990-12-08")
      second.properties = ["n": "3.0", "big": "NaN", "b": "true", "d": .number(JSONNumber(now)), "v": "17.x"]
      second.segments = [fixture.model.segmentNumbers["by hand"] ?? 0]
      second.pushes = [
        FilterModel.Push(
          sendout: 4, number: 6, acceptedAt: nil, state: .skipped, reason: "capped 3/24h marketing")
      ]
      var third = FilterModel.Contact(id: 3, originalId: "a3", createdAt: now + day, updatedAt: now)
      third.pushes = [
        FilterModel.Push(sendout: 4, number: 7, acceptedAt: nil, state: .skipped, reason: "held_out")
      ]
      for contact in [first, second, third] { try await fixture.add(contact) }
      try await body(fixture)
    }
  }

  @Test func `Each operator takes the contacts that it should, of each kind of field`() async throws {
    try await withThree { fixture in
      try await fixture.countActivity()
      for (line, expected) in Self.table {
        let filter = try Filter(text: line)
        #expect(try await fixture.found(fixture.resolved(filter)) == expected, "\(line)")
        #expect(fixture.expected(filter) == expected, "the model: \(line)")
      }
    }
  }

  @Test func `No text is anything but a text`() async throws {
    let hostile = [
      "'", "''", "\"", "\\", "\\'", "%", "_", "%%%", "'; DROP TABLE contact; --", "{literals}", "{now}", "$1",
      "$2::text[]", "{}",
      "{\"a\",NULL}", "NULL", "\u{FEFF}", "🎂", "\u{1F469}\u{200D}\u{1F9B0}", "\u{202E}abc", "e\u{301}", "\u{FFFF}",
      "\t\n",
      String(repeating: "x", count: 1000), String(repeating: "🎂", count: 1000),
    ]
    try await withThree { fixture in
      for text in hostile {
        let literal = FilterLiteral.text(UTF8String(text))
        let field = FilterField.contact(.city)
        for comparison: FilterComparison in [
          .compare(.equal, literal), .compare(.less, literal), .oneOf([literal, .text("x")]),
          .contains(UTF8String(text)),
          .startsWith(UTF8String(text)), .endsWith(UTF8String(text)),
        ] {
          for filter in [
            Filter.compare(field, comparison), .compare(.property("n"), comparison),
            .device(.compare(.device(.model), comparison)),
          ] {
            let found = try await fixture.found(fixture.resolved(filter))
            #expect(found == fixture.expected(filter), "\(text)")
          }
        }
        let named = Filter.compare(.property(UTF8String(text)), .isSet)
        #expect(try await fixture.found(fixture.resolved(named)) == [], "\(text)")
      }
      #expect(throws: FilterError.self) { try Filter(text: "city = 'a\0b'") }
    }
  }

  @Test func `What no cast takes is no number, date or version`() async throws {
    try await withDatabase { database in
      let odd = [
        "", " ", "1e99999", "1e-99999", "NaN", "Infinity", "0x10", "1_000", "٣", "--1", "1.", ".1", "1e", "2026-02-30",
        "2026-13-01", "0000-01-01", "2026-12-01T25:00", "2026-12-01T00:60", "2026-12-01T00:00:60",
        "2026-12-01T00:00+19:00",
        "9999-12-31T23:59:59-01:00", "0001-01-01T00:00+01:00", "1..2", ".1", "1.", "v1", "99999999999999999999",
        String(repeating: "9", count: 20_000), String(repeating: "1.", count: 10_000),
      ]
      for text in odd {
        let row = try await database.query(
          """
          SELECT filter_number($1)::text, filter_version($1)::text, filter_moment(to_json($1::text))::text,
                 filter_moment(to_json($1::text)) IS NULL
          """, text)[0]
        #expect(try row.column(3, as: Bool.self), "\(text.prefix(40))")
      }
      let moments = try await database.query(
        """
        SELECT filter_moment(value::json) = moment
          FROM (VALUES ('"2026-12-01"', timestamptz '2026-12-01 00:00Z'), ('1796083200000', '2026-12-01 00:00Z'),
                       ('"1796083200001"', '2026-12-01 00:00:00.001Z'), ('-1', '1969-12-31 23:59:59.999Z'),
                       ('1.7960832e12', '2026-12-01 00:00Z'), ('"2026-12-01T01:00:00.5+01:00"', '2026-12-01 00:00:00.5Z'),
                       ('"2026-12-01 12:34"', '2026-12-01 12:34Z'), ('"2026-11-30T23:30:00-0030"', '2026-12-01 00:00Z'),
                       ('"2026-12-01T02:00+02"', '2026-12-01 00:00Z')) AS v (value, moment)
        """)
      #expect(try moments.allSatisfy { try $0.decode(Bool.self) })
    }
  }

  @Test func `Another customer's contacts, lists and segments are nobody's`() async throws {
    try await withThree { fixture in
      let other = try await fixture.database.customer("Other")
      let everyone = try await fixture.segments.resolve(other, .everyone)
      #expect(try await fixture.segments.contacts(other, everyone, PageRequest()).items.isEmpty)
      #expect(try await SegmentCounts(fixture.pool).estimate(other, everyone).contacts == 0)
      await #expect(throws: RegistryError.contactUnknown(originalID: "a1")) {
        try await fixture.segments.explain(other, everyone, originalID: "a1")
      }
      for filter in [
        Filter.list(.name("newsletter")), .list(.number(fixture.model.lists["newsletter"] ?? 0)),
        .segment(.name("nordic")),
        .segment(.number(fixture.model.segmentNumbers["by hand"] ?? 0)),
      ] {
        await #expect(throws: RegistryError.self, "\(filter.text)") {
          try await fixture.segments.resolve(other, filter)
        }
      }
    }
  }
}
