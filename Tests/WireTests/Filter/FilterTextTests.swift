import Testing
import Wire

@Suite struct FilterTextTests {
  @Test(arguments: [
    "country in ('SE', 'NO') and properties.food = 'meat' and properties.visits >= 3",
    "device(app = 'com.acme.app' and osVersion >= version '17.2') and not in segment 'VIP'",
    "in list 'newsletter' and received >= 1 within 30 days and opened < 1 of last 5",
    "birthday(dateOfBirth) within next 7 days and bucket(0, 10)",
    "outcome of sendout 7 = 'failed' and not outcome of sendout 8 = 'opened'",
    "everyone", "has device", "not has device", "in list 7", "in segment 3", "not not everyone",
    "firstName contains 'å' or lastName starts with 'O''' or city ends with 'by'",
    "emailAddress is set and mobileNumber is not set", "createdAt >= date '2026-12-01'",
    "updatedAt within last 36 hours and dateOfBirth within next 1 days",
    "properties.\"any name\" = true and properties.\"\"\"\" != false and properties.färg = -3.10",
    "properties.last_visit within last 3650 days", "properties.x in ('a', 3, true, -1e5)",
    "createdAt in (date '2026-12-01', date '2026-12-24')", "device(osVersion in (version '17', version '17.2'))",
    "device(not (platform = 'ios' and sandbox = false) or everyone)", "opened sendout 7 >= 2 of last 100",
    "received sendout 7 >= 1 within 12 hours", "properties.a_and_b = 1 or everyone",
    "(country = 'SE' or country = 'NO') and not (sex = 'f' and title is set)",
    "country = 'SE' and (city = 'Lund' and zipcode = '1')", "(country = 'SE' or city = 'Lund') or zipcode = '1'",
    "country = 'SE' and city = 'Lund' or zipcode = '1' and sex = 'm'",
  ])
  func `A line in its usual form is written as it was read`(_ line: String) throws {
    let filter = try Filter(text: line)
    #expect(filter.text == line)
    #expect(try Filter(tree: filter.tree) == filter)
  }

  @Test(arguments: [
    (" ( ( everyone ) ) ", "everyone"), ("device(everyone)", "has device"), ("received", "received >= 1"),
    ("opened sendout 7 of last 5", "opened sendout 7 >= 1 of last 5"),
    ("properties.\"food\" is set", "properties.food is set"),
    ("properties.n = +03.10", "properties.n = 3.10"), ("properties.n = 000", "properties.n = 0"),
    ("properties.n>=-0.50e+7", "properties.n >= -0.50e+7"),
    ("country='SE'and(city='Lund')", "country = 'SE' and city = 'Lund'"),
    ("country\tin('SE' ,'NO')\nor\u{A0}everyone", "country in ('SE', 'NO') or everyone"),
    ("(country = 'SE' and city = 'Lund') or sex = 'm'", "country = 'SE' and city = 'Lund' or sex = 'm'"),
    ("not (country = 'SE')", "not country = 'SE'"), ("not (not everyone)", "not not everyone"),
    ("(not everyone) and everyone", "not everyone and everyone"),
  ])
  func `A line is written in its usual form`(_ line: String, _ usual: String) throws {
    #expect(try Filter(text: line).text == usual)
    #expect(try Filter(text: usual).text == usual)
  }

  @Test func `not binds tightest, then and, then or`() throws {
    let (a, b, c): (Filter, Filter, Filter) = (.list(.number(1)), .list(.number(2)), .list(.number(3)))
    #expect(try Filter(text: "not in list 1 and in list 2 or in list 3") == .or([.and([.not(a), b]), c]))
    #expect(try Filter(text: "not (in list 1 and (in list 2 or in list 3))") == .not(.and([a, .or([b, c])])))
    #expect(try Filter(text: "in list 1 or in list 2 or in list 3") == .or([a, b, c]))
    #expect(try Filter(text: "in list 1 and (in list 2 and in list 3)") == .and([a, .and([b, c])]))
  }

  @Test func `Texts, names of properties and numbers are kept as they are`() throws {
    let property = FilterField.property("say \"x\"\u{301}")
    for text in ["", "''", "\u{301}", "'\u{301}", "e\u{301}", "é", "\n", "🎂", "\\"] {
      let filter = Filter.compare(property, .compare(.equal, .text(UTF8String(text))))
      let read = try Filter(text: filter.text)
      guard case .compare(.property(let name), .compare(.equal, .text(let kept))) = read else {
        Issue.record("\(read)")
        continue
      }
      #expect(name == "say \"x\"\u{301}" && kept.text.hasSameBytes(as: text))
    }
    for number in ["3.10", "12345678901234567890.000", "-0", "1E-5", "0.1e9999"] {
      #expect(try Filter(text: "properties.n < \(number)").tree["value"] == .number(try #require(JSONNumber(number))))
      #expect(try Filter(text: "properties.n < \(number)").text == "properties.n < \(number)")
    }
  }

  @Test func `Every field of a contact and of a device can be asked for by its name`() throws {
    for field in FilterField.ofContacts { #expect(try Filter(text: "\(field.name) is set") == .compare(field, .isSet)) }
    for field in FilterField.ofDevices {
      #expect(try Filter(text: "device(\(field.name) is set)") == .device(.compare(field, .isSet)))
    }
    for type in AppType.allCases { _ = try Filter(text: "device(platform = '\(type.name)')") }
    #expect(
      FilterField.ofContacts.map(\.name).contains("country") && FilterField.ofDevices.map(\.name).contains("country"))
  }

  @Test func `Parentheses add nothing to the depth, however many there are`() throws {
    let (open, close) = (String(repeating: "(", count: 32_000), String(repeating: ")", count: 32_000))
    #expect(try Filter(text: open + "everyone" + close) == .everyone)
    for line in [open, open + close, open + "everyone", "everyone" + close, open + "not"] {
      #expect(throws: FilterError.self) { try Filter(text: line) }
    }
  }

  @Test func `A filter has 64 conditions and 8 levels at most`() throws {
    func joined(_ count: Int) -> String { [String](repeating: "everyone", count: count).joined(separator: " or ") }
    _ = try Filter(text: joined(64))
    #expect(refusal(joined(65))?.description == "at 769: a filter has at most 64 conditions")
    let depth = "a filter is at most 8 deep, where each and, or, not and device adds 1"
    func negated(_ count: Int, _ condition: String) -> String { String(repeating: "not ", count: count) + condition }
    _ = try Filter(text: negated(7, "everyone"))
    _ = try Filter(text: negated(6, "has device"))
    #expect(refusal(negated(8, "everyone"))?.description == "at 33: \(depth)")
    #expect(refusal(negated(7, "has device"))?.description == "at 29: \(depth)")
    #expect(refusal(negated(16_000, "everyone"))?.description == "at 64001: \(depth)")
    let nested = (0..<7).reduce("sex is set") { "title is set and (city is set or \($1 % 2 == 0 ? "(\($0))" : $0))" }
    #expect(refusal(nested)?.problem == depth)
  }

  @Test func `A literal has 1000 characters and a line 64 KiB at most`() throws {
    let longest = String(repeating: "å", count: 1000)
    _ = try Filter(text: "city = '\(longest)'")
    #expect(refusal("city = '\(longest)x'")?.description == "at 8: the text is longer than 1000 characters")
    let line = "everyone" + String(repeating: " ", count: 65_536 - 8)
    _ = try Filter(text: line)
    #expect(refusal(line + " ")?.description == "at 1: the line is longer than 65536 bytes")
    let values = [String](repeating: "'x'", count: 13_000).joined(separator: ", ")
    _ = try Filter(text: "city in (\(values))")
    let tree: JSONValue = ["field": "city", "op": "in", "value": .array([JSONValue](repeating: "x", count: 14_000))]
    #expect(throws: FilterError(.path(""), "as a line, the filter is longer than 65536 bytes")) {
      try Filter(tree: tree)
    }
  }

  @Test func `Nodes come in the order of the line, each before those in it`() throws {
    let filter = try Filter(text: "country = 'SE' and not (in list 7 or device(app = 'x' and sandbox = true))")
    #expect(
      filter.all.map(\.text) == [
        "country = 'SE' and not (in list 7 or device(app = 'x' and sandbox = true))", "country = 'SE'",
        "not (in list 7 or device(app = 'x' and sandbox = true))",
        "in list 7 or device(app = 'x' and sandbox = true)", "in list 7", "device(app = 'x' and sandbox = true)",
        "app = 'x' and sandbox = true", "app = 'x'", "sandbox = true",
      ])
    #expect(filter.conditions.map(\.text) == ["country = 'SE'", "in list 7", "app = 'x'", "sandbox = true"])
    #expect(try Filter(text: "not has device").conditions == [.everyone])
  }

  @Test func `Conditions can be replaced where they stand`() throws {
    let filter = try Filter(text: "in list 'a' and not (in list 'b' or device(app is set))")
    let numbered = filter.mapConditions { condition in
      guard case .list(.name(let name, _)) = condition else { return condition }
      return .list(.number(name == "a" ? 1 : 2))
    }
    #expect(numbered.text == "in list 1 and not (in list 2 or device(app is set))")
  }

  private func refusal(_ line: String) -> FilterError? {
    #expect(throws: FilterError.self) { try Filter(text: line) }
  }
}
