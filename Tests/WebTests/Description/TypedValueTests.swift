import Foundation
import Postgres
import Support
import Testing
import Wire

/// Numbers, PINs and senders as people type them, at every place whose description says that it takes one.
@Suite struct TypedValueTests {
  @Test func `Every place that takes a number reads it in every form`() async throws {
    try await withPhoneServer { phones in
      let requests = try await Self.numberRequests(phones)
      let places = Place.all(phones.managed.contract.document, saying: PhoneNumber.form)
      #expect(Set(places.map(\.description)) == Set(requests.keys))
      // Known, so that a message can be sent to it alone.
      _ = try await phones.phone(verified: "0031612345678")
      for (place, send) in requests.sorted(by: { $0.key < $1.key }) {
        for number in PhoneNumberForms.dutch {
          for reply in try await send(number) {
            #expect(!Self.refusesNumber(reply), "\(place) \(number.debugDescription): \(reply.text)")
          }
        }
        for number in ["0612345678", "+31612345678x", "+0031612345678"] {
          for reply in try await send(number) {
            #expect(Self.refusesNumber(reply), "\(place) \(number): \(reply.text)")
          }
        }
      }
      // All of them are one number.
      let tokens = try await phones.database.query("SELECT DISTINCT token FROM device")
      #expect(try tokens.map { try $0.decode(String.self) } == ["+31612345678"])
      let contacts = try await phones.database.query("SELECT original_id FROM contact")
      #expect(try contacts.map { try $0.decode(String.self) } == ["0031612345678"])
      let numbers = try await phones.database.query(
        "SELECT number FROM hybrid_registration WHERE number IS NOT NULL UNION SELECT recipient FROM tracked_message")
      #expect(try numbers.map { try $0.decode(String.self) } == ["31612345678"])
    }
  }

  private static func refusesNumber(_ reply: TestReply) -> Bool {
    reply.text.contains(PhoneNumber.form) || reply.text.contains("is not a number")
  }

  /// For each place what sends a number there, in every form of the body.
  private static func numberRequests(
    _ phones: PhoneServer
  ) async throws -> [String: @Sendable (String) async throws -> [TestReply]] {
    let server = phones.managed.server
    let token = try await gatewayToken(phones)
    let known = phones.phone()
    var requests: [String: @Sendable (String) async throws -> [TestReply]] = [:]
    for path in ["/gateway.ashx", "/v1.0/message"] {
      requests["POST \(path) messages.msg[].to[].number"] = { number in
        let message = #"{"from":"A","to":[{"number":\#(quoted(number))}],"body":{"content":"x"}}"#
        let json = #"{"messages":{"authentication":{"producttoken":"\#(token)"},"msg":[\#(message)]}}"#
        let xml = """
          <MESSAGES><AUTHENTICATION><PRODUCTTOKEN>\(token)</PRODUCTTOKEN></AUTHENTICATION><MSG><FROM>A</FROM>\
          <TO><i>\(number)</i></TO><BODY>x</BODY></MSG></MESSAGES>
          """
        return [
          try await server.post(path, Array(json.utf8)), try await server.post(path, Array(xml.utf8)),
        ]
      }
    }
    requests["GET /gateway.ashx to"] = { number in
      [
        try await server.send(
          "GET", "/gateway.ashx?producttoken=\(token)&from=A&body=x&to=\(percentEncoded(number))")
      ]
    }
    requests["POST /v1.0/deviceregistrations Msisdn"] = { number in
      try await phones.forgetRates()
      var phone = phones.phone()
      return [try await phone.register(#"{"Msisdn":\#(quoted(number))}"#)]
    }
    requests["PUT /v1.0/deviceregistrations Msisdn"] = { number in
      try await phones.forgetRates()
      var phone = phones.phone()
      try await phone.register()
      return [try await phone.put(#"{"Msisdn":\#(quoted(number))}"#)]
    }
    requests["POST /v1.0/voiceotp/requestcode msisdn"] = { number in
      try await phones.forgetRates()
      var phone = known
      try await phone.register(#"{"Msisdn":"0031612345678"}"#)
      return [try await phone.send("POST", "/v1.0/voiceotp/requestcode", #"{"msisdn":\#(quoted(number))}"#)]
    }
    requests["GET /api/v1/hybrid/{appId}/phones number"] = { number in
      let path = "/api/v1/hybrid/com.acme.app/phones?number=\(percentEncoded(number))"
      return [try await phones.managed.send("GET", path)]
    }
    requests["DELETE /api/v1/sms/optouts/{number} number"] = { number in
      [try await phones.managed.send("DELETE", "/api/v1/sms/optouts/\(percentEncoded(number))")]
    }
    for method in ["POST", "DELETE"] {
      requests["\(method) /api/v1/suppressions number"] = { number in
        [try await phones.managed.send(method, "/api/v1/suppressions", json: #"{"number":\#(quoted(number))}"#)]
      }
    }
    for path in ["/api/v1/messages", "/api/v1/messages/preview"] {
      requests["POST \(path) to.deviceToken"] = { number in
        let body = #"{"appId":"sms","to":{"deviceToken":\#(quoted(number))},"message":{"alert":"x"}}"#
        return [try await phones.managed.send("POST", path, json: body)]
      }
    }
    return requests
  }

  @Test func `Every place that takes a sender takes what CM takes`() async throws {
    try await withPhoneServer { phones in
      let document = phones.managed.contract.document
      let token = try await Self.gatewayToken(phones)
      let places = Place.all(document, saying: SMSAccount.senderForm)
      #expect(places.count >= 8, "\(places)")
      for place in places {
        func send(_ sender: String) async throws -> TestReply {
          // What was started before can be changed again.
          try await phones.managed.database.query("UPDATE sendout SET state = 'draft'")
          guard let body = place.body(document, holding: .string(sender)) else {
            return try await phones.managed.send(
              "GET", "/gateway.ashx?producttoken=\(token)&to=0031612345678&body=x&from=\(percentEncoded(sender))")
          }
          let signedIn = body.setting(
            ["messages", "authentication", "producttoken"], to: .string(token), onlyIfThere: true)
          let json = String(decoding: signedIn.json, as: UTF8.self)
          return try await phones.managed.send(place.method, place.path(document), json: json)
        }
        for sender in ["cm.com", "H&M", "A-B_C", "O'Neill", "A b", "~!@#$%^&*()", "+1234567890123456", "31612345678"] {
          let reply = try await send(sender)
          #expect(
            !reply.text.contains(SMSAccount.senderForm) && reply.status < 500, "\(place) \(sender): \(reply.text)")
        }
        for sender in ["TwelveLetter", "Åcme", "A\u{7F}", "Ac\tme", "12345678901234567", "A\u{301}"] {
          let reply = try await send(sender)
          #expect(reply.text.contains(SMSAccount.senderForm), "\(place) \(sender.debugDescription): \(reply.text)")
        }
      }
    }
  }

  @Test func `Every body of JSON may begin with a byte order mark`() async throws {
    try await withManagementServer { managed in
      let document = managed.contract.document
      for operation in managed.contract.operations.sorted(by: { ($0.path, $0.method) < ($1.path, $1.method) }) {
        let place = Place(method: operation.method, template: operation.path, names: [], isParameter: false)
        guard let body = place.example(document) else { continue }
        let header = operation.path.hasPrefix("/rest/") ? [("X-Carma-Authentication-Token", managed.key)] : []
        let reply = try await managed.server.send(
          operation.method, place.path(document), key: managed.key, headers: header,
          json: "\u{FEFF}" + String(decoding: body.json, as: UTF8.self))
        #expect(!reply.text.contains("well-formed") && reply.status < 500, "\(place): \(reply.text)")
      }
    }
  }

  @Test func `Documents say of numbers and senders what is read`() throws {
    func text(_ document: String) throws -> String {
      try String(
        contentsOf: URL(filePath: #filePath).appending(path: "../../../../docs/\(document)").standardized,
        encoding: .utf8)
    }
    let (services, gateway) = (try text("push-services.md"), try text("dialects/cm-hybrid.md"))
    #expect(gateway.contains("| `FROM` | \(SMSAccount.senderForm) |"))
    #expect(services.contains("A sender is \(SMSAccount.senderForm)."))
    for problem in SMSText.Problem.allCases { #expect(services.contains("`\(problem.reason)`")) }
    #expect(gateway.contains("`+44 (0)7911 123456` is 00447911123456"))
    #expect(PhoneNumber("+44 (0)7911 123456")?.international == "00447911123456")
  }

  /// Ways in which a phone may send the PIN of an SMS, as JSON.
  private static let pinForms: [@Sendable (String) -> String] = [
    { quoted($0) }, { quoted(" \($0) ") }, { quoted($0.map { "\($0)" }.joined(separator: " ")) },
    { quoted("\u{200E}\($0.prefix(2))\u{A0}\($0.dropFirst(2))") },
    { quoted("\u{202D}\($0.prefix(3))-\($0.dropFirst(3))\u{202C}") },
    { quoted("\u{FEFF}" + digits($0, of: "٠")) }, { quoted(digits($0, of: "۰")) }, { quoted(digits($0, of: "０")) },
    { "\(Int($0) ?? -1)" },
  ]

  /// The digits in the script of that zero.
  private static func digits(_ pin: String, of zero: Unicode.Scalar) -> String {
    String(String.UnicodeScalarView(pin.unicodeScalars.compactMap { Unicode.Scalar(zero.value + $0.value - 0x30) }))
  }

  @Test func `A PIN is taken in every form, and with the zeros that a number has lost`() async throws {
    try await withPhoneServer { phones in
      let places = Place.all(phones.managed.contract.document, saying: "The PIN that its SMS had")
      #expect(
        Set(places.map(\.description)) == [
          // A new phone has no PIN to send.
          "POST /v1.0/deviceregistrations VerificationCode", "PUT /v1.0/deviceregistrations VerificationCode",
        ])
      for (index, form) in Self.pinForms.enumerated() {
        var phone = phones.phone()
        var pin = ""
        // The last form loses zeros.
        repeat {
          try await phones.forgetRates()
          try await phone.register(#"{"Msisdn":"0031612345678"}"#)
          pin = try await phones.pin("0031612345678")
        } while index == Self.pinForms.count - 1 && !pin.hasPrefix("0")
        if pin.hasPrefix("0") {
          let short = try await phone.put(#"{"VerificationCode":"\#(pin.dropFirst())"}"#)
          #expect(try short.json.string("RegistrationStatus") == "LastPinVerificationFailed")
        }
        let reply = try await phone.put(#"{"VerificationCode":\#(form(pin))}"#)
        #expect(try reply.json.string("RegistrationStatus") == "PinVerified", "\(form(pin)): \(reply.text)")
      }
    }
  }

  private static func gatewayToken(_ phones: PhoneServer) async throws -> String {
    let made = try await phones.managed.send("POST", "/api/v1/keys", json: #"{"name":"gateway","scope":"gateway"}"#)
    return try #require(try made.json.string("token"))
  }
}

private func percentEncoded(_ text: String) -> String {
  text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
}

/// A field or a parameter of a request, as the hub describes it.
private struct Place: Hashable, CustomStringConvertible {
  let method: String
  /// As in `/api/v1/sms/optouts/{number}`.
  let template: String
  /// Names that lead to a field of the body, `[]` for the items of a list; or the one name of a parameter.
  let names: [String]
  let isParameter: Bool

  var description: String { "\(method) \(template) \(names.joined(separator: ".").replacing(".[]", with: "[]"))" }

  /// Every place whose description has that phrase.
  static func all(_ document: JSONValue, saying phrase: String) -> [Place] {
    APIContract(document: document).operations.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
      .flatMap { operation -> [Place] in
        let described = document["paths"]?[operation.path]?[operation.method.lowercased()]
        let parameters = (described?.array("parameters") ?? []).filter {
          $0.string("description")?.contains(phrase) == true
        }.map {
          Place(method: operation.method, template: operation.path, names: [$0.string("name") ?? ""], isParameter: true)
        }
        guard let schema = described?["requestBody"]?["content"]?["application/json"]?["schema"] else {
          return parameters
        }
        return parameters
          + fields(schema, document, phrase, depth: 0).map {
            Place(method: operation.method, template: operation.path, names: $0, isParameter: false)
          }
      }
  }

  private static func fields(
    _ schema: JSONValue, _ document: JSONValue, _ phrase: String, depth: Int
  ) -> [[String]] {
    guard depth < 12 else { return [] }
    if let name = schema.string("$ref")?.split(separator: "/").last {
      return fields(document["components"]?["schemas"]?[String(name)] ?? [:], document, phrase, depth: depth + 1)
    }
    var found = (schema.array("anyOf") ?? []).flatMap { fields($0, document, phrase, depth: depth + 1) }
    if case .object(let properties) = schema["properties"] {
      for (name, property) in properties.sorted(by: { $0.key < $1.key }) {
        if property.string("description")?.contains(phrase) == true { found.append([name.text]) }
        found += fields(property, document, phrase, depth: depth + 1).map { [name.text] + $0 }
      }
    }
    if let items = schema["items"] {
      found += fields(items, document, phrase, depth: depth + 1).map { ["[]"] + $0 }
    }
    var seen: Set<[String]> = []
    return found.filter { seen.insert($0).inserted }
  }

  private func operation(_ document: JSONValue) -> JSONValue? {
    document["paths"]?[template]?[method.lowercased()]
  }

  /// The operation's example with the field set to that; nil for a parameter.
  func body(_ document: JSONValue, holding value: JSONValue) -> JSONValue? {
    guard !isParameter, let body = example(document)?.setting(names, to: value) else { return nil }
    // A change alone of a message is none.
    guard names.first == "message", body["message"]?["alert"] == nil else { return body }
    return body.setting(["message", "alert"], to: "x")
  }

  /// The operation's example; nil if it takes no JSON.
  func example(_ document: JSONValue) -> JSONValue? {
    guard let media = operation(document)?["requestBody"]?["content"]?["application/json"] else { return nil }
    guard case .object(let named) = media["examples"] else { return media["example"] ?? [:] }
    return named.min { $0.key < $1.key }?.value["value"] ?? media["example"] ?? [:]
  }

  /// The path with the examples of its parameters.
  func path(_ document: JSONValue) -> String {
    (operation(document)?.array("parameters") ?? []).reduce(template) { path, parameter in
      let value = parameter.string("example") ?? parameter.integer("example").map { "\($0)" } ?? ""
      return path.replacing("{\(parameter.string("name") ?? "")}", with: value)
    }
  }
}

extension JSONValue {
  /// The same with the value at the end of the names; objects and lists on the way are made unless `onlyIfThere`.
  fileprivate func setting(_ names: [String], to value: JSONValue, onlyIfThere: Bool = false) -> JSONValue {
    guard let name = names.first else { return value }
    let rest = Array(names.dropFirst())
    if name == "[]" {
      guard case .array(let items) = self, let first = items.first else {
        return onlyIfThere ? self : [JSONValue.null.setting(rest, to: value)]
      }
      return .array([first.setting(rest, to: value, onlyIfThere: onlyIfThere)] + items.dropFirst())
    }
    guard case .object(var members) = self else {
      return onlyIfThere ? self : .object([UTF8String(name): JSONValue.null.setting(rest, to: value)])
    }
    if onlyIfThere, members[name] == nil { return self }
    members[name] = (members[name] ?? .null).setting(rest, to: value, onlyIfThere: onlyIfThere)
    return .object(members)
  }
}
