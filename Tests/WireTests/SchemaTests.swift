import Foundation
import Testing
import Wire

@Suite struct SchemaTests {
  /// A request with a field of every kind.
  private struct Sample: APIRequest {
    struct Part: APIRequest {
      var on: Bool

      static let schemaName: String? = "Part"
      static let schemaDescription = "A part."
      static let example = Part(on: true)
      static let fieldTable: FieldTable = ["on": "Whether it is on."]
    }

    var name: String
    var scope: AccessScope?
    var list: ListID?
    var size: Int?
    var parts: [Part]?
    var at: Timestamp?
    var more: [UTF8String: JSONValue]?
    var badge: Badge?

    static let schemaName: String? = nil
    static let schemaDescription = ""
    static let example = Sample(name: "a")
    static let fieldTable: FieldTable = [
      "name": FieldDescription("The name.", limits: 1...3), "scope": "", "list": "", "size": .count("How many."),
      "parts": FieldDescription("The parts.", limits: 1...2), "at": "", "more": "",
      "badge": "",
    ]
  }

  @Test func `The schema takes names, order and optionality from the Swift type`() throws {
    guard case .object(let fields, nil, nil) = Sample.schema.shape else {
      Issue.record("not a closed object")
      return
    }
    #expect(fields.map(\.name) == ["name", "scope", "list", "size", "parts", "at", "more", "badge"])
    #expect(fields.map(\.isRequired) == [true, false, false, false, false, false, false, false])
    #expect(fields.map(\.schema.allowsNull) == [false, true, true, true, true, true, true, true])
    #expect(fields[0].description == "The name.")
  }

  @Test func `Every field of a message can be in what is previewed, in the same form`() {
    guard case .object(let message, nil, nil) = MessageRequest.schema.shape,
      case .object(let preview, nil, nil) = MessagePreviewRequest.schema.shape
    else {
      Issue.record("not closed objects")
      return
    }
    #expect(message.map(\.name) == preview.map(\.name))
    for (sent, shown) in zip(message, preview) where sent.name != "to" {
      #expect("\(sent.schema.shape)" == "\(shown.schema.shape)", "\(sent.name)")
    }
  }

  @Test func `A reply has no null, and its optional fields may be absent`() {
    guard case .object(let fields, nil, nil) = AccessKeyReply.schema.shape else {
      Issue.record("not a closed object")
      return
    }
    #expect(fields.last?.name == "revokedAt")
    #expect(fields.last?.isRequired == false)
    #expect(fields.allSatisfy { !$0.schema.allowsNull })
  }

  @Test func `A form of a type requires and leaves out what it says, and a change tells what "" removes`() {
    guard case .object(let new, nil, nil) = TriggerRequest.form.schema.shape,
      case .object(let change, nil, nil) = TriggerRequest.change.schema.shape
    else {
      Issue.record("not closed objects")
      return
    }
    #expect(new.map(\.name) == ["name", "description", "appId", "appIds", "message", "purpose", "template"])
    #expect(new.filter(\.isRequired).map(\.name) == ["name", "message"])
    #expect(change.map(\.name) == new.map(\.name) + ["active"] && !change.contains(where: \.isRequired))
    #expect(
      change.filter { $0.description.hasSuffix(#"`""` removes it."#) }.map(\.name) == ["description", "template"])
    #expect(!new.contains { $0.description.contains("removes") })
  }

  @Test func `A change replaces what it names, removes what it empties, and leaves the rest`() throws {
    let current = TriggerReply.example
    let change = TriggerRequest(description: "By the shop", message: MessageBody(alert: "x", fields: ["n": 1]))
    let changed = try change.applied(to: current)
    #expect(changed.name == current.name && changed.appIds == current.appIds && changed.active == true)
    #expect(changed.description == "By the shop" && changed.message == change.message)
    let emptied = try TriggerRequest(name: "", description: "").applied(to: changed)
    #expect(emptied.description == nil && emptied.name == "" && emptied.message == change.message)
    #expect(try TriggerRequest().applied(to: changed) == changed)
  }

  @Test(arguments: [
    #"{"name":"a"}"#, #"{"name":"aaa","scope":null,"list":1,"size":0}"#, #"{"name":"a","parts":[{"on":true}]}"#,
    #"{"name":"a","at":"2026-11-20T22:13:49.120Z","more":{"x":[1,{}]},"badge":0}"#, #"{"name":"😀😀😀","badge":"{{x}}"}"#,
  ])
  func `A body that the schema accepts can be decoded`(_ json: String) throws {
    try check(json)
    _ = try JSONCoding.decode(Sample.self, from: json.utf8)
  }

  @Test(arguments: [
    ("[]", "The body must be an object"), ("{}", "name is missing"), (#"{"name":null}"#, "name must be a string"),
    (#"{"name":false}"#, "name must be a string"), (#"{"name":""}"#, "name is empty"),
    (#"{"name":"aaaa"}"#, "name is longer than 3 characters"),
    (#"{"name":"a","nmae":1}"#, "nmae is not a known field; known are name, scope, list, size, parts, at, more, badge"),
    (#"{"name":"a","name":"b"}"#, "name is given twice"),
    (#"{"name":"a","scope":"all"}"#, "scope must be one of device, send, backend, admin, gateway, datasync"),
    (#"{"name":"a","list":0}"#, "list must be a whole number from 1"),
    (#"{"name":"a","list":1.5}"#, "list must be a whole number from 1"),
    (#"{"name":"a","size":"1"}"#, "size must be a whole number from 0"),
    (#"{"name":"a","parts":[]}"#, "parts is empty"),
    (#"{"name":"a","parts":[{"on":true},{"on":1}]}"#, "parts[1].on must be true or false"),
    (#"{"name":"a","parts":[{"on":true},{"on":true},{"on":true}]}"#, "parts[2] is one more than 2"),
    (#"{"name":"a","at":"yesterday"}"#, "at must be a moment such as 2026-11-20T22:13:49.120Z"),
    (#"{"name":"a","more":[]}"#, "more must be an object"),
    (#"{"name":"a","badge":-1}"#, "badge must be a whole number from 0 to 2147483647 or a string"),
  ])
  func `A body that does not match is refused with its field and what it must be`(_ json: String, _ sentence: String) {
    let problem = #expect(throws: JSONProblem.self) { try check(json) }
    #expect(problem?.sentence == sentence)
  }

  @Test(arguments: [
    (#"{"all":false}"#, "all must be true"),
    ("{}", "The body must be an object with one of all, listId, lists, originalIds, segmentId, filter, exclude"),
    (#"{"originalIds":[]}"#, "originalIds is empty"),
  ])
  func `An audience has exactly one field`(_ json: String, _ sentence: String) {
    let problem = #expect(throws: JSONProblem.self) { try check(json, Audience.schema) }
    #expect(problem?.sentence == sentence)
  }

  @Test(arguments: [
    #"{"all":true,"listId":1}"#, #"{"exclude":"everyone"}"#, #"{"segmentId":1,"filter":"everyone"}"#,
  ])
  func `An audience names contacts in one way, whatever it excludes`(_ json: String) throws {
    let value = try JSONValue(json: Array(json.utf8))
    #expect(throws: (any Error).self) { try Audience(from: value) }
  }

  private func check(_ json: String, _ schema: Schema = Sample.schema) throws {
    try Array(json.utf8).withUnsafeBytes {
      try JSONReader.read($0) { reader throws(JSONProblem) in try schema.check(&reader) }
    }
  }
}
