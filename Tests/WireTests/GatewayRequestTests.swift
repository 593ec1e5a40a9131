import Foundation
import Support
import Testing

@testable import Wire

@Suite struct GatewayRequestTests {
  private func json(_ text: String) throws(GatewayProblem) -> GatewayRequest {
    var bytes = Array(text.utf8)
    let result = bytes.withUnsafeMutableBytes { bytes in
      Result { () throws(GatewayProblem) in try GatewayRequest(json: UnsafeRawBufferPointer(bytes)) }
    }
    return try result.get()
  }

  private func messages(_ msg: String) -> String {
    #"{"messages":{"authentication":{"producttoken":"t"},"msg":\#(msg)}}"#
  }

  private func message(_ fields: String) throws -> GatewayRequest.Message {
    try #require(try json(messages("[{\(fields)}]")).messages.first)
  }

  @Test(arguments: [
    (#"{"messages":{"authentication":{"productToken" : "a-1"},"#, ["a-1"]),
    (#"{"text":"producttoken","ProductToken":"a-1","x":1"#, ["a-1"]),
    ("<PRODUCTTOKEN>a-1</PRODUCTTOKEN><MSG>", ["a-1"]), ("<ProductToken x='y'> a-1\n</ProductToken>", ["a-1"]),
    ("<PRODUCTTOKEN><![CDATA[a-1]]></PRODUCTTOKEN>", []), (#""producttoken":"a-1"#, []), (#""producttoken":""}"#, []),
    (#""producttoken":"\#(String(repeating: "x", count: 129))" "#, []),
    ("<a><producttoken>1</producttoken><producttoken>2</producttoken></a>", ["1", "2"]),
    (String(repeating: "<producttoken>1", count: 9), ["1", "1", "1", "1"]),
  ]) func `The beginning of a body shows its product token`(beginning: String, tokens: [String]) {
    #expect(GatewayRequest.productTokens(in: beginning.utf8) == tokens)
    for isLittleEndian in [true, false] {
      let bytes: [UInt8] = beginning.utf8.flatMap { isLittleEndian ? [$0, 0] : [0, $0] }
      #expect(GatewayRequest.productTokens(in: bytes) == tokens)
    }
  }

  @Test func `JSON of CM's documentation is read field by field`() throws {
    let request = try json(
      """
      {
          "messages": {
              "authentication": {
                  "producttoken": "00000000-0000-0000-0000-000000000000"
              },
              "msg": [ {
                      "from": "SenderName",
                      "to": [{
                          "number": "00447911123456"
                      }],
                      "body": {
                          "content": "This message will be delivered as a push message"
                      },
                      "allowedChannels": ["Push"],
                      "appKey": "00000000-0000-0000-0000-000000000001"
                  }
              ]
          }
      }
      """)
    var message = GatewayRequest.Message()
    message.sender = "SenderName"
    message.recipients = ["00447911123456"]
    message.text = "This message will be delivered as a push message"
    message.channels = ["Push"]
    message.appKey = "00000000-0000-0000-0000-000000000001"
    #expect(request.productToken == "00000000-0000-0000-0000-000000000000")
    #expect(request.messages == [message])
  }

  @Test func `Names are read in any case and with escapes, unknown ones are ignored, and the last of a name counts`()
    throws
  {
    let request = try json(
      #"{"x":[1],"MESSAGES":{"Authentication":{"ProductToken":"t","y":{}},"MSG":[{"FROM":"first","From":"A","TO":[{"NUMBER":"1"},{"number":2}],"#
        + #""Bo\u0064y":{"Type":"AUTO","CONTENT":"x"},"AppMessageType":"OTP","DCS":8,"MaximumNumberOfMessageParts":3,"#
        + #""minimumnumberofmessageparts":"1","VALIDITY":"2h","Reference":"r","APPKEY":"k","AllowedChannels":"SMS","customGrouping":"g"}]}}"#
    )
    var message = GatewayRequest.Message()
    message.sender = "A"
    message.recipients = ["1", "2"]
    (message.text, message.textType, message.kind, message.coding) = ("x", "AUTO", "OTP", "8")
    (message.maximumParts, message.minimumParts) = ("3", "1")
    (message.validity, message.reference, message.appKey, message.channels) = ("2h", "r", "k", ["SMS"])
    #expect(
      request
        == {
          var request = GatewayRequest(); request.productToken = "t"; request.messages = [message]; return request
        }())
    let twice = try json(
      #"{"messages":{"msg":[{},{},{}],"authentication":{"producttoken":"a","PRODUCTTOKEN":"b"},"MSG":[{"to":[1,2],"TO":[3]}]}}"#
    )
    #expect(twice.productToken == "b" && twice.messages.count == 1 && twice.messages[0].recipients == ["3"])
  }

  @Test(arguments: [
    (#""from":[]"#, nil), (#""from":null"#, nil), (#""body":"text""#, nil), (#""body":{"content":{}}"#, nil),
    (#""body":{"content":"a\u0000b"}"#, nil), (#""to":[{"number":{}}]"#, nil), (#""to":{"number":"1"}"#, nil),
    (#""reference":{}"#, "reference"), (#""appKey":true"#, "appKey"), (#""validity":[]"#, "validity"),
    (#""dcs":{}"#, "dcs"), (#""appMessageType":"\u0000""#, "appMessageType"), (#""reference":null"#, nil),
    (#""maximumNumberOfMessageParts":[]"#, "maximumNumberOfMessageParts"),
  ])
  func `A field of another type concerns its message alone`(field: String, unreadable: String?) throws {
    let request = try json(messages("[{\(field)},{\"from\":\"A\"}]"))
    #expect(request.messages[0].unreadableField == unreadable)
    #expect(request.messages[0].sender == nil && request.messages[0].text == nil)
    #expect(request.messages[1].sender == "A")
  }

  @Test(arguments: [
    (#"Hi \ud83d"#, "Hi \u{FFFD}"), (#"\ude00 Hi"#, "\u{FFFD} Hi"), (#"\ud83d\ud83d\ude00"#, "\u{FFFD}😀"),
    (#"\ud83dx"#, "\u{FFFD}x"),
  ])
  func `Half a surrogate pair is replaced: clients cut texts between the two`(text: String, read: String) throws {
    let request = try json(messages(#"[{"from":"\#(text)","body":{"content":"\#(text)"}}]"#))
    #expect(request.messages[0].text == read && request.messages[0].sender == read)
  }

  @Test(arguments: [
    "", " ", "null", "[]", "{", "{}}", #"{"messages":[]}"#, #"{"messages":{"msg":[{}}}"#,
    #"{"messages":"x"}"#,
    #"{"messages":{"msg":[{"from":"a]}}"#, #"{"messages":{"msg":[{"from":"\q"}]}}"#,
    String(repeating: "[", count: 100_000),
    #"{"x":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}",
  ])
  func `What is not JSON of that form is malformed as a whole`(text: String) {
    #expect { try json(text) } throws: { if case GatewayProblem.malformed = $0 { true } else { false } }
  }

  @Test(arguments: [
    "{}", #"{"messages":{}}"#, #"{"messages":{"msg":[]}}"#, #"{"messages":{"msg":{}}}"#, #"{"messages":{"msg":[1]}}"#,
  ])
  func `A request without messages is refused for that`(text: String) {
    #expect { try json(text) } throws: { if case GatewayProblem.badCount = $0 { true } else { false } }
  }

  @Test func `Messages and numbers are limited, each and together`() throws {
    func list(_ count: Int, _ item: String) -> String {
      "[\(Array(repeating: item, count: count).joined(separator: ","))]"
    }
    #expect(try json(messages(list(1000, "{}"))).messages.count == 1000)
    #expect(throws: GatewayProblem.badCount("A request has at most 1000 messages (MSG).")) {
      try json(messages(list(1001, "{}")))
    }
    func numbers(_ count: Int) -> String { #"{"to":\#(list(count, #"{"number":"1"}"#))}"# }
    #expect(try json(messages("[\(numbers(1000))]")).messages[0].recipients.count == 1000)
    #expect(throws: GatewayProblem.badCount("A message has at most 1000 telephone numbers (TO).")) {
      try json(messages("[\(numbers(1001))]"))
    }
    #expect(try json(messages(list(10, numbers(1000)))).messages.count == 10)
    #expect { try json(messages("[\(list(10, numbers(1000)).dropFirst().dropLast()),\(numbers(1))]")) } throws: {
      ($0 as? GatewayProblem)?.sentence.contains("10000") == true
    }
  }

  @Test func `Every beginning of a request, and each that is damaged, is read or refused`() throws {
    let whole = Array(
      messages(#"[{"from":"Ä€","to":[{"number":"0031612345678"}],"body":{"content":"x\u00e9\n"},"dcs":8}]"#).utf8)
    var generator = SeededGenerator(seed: 7)
    let damaged = (0..<3000).map { _ in
      var bytes = whole
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      return bytes
    }
    var read = 0
    for bytes in whole.indices.map({ Array(whole[..<$0]) }) + damaged {
      let isRead = bytes.withUnsafeBytes { bytes in (try? GatewayRequest(json: bytes)) != nil }
      if isRead { read += 1 }
    }
    #expect(read > 0 && read < damaged.count)
  }

  @Test(.enabled(if: JSONSuite.isThere)) func `JSON of a public suite is read only where it is JSON`() throws {
    for (name, bytes) in try JSONSuite.files() {
      let wrapped = Array(#"{"messages":{"x":"#.utf8) + bytes + Array(#","msg":[{"from":"a"}]}}"#.utf8)
      let request = wrapped.withUnsafeBytes { try? GatewayRequest(json: $0) }
      if name.hasPrefix("n_") { #expect(request == nil, "\(name)") }
      if name.hasPrefix("y_") { #expect(request != nil, "\(name)") }
    }
  }

  @Test func `A query is one SMS of one part, with blanks and bytes decoded`() throws {
    let request = try GatewayRequest(
      query: "ProductToken=t&body=Hello+W%C3%B6rld%2B&to=0031612345678&from=A&reference=r&appkey=k&x")
    var message = GatewayRequest.Message()
    (message.sender, message.recipients, message.text) = ("A", ["0031612345678"], "Hello Wörld+")
    (message.reference, message.maximumParts, message.channels) = ("r", "1", ["SMS"])
    #expect(request.productToken == "t" && request.messages == [message])
    for query in ["body=%", "body=%4", "body=%zz", "body=%FF", "body=%00", "%FF=1"] {
      #expect(throws: GatewayProblem.malformed("The query is not percent-encoded UTF-8.")) {
        try GatewayRequest(query: query)
      }
    }
    #expect(throws: GatewayProblem.self) { try GatewayRequest(query: "to=1&TO=2") }
    #expect(try GatewayRequest(query: "").messages.count == 1)
  }
}

/// A public suite of JSON that must (`y_`), must not (`n_`) or may (`i_`) be read. It is kept beside the project, not in it.
private enum JSONSuite {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../shared/corpora/json_test_suite.json.gz").standardized.path

  static var isThere: Bool { FileManager.default.fileExists(atPath: file) }

  static func files() throws -> [String: [UInt8]] {
    let gzip = Process()
    gzip.executableURL = URL(filePath: "/usr/bin/env")
    gzip.arguments = ["gzip", "-dc", file]
    let output = Pipe()
    gzip.standardOutput = output
    try gzip.run()
    let json = try output.fileHandleForReading.readToEnd() ?? Data()
    gzip.waitUntilExit()
    return try JSONDecoder().decode([String: Data].self, from: json).mapValues { Array($0) }
  }
}

@Suite struct GatewayValidityTests {
  private let now = Date(timeIntervalSince1970: 1_480_000_000)

  @Test(arguments: [
    ("2017-04-20 11:50:05 GMT", "2017-04-20T11:50:05Z"), ("2017-04-20 11:50:05 +8", "2017-04-20T03:50:05Z"),
    ("2017-04-20 11:50:05 -07:00", "2017-04-20T18:50:05Z"), ("2017-04-20 11:50:05", "2017-04-20T09:50:05Z"),
    ("2017-01-20 11:50:05", "2017-01-20T10:50:05Z"), ("2017-04-20T11:50:05Z", "2017-04-20T11:50:05Z"),
    ("2017-04-20 11:50", "2017-04-20T09:50:00Z"), ("2017-04-20 11:50:05+0530", "2017-04-20T06:20:05Z"),
    // Summer time begins at 2:00 on March 26th and ends at 3:00 on October 29th.
    ("2017-03-26 01:59:59", "2017-03-26T00:59:59Z"), ("2017-03-26 03:00:00", "2017-03-26T01:00:00Z"),
    ("2017-10-29 01:59:59", "2017-10-28T23:59:59Z"), ("2017-10-29 03:00:00", "2017-10-29T02:00:00Z"),
    ("2024-02-29 00:00:00 GMT", "2024-02-29T00:00:00Z"),
  ])
  func `A moment is read in each form of its zone`(text: String, moment: String) throws {
    let expected = try #require(try? Date(moment, strategy: .iso8601))
    #expect(GatewayValidity.end(text, now: now) == expected)
  }

  @Test(arguments: [("2h", 7200), ("30m", 1800), ("1d12h", 129_600), ("90S", 90), ("0m", 0), ("366d", 31_622_400)])
  func `A time from now is read with its units`(text: String, seconds: Int) {
    #expect(GatewayValidity.end(text, now: now) == now.addingTimeInterval(Double(seconds)))
  }

  @Test(arguments: Moments.impossible) func `No moment is taken for one that exists`(text: String) {
    // The gateway takes an offset of one digit, and nothing behind the zone but a blank.
    guard !text.contains("+1:00") else { return }
    #expect(GatewayValidity.end(text, now: now) == nil)
  }

  @Test(arguments: [
    "", "x", "30", "h", "2x", "-2h", "2h3", "367d", "9999999999h", "2017-04-20", "2017-02-29 00:00:00",
    "2017-13-01 00:00:00",
    "2017-04-20 24:00:00", "2017-04-20 11:60:00", "2017-04-20 11:50:60", "2017-04-20 11:50:05 CET",
    "2017-04-20 11:50:05 +15",
    "2017-04-20 11:50:05 +8:60", "2017-04-20 11:50:05 GMT ", "20170420115005", "2017-04-20 11:50:05 +", "２h", "1e3s",
  ])
  func `Anything else is no validity`(text: String) {
    #expect(GatewayValidity.end(text, now: now) == nil)
  }
}
