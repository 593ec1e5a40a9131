import Foundation
import Testing
import Wire

@Suite struct PlainMessageTests {
  private static func plain(_ json: String) -> MessageRequest? {
    var json = json
    return json.withUTF8 { MessageRequest(plain: UnsafeRawBufferPointer($0)) }
  }

  @Test(arguments: [
    #"{"appId":"com.acme.app","to":{"originalId":"lars@example.com"},"message":{"alert":"Hi {{firstName}}"}}"#,
    #" { "message" : {"info":"b","alert":"a \u00e4\n","sound":"s","category":"c"}, "to":{"originalId":"ä"}, "wait":5 } "#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a","fields":{"table":"7","n":-3,"b":true}},"template":"offer"}"#,
    #"{"to":{"originalId":"a"},"message":{},"properties":{"order":"A-17","count":9007199254740993,"\u0061":false},"reference":"r"}"#,
    #"{"to":{},"message":{"alert":"a"},"wait":0}"#,
  ])
  func `A plain message is read as a decoder reads it, and its schema lets it pass`(json: String) throws {
    let decoded = try JSONCoding.decode(MessageRequest.self, from: json.utf8)
    #expect(Self.plain(json) == decoded)
    var bytes = json
    #expect(throws: Never.self) {
      try bytes.withUTF8 { bytes in
        try JSONReader.read(UnsafeRawBufferPointer(bytes)) { reader throws(JSONProblem) in
          try MessageRequest.schema.check(&reader)
        }
      }
    }
  }

  @Test(arguments: [
    #"{"to":{"originalId":"a"}}"#, #"{"message":{"alert":"a"}}"#, #"{"to":{"originalId":"a"},"message":{"alert":"a"}"#,
    "",
    #"{"to":{"originalId":"a","originalId":"b"},"message":{"alert":"a"}}"#,
    #"{"to":{"originalId":"a"},"to":{"originalId":"b"},"message":{"alert":"a"}}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a"},"message":{"alert":"b"}}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a"},"properties":{"a":1,"\u0061":2}}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a"},"properties":{"a":null}}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a"},"wait":31}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a"},"wait":"1"}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a"},"deliverAt":"2026-12-01T09:00:00Z"}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a","ttl":60}}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a"},"unknown":"b"}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":null}}"#, #"{"to":{"originalId":""},"message":{"alert":"a"}}"#,
    #"{"to":{"originalId":"a","deviceToken":"b"},"message":{"alert":"a"}}"#,
    #"{"to":{"originalId":"a"},"message":{"alert":"a","badge":1}}"#,
  ])
  func `Any other body is left to the schema and a decoder`(json: String) {
    #expect(Self.plain(json) == nil)
  }

  @Test(arguments: MessageBody.allFields.map(\.name))
  func `Each field of a message is read as a decoder reads it, or left to one`(name: String) throws {
    let field = try #require(MessageBody.allFields.first { $0.name == name })
    let value: JSONValue =
      switch field.value {
      case .text, .source, .badge: "x"
      case .seconds: 60
      case .priority: "normal"
      case .pushType: "voip"
      case .flag: true
      case .names: ["x"]
      case .members: ["x": 1]
      case .overrides: ["apns": ["payload": ["x": 1]]]
      case .translations: ["sv": ["alert": "x"]]
      }
    let message = JSONValue.object([UTF8String(name): value])
    let body = JSONValue.object(["to": ["originalId": "a"], "message": message]).json
    let decoded = try MessageRequest.schema.decode(MessageRequest.self, from: body)
    #expect(try JSONValue(encoding: decoded.message) == message)
    if let plain = Self.plain(String(decoding: body, as: UTF8.self)) { #expect(plain == decoded) }
  }

  @Test func `A text that may be too long is left to the schema`() {
    let id = String(repeating: "a", count: 201)
    #expect(Self.plain(#"{"to":{"originalId":"\#(id)"},"message":{"alert":"a"}}"#) == nil)
  }
}
