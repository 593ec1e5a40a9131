import Support
import Testing
import Wire

@Suite struct FilterTreeTests {
  @Test func `A parameter or option has a line or a tree, and its errors are those of both`() throws {
    let filter = try Filter(text: "country = 'SE' and has device")
    #expect(try Filter(textOrTree: filter.text) == filter)
    #expect(try Filter(textOrTree: " \n\(String(decoding: filter.tree.json, as: UTF8.self))") == filter)
    for (text, place) in [
      ("contry = 'SE'", FilterError.Place.character(1)), ("{", .path("")),
      (#"{"and":[{"everyone":true},{"field":"contry","op":"is set"}]}"#, .path("and[1].field")),
    ] {
      let error = #expect(throws: FilterError.self) { try Filter(textOrTree: text) }
      #expect(error?.place == place, "\(text)")
    }
  }

  @Test(arguments: [
    (#"{"and":[{"everyone":true},{"list":7}]}"#, "everyone and in list 7"),
    (#"{"or":[{"everyone":true},{"segment":3}]}"#, "everyone or in segment 3"),
    (#"{"not":{"list":"newsletter"}}"#, "not in list 'newsletter'"),
    (#"{"field":"country","op":"in","value":["SE"]}"#, "country in ('SE')"),
    (#"{"field":"properties.visits","op":">=","value":3}"#, "properties.visits >= 3"),
    (#"{"field":"properties.price","op":"!=","value":3.10}"#, "properties.price != 3.10"),
    (#"{"field":"properties.any name","op":"=","value":true}"#, #"properties."any name" = true"#),
    (#"{"field":"properties.\"x\"","op":"is set"}"#, #"properties."""x""" is set"#),
    (#"{"field":"city","op":"contains","value":"it's"}"#, "city contains 'it''s'"),
    (#"{"field":"city","op":"starts with","value":""}"#, "city starts with ''"),
    (#"{"field":"city","op":"ends with","value":"x"}"#, "city ends with 'x'"),
    (#"{"field":"city","op":"is not set"}"#, "city is not set"),
    (#"{"device":{"field":"osVersion","op":">=","version":"17.2"}}"#, "device(osVersion >= version '17.2')"),
    (#"{"date":"2026-12-01","field":"createdAt","op":">="}"#, "createdAt >= date '2026-12-01'"),
    (#"{"date":["2026-12-01"],"field":"createdAt","op":"in"}"#, "createdAt in (date '2026-12-01')"),
    (#"{"field":"createdAt","within":{"last":"30d"}}"#, "createdAt within last 30 days"),
    (#"{"field":"createdAt","within":{"next":"12h"}}"#, "createdAt within next 12 hours"),
    (#"{"birthday":"dateOfBirth","next":"7d"}"#, "birthday(dateOfBirth) within next 7 days"),
    (#"{"segment":"VIP"}"#, "in segment 'VIP'"), (#"{"device":{"everyone":true}}"#, "has device"),
    (
      #"{"received":{"count":1,"op":">=","sendout":7,"within":"30d"}}"#, "received sendout 7 >= 1 within 30 days"
    ),
    (#"{"opened":{"count":1,"ofLast":5,"op":"<"}}"#, "opened < 1 of last 5"),
    (#"{"outcome":{"is":"notOpened","sendout":7}}"#, "outcome of sendout 7 = 'notOpened'"),
    (#"{"bucket":[0,10]}"#, "bucket(0, 10)"), (#"{"everyone":true}"#, "everyone"),
  ])
  func `A tree and its line stand for each other`(_ json: String, _ line: String) throws {
    let filter = try Filter(tree: try JSONValue(json: Array(json.utf8)))
    #expect(filter.text == line)
    #expect(try Filter(text: line) == filter)
    #expect(String(decoding: filter.tree.json, as: UTF8.self) == json)
  }

  @Test(arguments: [
    (#"{"received":{}}"#, "received >= 1"), (#"{"opened":{"within":"24h","op":null}}"#, "opened >= 1 within 24 hours"),
    (#"{"and":[{"or":[{"list":7}]}]}"#, "in list 7"), (#"{"field":"sex","op":"is set","value":null}"#, "sex is set"),
    (#""everyone""#, "everyone"),
  ])
  func `What a tree leaves out is written`(_ json: String, _ line: String) throws {
    #expect(try Filter(json: try JSONValue(json: Array(json.utf8))).text == line)
  }

  @Test func `A body has either form, and a reply has the tree`() throws {
    struct Body: Codable { var filter: Filter? }
    for json in [#"{"filter":"in list 7"}"#, #"{"filter":{"list":7}}"#] {
      let body = try JSONCoding.decode(Body.self, from: json.utf8)
      #expect(body.filter == .list(.number(7)))
      #expect(String(decoding: try JSONCoding.encode(body), as: UTF8.self) == #"{"filter":{"list":7}}"#)
    }
    #expect(try JSONCoding.decode(Body.self, from: #"{"filter":null}"#.utf8).filter == nil)
  }

  @Test func `A tree is 8 levels deep at most, and a deeper one does no harm`() throws {
    func nested(_ levels: Int) -> JSONValue { (0..<levels).reduce(["everyone": true]) { tree, _ in ["not": tree] } }
    _ = try Filter(tree: nested(7))
    let path = (0..<8).map { _ in "not" }.joined(separator: ".")
    for levels in [8, 9, 30, 2000] {
      let error = #expect(throws: FilterError.self) { try Filter(tree: nested(levels)) }
      #expect(
        error == FilterError(.path(path), "a filter is at most 8 deep, where each and, or, not and device adds 1"))
    }
    let many = JSONValue.array([JSONValue](repeating: ["everyone": true], count: 65))
    #expect(throws: FilterError(.path("and[64]"), "a filter has at most 64 conditions")) {
      try Filter(tree: ["and": many])
    }
  }

  @Test func `The schema leaves the checking to the filter, so its errors come through`() throws {
    for json in [#"{"and":[]}"#, "7", #""contry = 1""#, #"{"list":7}"#] {
      try Array(json.utf8).withUnsafeBytes { bytes in
        try JSONReader.read(bytes) { reader throws(JSONProblem) in try Filter.schema.check(&reader) }
      }
    }
  }
}
