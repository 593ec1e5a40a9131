@testable import Hybrid

import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct ODataFilterTests {
  @Test(arguments: [
    ("", 1, "is the end, where a value is missing"), ("Body", 1, "begins a text, where a condition is wanted"),
    ("Bodi eq 'x'", 1, "begins an unknown property"), ("body eq 'x'", 1, "begins an unknown property"),
    ("Body eq 'x", 9, "begins a text without a closing quote"),
    ("Body eq 5", 9, "begins a whole number, which is compared with a text"),
    ("(Body eq 'x'", 13, "stands where ) is missing"), ("Body eq 'x')", 12, "is unexpected"),
    ("Body eq 'x' Body", 13, "is unexpected"), ("Body; DROP TABLE customer", 5, "begins nothing that is known"),
    ("length(Body, 1) gt 1", 1, "begins length with a wrong number of arguments"),
    ("sleep(10)", 1, "begins an unknown function"),
    ("length(5) gt 1", 8, "begins a whole number, where length takes a text"), ("not 5", 5, "begins a whole number"),
    ("DateTime gt 'x'", 13, "begins a text, which is compared with a date"),
    ("DateTime gt datetime'x'", 13, "begins no date"),
    ("DateTime gt datetime'2016-02-30T00:00:00'", 13, "begins no date"),
    ("DateTime gt datetime'2016-01-01T24:00:00'", 13, "begins no date"),
    ("DateTime gt datetime'2016-01-01T00:00:00+99:00'", 13, "begins no date"), ("ID eq guid'x'", 7, "begins no GUID"),
    ("X'FF' eq X'FF'", 1, "begins a literal of a type"), ("UpdateIDs eq '1'", 1, "begins a property that is a list"),
    ("true gt false", 1, "begins a condition, which has no order"),
    ("5 add 'x' gt 1", 7, "begins a text, where a number is wanted"),
    ("1.2.3 gt 1", 4, "does not belong to a number"), ("1 gt 1.", 6, "begins a number that is none"),
    ("Body eq 'a\u{0}b'", 11, "is U+0000"), ("-true eq 1", 2, "begins a condition, where a number is wanted"),
  ])
  func `A filter that is wrong is refused with the place`(text: String, place: Int, problem: String) {
    #expect {
      try ODataFilter(text)
    } throws: { error in
      guard let error = error as? ODataProblem else { return false }
      return error.position + 1 == place && error.problem.hasPrefix(problem)
    }
  }

  @Test(arguments: [
    String(repeating: "(", count: 2000), String(repeating: "not ", count: 500),
    String(repeating: "- ", count: 1000) + "1 eq 1", String(repeating: "length(", count: 280),
    "true" + String(repeating: " or true", count: 200), "Body eq '" + String(repeating: "x", count: 2000) + "'",
    String(repeating: "not (", count: 40) + "true" + String(repeating: ")", count: 40),
  ])
  func `A filter that is too long or too deep is refused`(text: String) {
    #expect(throws: ODataProblem.self) { try ODataFilter(text) }
  }

  @Test func `A filter bounds what is read by its dates`() throws {
    let (early, late) = ("datetime'2016-01-01T00:00'", "datetime'2017-01-01T00:00'")
    for (filter, lower, upper) in [
      ("DateTime gt \(early) and DateTime le \(late)", 0, 1), ("\(early) lt DateTime and Body eq 'x'", 0, nil),
      ("Body eq 'x' and (DateTime lt \(late))", nil, 0), ("DateTime eq \(early)", 0, 0),
      ("DateTime gt \(early) or Body eq 'x'", nil, nil), ("not (DateTime gt \(early))", nil, nil),
      ("DateTime ne \(early)", nil, nil),
    ] as [(String, Int?, Int?)] {
      let bounds = try ODataFilter(filter).condition?.bounds
      #expect(bounds?.lower == lower && bounds?.upper == upper, "\(filter)")
    }
  }

  private static func message(_ body: String) -> PhoneMessage {
    let reply = PhoneMessageReply(
      id: "", updateIDs: [], recipient: "", sender: "", body: body, dateTime: Timestamp(.now), status: "Sent")
    return PhoneMessage(reply: reply, moment: 0, sendout: SendoutID(1), number: 1)
  }

  @Test(arguments: [
    // Each level multiplies the text.
    (1...16).reduce("Body") { text, _ in "replace(\(text),'a','\(String(repeating: "a", count: 60))')" } + " eq 'x'",
    (1...4).reduce("substring(Body,1)") { text, _ in "concat(\(text),\(text))" } + " eq 'x'",
    "substringof('\(String(repeating: "a", count: 1500))b',Body)",
    Array(repeating: "substringof('\(String(repeating: "a", count: 60))b',concat(Body,Body))", count: 12).joined(
      separator: " or "),
  ])
  func `The work of a filter is bounded, whatever it asks for`(text: String) throws {
    let condition = try #require(try ODataFilter(text).condition)
    var evaluation = ODataEvaluation(moments: [])
    let message = Self.message(String(repeating: "a", count: 1600))
    #expect(throws: ODataFailure.tooMuchWork) {
      for _ in 0..<ODataQuery.mostConsidered { _ = try evaluation.finds(condition, message) }
    }
  }

  @Test(arguments: [
    "substringof('bargain',tolower(Body)) and not endswith(trim(Sender),'x') and DateTime gt datetime'2016-01-01T12:00'",
    "length(Body) gt 10 and indexof(Body,'code') ge 0 and Status eq 'Delivered'",
  ])
  func `A usual filter has work left after all messages that are looked at`(text: String) throws {
    let filter = try ODataFilter(text)
    let condition = try #require(filter.condition)
    var evaluation = ODataEvaluation(moments: filter.moments.map { _ in .negativeInfinity })
    let message = Self.message(String(repeating: "Your code is 1234. ", count: 20))
    for _ in 0..<ODataQuery.mostConsidered { _ = try evaluation.finds(condition, message) }
  }

  @Test func `A filter that takes too much work is refused, and so is a number that is too large`() async throws {
    try await withDatabase { database in
      let body = String(repeating: "a", count: 3000)
      let place = try await Corpus.settle(
        database,
        (0..<50).map { _ in Corpus.Message(body: body, sender: "", at: "2016-01-01T11:00:00Z", status: "Sent") })
      let work = Array(repeating: "substringof('\(String(repeating: "a", count: 60))b',concat(Body,Body))", count: 12)
      for (filter, problem) in [
        (work.joined(separator: " or "), "takes too much work"),
        ("99999999999999999 mul 99999999999999999 gt 1", "has a value that cannot be computed with"),
        ("1 div 0.000000000001 mul 999999999999999 gt 1", "has a value that cannot be computed with"),
      ] {
        await #expect {
          _ = try await found(filter, database.pool, place)
        } throws: { error in
          guard case HybridError.invalid("$filter", let found)? = error as? HybridError else { return false }
          return found.hasPrefix(problem)
        }
      }
    }
  }

  @Test func `Orders and pages are of what the filter finds`() async throws {
    try await withDatabase { database in
      let messages = (0..<12).map { index in
        Corpus.Message(
          body: "\(index % 3)", sender: "\(index % 2)", at: "2016-01-\(10 + index)T00:00:00Z", status: "Sent")
      }
      let place = try await Corpus.settle(database, messages)
      let phone = PhoneMessages(database.pool, timeLimit: .seconds(120)) { _, _, _ in }
      func days(_ options: [(String, String)]) async throws -> ([Int], Int64?) {
        let (found, count) = try await phone.list(place.app, place.device, try ODataQuery(options))
        let number = { (message: PhoneMessageReply) in Int(message.id.suffix(4)) ?? 0 }
        return (found.map { number($0) - 1 }, count)
      }
      #expect(try await days([("$top", "2"), ("$skip", "1"), ("$inlinecount", "allpages")]) == ([10, 9], 12))
      #expect(try await days([("$filter", "Body eq '0'"), ("$top", "2"), ("$skip", "1")]) == ([6, 3], nil))
      #expect(
        try await days([("$filter", "Body eq '0'"), ("$top", "1"), ("$inlinecount", "allpages")]) == ([9], 4))
      #expect(
        try await days([("$orderby", "Sender desc,Body,DateTime desc"), ("$top", "4")]) == ([9, 3, 7, 1], nil))
    }
  }

  @Test func `Options that are wrong are refused by their names`() throws {
    for (name, value, problem) in [
      ("$top", "-1", "$top must be a whole number"), ("$top", "1.5", "$top must be"), ("$skip", "x", "$skip must be"),
      ("$skip", "99999999999999999999", "$skip must be"), ("$orderby", "Body up", "$orderby must be"),
      ("$orderby", "Body desc; DROP", "$orderby must be"), ("$orderby", "", "$orderby must be"),
      ("$orderby", "UpdateIDs", "$orderby must be"), ("$select", "ID,Secret", "$select names an unknown property"),
      ("$inlinecount", "yes", "$inlinecount must be"), ("$search", "x", "the query has an option"),
    ] {
      #expect {
        try ODataQuery([(name, value)])
      } throws: { error in
        guard case HybridError.invalid(let field, let found)? = error as? HybridError else { return false }
        return "\(field) \(found)".hasPrefix(problem)
      }
    }
    let query = try ODataQuery([
      ("$top", "5000"), ("$expand", "x"), ("any", "thing"), ("$select", "ID, Body"), ("$inlinecount", "none"),
    ])
    #expect(query.limit == 1000 && query.members == [.id, .body] && !query.wantsCount)
    #expect(throws: HybridError.self) { try ODataQuery([("$top", "1"), ("$top", "1")]) }
  }

  // MARK: - On PostgreSQL

  /// What a filter finds among the messages of `Corpus`, by their bodies.
  private func found(_ filter: String, _ pool: Pool, _ place: Corpus.Place) async throws -> [String] {
    let messages = PhoneMessages(pool, timeLimit: .seconds(120)) { _, _, _ in }
    let query = try ODataQuery([("$filter", filter), ("$orderby", "DateTime")])
    return try await messages.list(place.app, place.device, query).messages.map(\.body)
  }

  @Test func `Every operator and function finds what OData says`() async throws {
    try await withDatabase { database in
      let place = try await Corpus.settle(
        database,
        [
          Corpus.Message(body: "Alpha", sender: "ACME", at: "2016-05-22T18:02:45.427Z", status: "Delivered"),
          Corpus.Message(body: "beta ", sender: "Shop", at: "2016-12-31T23:59:59.999Z", status: "Sent"),
          Corpus.Message(body: "It's é 100%", sender: "", at: "2017-06-01T00:00:00.000Z", status: "Failed"),
        ])
      let (a, b, c) = ("Alpha", "beta ", "It's é 100%")
      let cases: [(String, [String])] = [
        ("true", [a, b, c]), ("false", []), ("null eq null", [a, b, c]), ("Body eq null", []),
        ("Body ne null", [a, b, c]),
        ("Body eq 'Alpha'", [a]), ("not Body eq 'Alpha'", [b, c]), ("not (Body eq 'Alpha')", [b, c]),
        ("Body eq 'It''s é 100%'", [c]), ("Body gt 'Alpha' and Body lt 'b'", [c]), ("Body ge 'beta '", [b]),
        ("substringof('ph',Body)", [a]), ("substringof('ph',Body) eq true", [a]),
        ("substringof('ph',Body) eq false", [b, c]),
        ("substringof('%',Body)", [c]), ("substringof('_',Body)", []), ("substringof('',Body)", [a, b, c]),
        ("startswith(Body,'It')", [c]), ("endswith(Body,'a')", [a]), ("endswith(Body,'')", [a, b, c]),
        ("endswith(trim(Body),'ta')", [b]), ("length(Body) eq 5", [a, b]), ("length(Body) eq 11", [c]),
        ("indexof(Body,'a') eq 4", [a]), ("indexof(Body,'z') eq -1", [a, b, c]), ("indexof(Body,'b') eq 0", [b]),
        ("replace(Body,'a','o') eq 'Alpho'", [a]), ("substring(Body,1) eq 'lpha'", [a]),
        ("substring(Body,1,2) eq 'et'", [b]), ("substring(Body,99) eq ''", [a, b, c]),
        ("substring(Body,0,0) eq ''", [a, b, c]),
        ("tolower(Body) eq 'alpha'", [a]), ("toupper(Body) eq 'ALPHA'", [a]),
        ("concat(Body,Sender) eq 'AlphaACME'", [a]),
        ("year(DateTime) eq 2016", [a, b]), ("month(DateTime) eq 12", [b]), ("day(DateTime) eq 22", [a]),
        ("hour(DateTime) eq 23", [b]), ("minute(DateTime) eq 2", [a]), ("second(DateTime) eq 59", [b]),
        ("round(length(Body) div 2.0) eq 3", [a, b]), ("floor(length(Body) div 2.0) eq 5", [c]),
        ("ceiling(length(Body) div 2.0) eq 6", [c]), ("length(Body) div 2 eq 5", [c]),
        ("length(Body) mod 2 eq 1", [a, b, c]),
        ("length(Body) mul 2 add 1 sub 1 eq 10", [a, b]), ("1 add 2 mul 3 eq 7", [a, b, c]), ("-1 lt - -1", [a, b, c]),
        ("1 div 0 eq 1", []), ("not (1 div 0 eq 1)", []), ("2 mod 0 eq null", [a, b, c]),
        ("32L eq 32.0 and 2.345M lt 2.35d", [a, b, c]),
        ("true or false and false", [a, b, c]), ("(true or false) and false", []), ("1 eq 1 eq true", [a, b, c]),
        ("DateTime gt DateTime'2016-05-22T18:02:45.427", [b, c]),
        ("DateTime ge datetime'2016-05-22T18:02:45.427'", [a, b, c]),
        ("DateTime lt datetime'2016-05-22T18:03'", [a]),
        ("DateTime eq datetimeoffset'2016-05-22T20:02:45.427+02:00'", [a]),
        ("DateTime eq datetimeoffset'2016-05-22T20:02:45.427 02:00'", [a]),
        ("DateTime lt DATETIME'2017-01-01'", [a, b]), ("datetime'2017-01-01T00:00:00Z' le DateTime", [c]),
        ("Status eq 'Failed' or Sender eq 'Shop'", [b, c]), ("Recipient eq '0031612345678'", [a, b, c]),
        ("UpdateID eq '7000000000001'", [a]), ("ID eq guid'00000000-0000-0000-0000-000000000002'", [b]),
        ("ID eq '00000000-0000-0000-0000-000000000002'", [b]),
        ("'00000000-0000-0000-0000-000000000002' ne ID", [a, c]),
        ("Body+eq+'Alpha'", [a]), ("length(null) eq null", [a, b, c]), ("null", []), ("not null", []),
      ]
      for (filter, expected) in cases {
        #expect(try await found(filter, database.pool, place) == expected, "\(filter)")
      }
    }
  }

  @Test func `A date without a zone is in the app's clock zone`() async throws {
    try await withDatabase { database in
      var place = try await Corpus.settle(
        database,
        [
          Corpus.Message(body: "winter", sender: "", at: "2016-01-01T11:00:00Z", status: "Sent"),
          Corpus.Message(body: "summer", sender: "", at: "2016-07-01T10:00:00Z", status: "Sent"),
        ])
      let winter = "DateTime eq datetime'2016-01-01T12:00:00'"
      let summer = "DateTime eq datetime'2016-07-01T12:00:00'"
      #expect(try await found(winter, database.pool, place) == [])
      _ = try await HybridApps(database.pool).change(
        place.app.customer, appID: place.app.appID, HybridAppRequest(clockZone: "Europe/Amsterdam"))
      place.app = try #require(try await HybridApps(database.pool).find(key: place.app.key))
      #expect(try await found(winter, database.pool, place) == ["winter"])
      #expect(try await found(summer, database.pool, place) == ["summer"])
      #expect(try await found("DateTime eq datetime'2016-07-01T10:00:00Z'", database.pool, place) == ["summer"])
      #expect(try await found("hour(DateTime) eq 10", database.pool, place) == ["summer"])
      // The hub's tzdata may be newer than the server's.
      try await database.query("UPDATE hybrid_app SET clock_zone = 'Europe/Nowhere'")
      place.app = try #require(try await HybridApps(database.pool).find(key: place.app.key))
      #expect(try await found("DateTime eq datetime'2016-07-01T10:00:00'", database.pool, place) == ["summer"])
    }
  }

  @Test(arguments: 1...8) func `Filters made by chance find what a model of them finds`(seed: Int) async throws {
    try await withDatabase { database in
      var random = SeededGenerator(seed: UInt64(seed))
      let corpus = (0..<20).map { _ in Corpus.Message.made(by: &random) }
      let place = try await Corpus.settle(database, corpus)
      for _ in 0..<60 {
        let condition = FilterModel.condition(depth: 2, &random)
        let expected = corpus.filter { condition.holds($0) }.map(\.body)
        #expect(
          try await found(condition.text, database.pool, place).sorted() == expected.sorted(), "\(condition.text)")
      }
    }
  }

  @Test func `Filters of many forms are one statement`() async throws {
    try await withDatabase({ $0.sharedConnections = 1 }) { database in
      let place = try await Corpus.settle(database, [])
      for length in 1...40 {
        let filter = Array(repeating: "true", count: length).joined(separator: " or ")
        #expect(try await found(filter, database.pool, place) == [])
      }
      let plans = try await database.query(
        "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'phone_message.list%'")
      #expect(try plans[0].decode(Int.self) == 1)
    }
  }
}

/// Messages of one phone.
private enum Corpus {
  struct Message: Sendable {
    var body: String
    var sender: String
    /// RFC 3339.
    var at: String
    var status: String

    static func made(by random: inout SeededGenerator) -> Message {
      let words = ["", "a", "B", "ab", "Ab", "abc", "bca", " a", "a'b", "é", "%", "_", "\\", "aaaa", "xyz"]
      func word() -> String { words[Int.random(in: 0..<words.count, using: &random)] }
      let month = Int.random(in: 1...9, using: &random)
      return Message(
        body: word() + word(), sender: word(), at: "201\(Int.random(in: 5...7, using: &random))-0\(month)-11T10:00:00Z",
        status: ["Sent", "Failed"][Int.random(in: 0...1, using: &random)])
    }

    var year: Int { Int(at.prefix(4)) ?? 0 }
  }

  struct Place: Sendable {
    var app: HybridApp
    let device: PhoneID
  }

  static func settle(_ database: TestDatabase, _ messages: [Message]) async throws -> Place {
    let vault = try Vault.fresh()
    let customer = try await database.customer()
    _ = try await PushApps(database.pool, vault: vault).add(
      customer, NewPushApp(appID: "com.acme.app", type: .ios, name: "Acme"))
    let issued = try await HybridApps(database.pool).enable(
      customer, HybridAppRequest(appId: "com.acme.app"), vault: vault
    ).issued
    let key = try #require(UUID(uuidString: issued.appKey))
    let app = try #require(try await HybridApps(database.pool).find(key: key))
    let device = PhoneID.make()
    try await database.query(
      """
      INSERT INTO hybrid_registration (customer_id, device_hash, app_id, platform, user_agent, number, status, verified_at)
      VALUES ($1::bigint, $2::bytea, 'com.acme.app', 'iOS', 'ios', '31612345678', 'PinVerified', '2010-01-01')
      """, customer.rawValue, Bytes(device.hash))
    for (index, message) in messages.enumerated() {
      let number = Int32(index + 1)
      try await database.query(
        """
        INSERT INTO tracked_message (customer_id, sendout_id, message_no, message_guid, app_id, recipient, sender, body, kind, parts,
          created_at, status, push_nos)
        VALUES ($1::bigint, 700, $2::int4, ('00000000-0000-0000-0000-' || lpad($2::int4::text, 12, '0'))::uuid, 'com.acme.app',
          '31612345678', $3::text, $4::text, 'default', 1::int2, $5::text::timestamptz, $6::text, ARRAY[$2::int4])
        """, customer.rawValue, number, message.sender, message.body, message.at, message.status)
    }
    return Place(app: app, device: device)
  }
}

/// Conditions and what they mean, written apart from the compiler.
private enum FilterModel {
  struct Condition {
    var text: String
    var holds: (Corpus.Message) -> Bool
  }

  struct Text {
    var text: String
    var value: (Corpus.Message) -> String
  }

  struct Number {
    var text: String
    var value: (Corpus.Message) -> Int
  }

  static func condition(depth: Int, _ random: inout SeededGenerator) -> Condition {
    guard depth > 0 else { return leaf(&random) }
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      let (left, right) = (condition(depth: depth - 1, &random), condition(depth: depth - 1, &random))
      return Condition(text: "(\(left.text)) and (\(right.text))") { left.holds($0) && right.holds($0) }
    case 1:
      let (left, right) = (condition(depth: depth - 1, &random), condition(depth: depth - 1, &random))
      return Condition(text: "(\(left.text)) or (\(right.text))") { left.holds($0) || right.holds($0) }
    case 2:
      let inner = condition(depth: depth - 1, &random)
      return Condition(text: "not (\(inner.text))") { !inner.holds($0) }
    default: return leaf(&random)
    }
  }

  private static func leaf(_ random: inout SeededGenerator) -> Condition {
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      let (left, right) = (text(2, &random), text(1, &random))
      let order = ["eq", "ne", "gt", "ge", "lt", "le"][Int.random(in: 0..<6, using: &random)]
      return Condition(text: "\(left.text) \(order) \(right.text)") {
        let (one, other) = (Array(left.value($0).utf8), Array(right.value($0).utf8))
        switch order {
        case "eq": return one == other
        case "ne": return one != other
        case "gt": return other.lexicographicallyPrecedes(one)
        case "ge": return !one.lexicographicallyPrecedes(other)
        case "lt": return one.lexicographicallyPrecedes(other)
        default: return !other.lexicographicallyPrecedes(one)
        }
      }
    case 1:
      let (part, whole) = (text(0, &random), text(2, &random))
      return Condition(text: "substringof(\(part.text),\(whole.text))") {
        Self.index(of: part.value($0), in: whole.value($0)) >= 0
      }
    case 2:
      let (whole, part) = (text(2, &random), text(0, &random))
      let starts = Bool.random(using: &random)
      return Condition(text: "\(starts ? "startswith" : "endswith")(\(whole.text),\(part.text))") {
        let (one, other) = (Array(whole.value($0).unicodeScalars), Array(part.value($0).unicodeScalars))
        return starts ? one.starts(with: other) : one.reversed().starts(with: other.reversed())
      }
    default:
      let (left, right) = (number(2, &random), number(1, &random))
      let order = ["eq", "ne", "gt", "ge", "lt", "le"][Int.random(in: 0..<6, using: &random)]
      return Condition(text: "\(left.text) \(order) \(right.text)") {
        let (one, other) = (left.value($0), right.value($0))
        switch order {
        case "eq": return one == other
        case "ne": return one != other
        case "gt": return one > other
        case "ge": return one >= other
        case "lt": return one < other
        default: return one <= other
        }
      }
    }
  }

  private static func text(_ depth: Int, _ random: inout SeededGenerator) -> Text {
    let choice = Int.random(in: 0..<(depth > 0 ? 8 : 3), using: &random)
    switch choice {
    case 0: return Text(text: "Body") { $0.body }
    case 1: return Text(text: "Sender") { $0.sender }
    case 2:
      let literal = ["", "a", "ab", "B", "'", "é", "%"][Int.random(in: 0..<7, using: &random)]
      return Text(text: "'\(literal.replacing("'", with: "''"))'") { _ in literal }
    case 3:
      let inner = text(depth - 1, &random)
      return Text(text: "tolower(\(inner.text))") { inner.value($0).lowercased() }
    case 4:
      let (left, right) = (text(depth - 1, &random), text(depth - 1, &random))
      return Text(text: "concat(\(left.text),\(right.text))") { left.value($0) + right.value($0) }
    case 5:
      let (inner, from) = (text(depth - 1, &random), Int.random(in: 0...3, using: &random))
      return Text(text: "substring(\(inner.text),\(from))") {
        String(String.UnicodeScalarView(inner.value($0).unicodeScalars.dropFirst(from)))
      }
    case 6:
      let inner = text(depth - 1, &random)
      return Text(text: "replace(\(inner.text),'a','bb')") { inner.value($0).replacing("a", with: "bb") }
    default:
      let inner = text(depth - 1, &random)
      return Text(text: "trim(\(inner.text))") { inner.value($0).trimmingCharacters(in: .whitespaces) }
    }
  }

  private static func number(_ depth: Int, _ random: inout SeededGenerator) -> Number {
    switch Int.random(in: 0..<(depth > 0 ? 6 : 2), using: &random) {
    case 0:
      let literal = Int.random(in: -3...9, using: &random)
      return Number(text: "\(literal)") { _ in literal }
    case 1: return Number(text: "year(DateTime)") { $0.year }
    case 2:
      let inner = text(depth - 1, &random)
      return Number(text: "length(\(inner.text))") { inner.value($0).unicodeScalars.count }
    case 3:
      let (whole, part) = (text(depth - 1, &random), text(0, &random))
      return Number(text: "indexof(\(whole.text),\(part.text))") { index(of: part.value($0), in: whole.value($0)) }
    case 4:
      let (left, right) = (number(depth - 1, &random), number(depth - 1, &random))
      let operation = ["add", "sub", "mul"][Int.random(in: 0..<3, using: &random)]
      return Number(text: "(\(left.text) \(operation) \(right.text))") {
        let (one, other) = (left.value($0), right.value($0))
        return operation == "add" ? one + other : operation == "sub" ? one - other : one * other
      }
    default:
      let (left, divisor) = (number(depth - 1, &random), Int.random(in: 1...4, using: &random))
      let isModulo = Bool.random(using: &random)
      return Number(text: "(\(left.text) \(isModulo ? "mod" : "div") \(divisor))") {
        isModulo ? left.value($0) % divisor : left.value($0) / divisor
      }
    }
  }

  /// Of Unicode scalars; -1 if it is not there.
  private static func index(of part: String, in whole: String) -> Int {
    let (part, whole) = (Array(part.unicodeScalars), Array(whole.unicodeScalars))
    guard part.count <= whole.count else { return -1 }
    return (0...(whole.count - part.count)).first { Array(whole[$0..<($0 + part.count)]) == part } ?? -1
  }
}
