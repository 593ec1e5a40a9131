import Testing
import Wire

@Suite struct PushDevicesBodyTests {
  @Test(arguments: [
    #"{"originalId":"a","originalid":null,"deviceInfo":[{"devicetoken":"t","deviceToken":null}]}"#,
    #"{"originalid":"a","originalId":null,"deviceInfo":[{"deviceToken":"t","devicetoken":null}]}"#,
    #"{"originalId":null,"originalid":"a","deviceInfo":[{"devicetoken":null,"deviceToken":"t"}]}"#,
  ])
  func `A null in one spelling of a name leaves the other alone`(_ json: String) throws {
    let body = try Array(json.utf8).withUnsafeBytes { try PushDevicesBody(json: $0) }
    #expect(body.originalId == "a")
    #expect(body.deviceInfo.map(\.deviceToken) == ["t"])
  }

  @Test func `Both spellings of the two ids are read`() throws {
    for key in ["originalId", "originalid"] { #expect(try body(#"{"\#(key)":"a"}"#).originalId == "a") }
    for key in ["devicetoken", "deviceToken"] {
      #expect(try body(#"{"deviceInfo":[{"\#(key)":"t"}]}"#).deviceInfo[0].deviceToken == "t")
    }
  }

  @Test(arguments: [
    ("1", AppType.ios), (#""1""#, .ios), ("2", .android), (#""3""#, .windows), (#""6""#, .firebase), ("7", .huawei),
  ])
  func `appType is read as a number and as a string`(_ json: String, _ type: AppType) throws {
    #expect(try device("appType", json).appType == type)
  }

  @Test(arguments: ["0", "4", #""ios""#, "1.0", "true", "[]", "{}", #"" 1""#, "99999999999", "-1"])
  func `Any other appType is refused by name`(_ json: String) {
    #expect(problem(#"{"deviceInfo":[{"appType":\#(json)}]}"#)?.path == "deviceInfo[0].appType")
  }

  @Test(
    arguments: [
      (#""true""#, true), (#""false""#, false), ("true", true), ("false", false), (#""True""#, true),
      (#""FALSE""#, false), ("1", true), ("0", false), ("null", nil), (#""""#, nil),
    ] as [(String, Bool?)])
  func `sandboxToken is read as a string and as a boolean`(_ json: String, _ flag: Bool?) throws {
    #expect(try device("sandboxToken", json).sandboxToken == flag)
  }

  @Test(arguments: [#""true|false""#, #""yes""#, "2", "[]", "{}", #""tru""#])
  func `Any other sandboxToken is refused by name`(_ json: String) {
    #expect(
      problem(#"{"deviceInfo":[{},{"sandboxToken":\#(json)}]}"#)?.sentence
        == "deviceInfo[1].sandboxToken must be true or false")
  }

  @Test(arguments: [("0", 0), (#""1""#, 1), ("32767", 32767), ("null", nil), (#""""#, nil)] as [(String, Int16?)])
  func `invalidationType is read as a number and as a string`(_ json: String, _ type: Int16?) throws {
    #expect(try device("invalidationType", json).invalidationType?.rawValue == type)
  }

  @Test(arguments: ["32768", "-1", "1.5", #""x""#, "true", "[]"])
  func `Any other invalidationType is refused by name`(_ json: String) {
    #expect(problem(#"{"deviceInfo":[{"invalidationType":\#(json)}]}"#)?.path == "deviceInfo[0].invalidationType")
  }

  @Test(
    arguments: [
      ("1000000005", .set(1_000_000_005)), (#""7""#, .set(7)), ("9223372036854775807", .set(.max)), ("null", .keep),
      (#""""#, .clear),
    ] as [(String, Change<Int64>)])
  func `listId is read as a number and as a string`(_ json: String, _ list: Change<Int64>) throws {
    #expect(try body(#"{"listId":\#(json)}"#).listId == list)
  }

  @Test(arguments: ["9223372036854775808", "1.5", "1e3", "0", "-1", #""x""#, "true", "[]", "{}"])
  func `Any other listId is refused by name`(_ json: String) {
    #expect(problem(#"{"listId":\#(json)}"#)?.sentence == "listId must be a list's number")
  }

  @Test(arguments: ContactField.allCases)
  func `A text sent as a number keeps its digits, and one sent as a boolean is refused`(_ field: ContactField) throws {
    func text(_ json: String) throws -> String? {
      let texts = try body(#"{"\#(field)":\#(json)}"#).texts
      for other in ContactField.allCases where other != field { #expect(texts[other] == nil, "\(other)") }
      return texts[field]
    }
    #expect(try text(#""x""#) == "x")
    #expect(try text("46701234567") == "46701234567")
    #expect(try text("1.50") == "1.50")
    #expect(try text("null") == nil)
    #expect(try text(#""""#) == "")
    for json in ["[]", "{}", "true", "false"] {
      #expect(problem(#"{"\#(field)":\#(json)}"#)?.sentence == "\(field) must be a string")
    }
    #expect(problem(#"{"\#(field)":"a\u0000"}"#)?.sentence == "\(field) must not hold U+0000")
  }

  @Test func `Unknown fields are ignored, and of a field given twice the last one counts`() throws {
    let body = try body(
      #"{"x":{"y":[1,2,{"z":null}]},"firstName":"a","firstName":"b","originalId":"1","originalid":"2","title":"x","title":null}"#
    )
    #expect(body.texts[.firstName] == "b")
    #expect(body.originalId == "2")
    #expect(body.texts[.title] == nil)
  }

  @Test func `Properties are flat, and keep their numbers' digits`() throws {
    #expect(
      try body(#"{"properties":{ "a" : "x\"\u00e5" , "b":1.50,"c":true,"d":null,"e":false }}"#)
        .properties == #"{"a":"x\"å","b":1.50,"c":true,"d":null,"e":false}"#)
    for number in ["1e400", "1e-400", "-0", "12345678901234567890", "100.00"] {
      #expect(try body(#"{"properties":{"n":\#(number)}}"#).properties == #"{"n":\#(number)}"#)
    }
    #expect(try body(#"{"properties":{}}"#).properties == "{}")
    #expect(try body(#"{"properties":null}"#).properties == nil)
  }

  @Test(arguments: [
    (#"{"food":{}}"#, "properties.food must be a string, a number, true, false or null"),
    (#"{"food":[1]}"#, "properties.food must be a string, a number, true, false or null"),
    (#"{"food":"\u0000"}"#, "properties.food must not hold U+0000"),
    (#"{"n":1\#(String(repeating: "0", count: 100))}"#, "properties.n must be a number of at most 100 characters"),
    ("[]", "properties must be an object"), (#""x""#, "properties must be an object"),
  ])
  func `Other properties are refused by name`(_ json: String, _ sentence: String) {
    #expect(problem(#"{"properties":\#(json)}"#)?.sentence == sentence)
  }

  @Test func `Properties have limits`() throws {
    func keys(_ count: Int) -> String { (0..<count).map { #""k\#($0)":1"# }.joined(separator: ",") }
    _ = try body(#"{"properties":{\#(keys(100))}}"#)
    #expect(problem(#"{"properties":{\#(keys(101))}}"#)?.sentence == "properties.k100 is one more than 100")
    #expect(problem(#"{"properties":{"":1}}"#) != nil)
    #expect(problem(#"{"properties":{"\#(String(repeating: "k", count: 101))":1}}"#) != nil)
    #expect(problem(#"{"properties":{"k\u0000":1}}"#) != nil)
    _ = try body(#"{"properties":{"k":"\#(String(repeating: "x", count: 4096))"}}"#)
    #expect(
      problem(#"{"properties":{"k":"\#(String(repeating: "x", count: 4097))"}}"#)?.sentence
        == "properties.k must not be longer than 4096 bytes")
    _ = try body(#"{"properties":{"k":\#(String(repeating: "1", count: 100))}}"#)
    #expect(problem(#"{"properties":{"k":\#(String(repeating: "1", count: 101))}}"#) != nil)
  }

  @Test func `At most a hundred devices are read`() throws {
    func devices(_ count: Int) -> String {
      Array(repeating: #"{"devicetoken":"t"}"#, count: count).joined(separator: ",")
    }
    #expect(try body(#"{"deviceInfo":[\#(devices(100))]}"#).deviceInfo.count == 100)
    #expect(problem(#"{"deviceInfo":[\#(devices(101))]}"#)?.sentence == "deviceInfo[100] is one more than 100")
    #expect(problem(#"{"deviceInfo":{}}"#)?.sentence == "deviceInfo must be an array")
    #expect(problem(#"{"deviceInfo":[1]}"#)?.sentence == "deviceInfo[0] must be an object")
    #expect(problem("[]")?.sentence == "The body must be an object")
  }

  private func body(_ json: String) throws -> PushDevicesBody {
    try Array(json.utf8).withUnsafeBytes { try PushDevicesBody(json: $0) }
  }

  private func device(_ field: String, _ json: String) throws -> PushDevicesBody.DeviceInfo {
    try body(#"{"deviceInfo":[{"\#(field)":\#(json)}]}"#).deviceInfo[0]
  }

  private func problem(_ json: String) -> JSONProblem? {
    do {
      _ = try body(json)
      return nil
    } catch {
      return error as? JSONProblem
    }
  }
}
