import FoundationEssentials
import Wire
import XML

/// A request to CM Business Messaging or to Twilio, read as they read it.
struct SMSRequest: Sendable {
  enum Service: Sendable { case cm, twilio }
  enum Kind: Sendable { case message, call, account }

  /// One message or call of the request.
  struct Part: Sendable {
    /// As it was sent.
    var number: String
    var from: String
    var text: String
    var reference: String
    var parts = 1
    var isUnicode = false
    var language: String?
    var statusURL: String?
    /// The code by which this message alone is refused.
    var fault: Int?
  }

  let service: Service
  let kind: Kind
  private(set) var parts: [Part] = []
  /// Why the request is refused as a whole.
  private(set) var refusal: SimulatedSMS.Refusal?

  /// - Returns: nil for any other address.
  init?(_ incoming: IncomingRequest, _ accounts: SMSAccounts) {
    let method = incoming.method
    let path = String(incoming.path.prefix { $0 != "?" })
    if path == SimulatedSMS.messagePath || path == SimulatedSMS.callPath {
      service = .cm
      kind = path == SimulatedSMS.callPath ? .call : .message
      guard method == "POST", incoming.isOfType("application/json") else {
        refusal = .code(202)
        return
      }
      let json = (try? JSONValue(json: incoming.body))?.withLowercaseNames
      if kind == .call {
        readCall(json, token: incoming.header("x-cm-producttoken"), accounts)
      } else {
        readMessages(json?["messages"], accounts)
      }
      return
    }
    guard path.hasPrefix(SimulatedSMS.twilioPath) else { return nil }
    service = .twilio
    let names = path.dropFirst(SimulatedSMS.twilioPath.count).split(separator: "/", omittingEmptySubsequences: false)
    let account: String
    switch (method, names.count, names.last) {
    case ("POST", 2, "Messages.json"): (kind, account) = (.message, String(names[0]))
    case ("POST", 2, "Calls.json"): (kind, account) = (.call, String(names[0]))
    case ("GET", 1, let name?) where name.hasSuffix(".json"): (kind, account) = (.account, String(name.dropLast(5)))
    default: return nil
    }
    guard accounts.accepts(incoming.header("authorization"), sid: account) else {
      refusal = .code(20003, status: 401)
      return
    }
    if kind != .account { readForm(incoming.form) }
  }

  // MARK: CM

  private mutating func readMessages(_ messages: JSONValue?, _ accounts: SMSAccounts) {
    guard let token = messages?["authentication"]?["producttoken"]?.text else {
      refusal = .code(202)
      return
    }
    guard accounts.accepts(productToken: token) else {
      refusal = .code(101)
      return
    }
    guard case .array(let list) = messages?["msg"], (1...1000).contains(list.count) else {
      refusal = .code(203)
      return
    }
    for message in list {
      var numbers: [JSONValue] = []
      if case .array(let to) = message["to"] { numbers = to }
      if numbers.isEmpty { parts.append(Self.part(message, number: "", fault: 302)) }
      for number in numbers { parts.append(Self.part(message, number: number["number"]?.text ?? "", fault: nil)) }
    }
  }

  private static func part(_ message: JSONValue, number: String, fault: Int?) -> Part {
    let body = message["body"]
    let isAuto = body?["type"]?.text?.lowercased() == "auto"
    let coding: SMSCoding = message["dcs"] == 8 ? .ucs2 : isAuto ? .auto : .gsm7
    let most = message["maximumnumberofmessageparts"]?.integer ?? 8
    let least = message["minimumnumberofmessageparts"]?.integer ?? 1
    // What is no SMS is refused as an empty one is.
    let text = try? SMSText(body?["content"]?.text ?? "", coding: coding, maximumParts: max(1, Int(most)))
    let from = message["from"]?.text ?? ""
    let reference = message["reference"]?.text ?? ""
    var part = Part(
      number: number, from: from, text: text?.text ?? "", reference: reference, parts: text?.parts ?? 1,
      isUnicode: text?.isUnicode ?? false)
    let isNumber = number.hasPrefix("00") && PhoneNumber(number)?.international == number
    if let fault {
      part.fault = fault
    } else if !SMSAccount.isSender(from) {
      part.fault = 301
    } else if !isNumber {
      part.fault = 303
    } else if part.text.isEmpty {
      part.fault = 304
    } else if !isReference(reference) || !(1...8).contains(most) || !(1...most).contains(least)
      || message["allowedchannels"] != nil && message["allowedchannels"] != ["SMS"]
    {
      part.fault = 305
    }
    return part
  }

  private static func isReference(_ text: String) -> Bool {
    text.utf8.count <= 32
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & ~0x20) }
  }

  private mutating func readCall(_ call: JSONValue?, token: String?, _ accounts: SMSAccounts) {
    guard let token, accounts.accepts(productToken: token) else {
      refusal = .code(101, status: 401)
      return
    }
    let callee = call?["callee"]?.text ?? ""
    let code = call?["code"]?.text ?? ""
    guard PhoneNumber(callee) != nil, !code.isEmpty, code.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      refusal = .code(202)
      return
    }
    let introduction = call?["intro-prompt"]?.text ?? ""
    parts = [
      Part(
        number: callee, from: call?["caller"]?.text ?? "",
        text: ([introduction] + [code.map(String.init).joined(separator: " ")]).joined(separator: " "), reference: "",
        language: call?["voice"]?["language"]?.text)
    ]
  }

  // MARK: Twilio

  private mutating func readForm(_ form: [String: String]) {
    let number = form["To"] ?? ""
    let from = form["From"] ?? form["MessagingServiceSid"] ?? ""
    var part = Part(
      number: number, from: from, text: form["Body"] ?? "", reference: "", statusURL: form["StatusCallback"])
    if number.isEmpty {
      part.fault = 21604
    } else if !number.hasPrefix("+") || PhoneNumber(number)?.e164 != number {
      part.fault = 21211
    } else if from.isEmpty || !SMSAccount.isSender(from) && !SMSAccount.isMessagingService(from) {
      part.fault = 21603
    }
    if kind == .message {
      if let text = try? SMSText(part.text, maximumParts: 100) {
        (part.parts, part.isUnicode) = (text.parts, text.isUnicode)
      } else {
        part.fault = part.fault ?? 21617
      }
      if part.text.isEmpty { part.fault = part.fault ?? 21602 }
      if part.text.count > 1600 { part.fault = part.fault ?? 21617 }
    } else {
      let twiml = try? ParsedXML(Array((form["Twiml"] ?? "").utf8))
      let say = twiml?.children("Say").first
      part.text = say?.text ?? ""
      part.language = say?.attribute("language")
      if twiml?.name != "Response" || part.text.isEmpty || (form["Twiml"] ?? "").count > 4000 {
        part.fault = part.fault ?? 21602
      }
    }
    parts = [part]
  }
}

/// Who may send at the simulated providers.
struct SMSAccounts: Sendable {
  var productTokens: Set<String> = []
  /// Auth tokens by Account SID.
  var authTokens: [String: String] = [:]
  /// Whether any sign-in is taken.
  var trustsAll: Bool

  func accepts(productToken: String) -> Bool {
    trustsAll && !productToken.isEmpty || productTokens.contains(productToken)
  }

  func accepts(_ authorization: String?, sid: String) -> Bool {
    guard let authorization, authorization.hasPrefix("Basic "),
      let decoded = Data(base64Encoded: String(authorization.dropFirst(6)))
    else { return false }
    let text = String(decoding: decoded, as: UTF8.self)
    if trustsAll { return text.hasPrefix("\(sid):") }
    return authTokens[sid].map { "\(sid):\($0)" == text } ?? false
  }
}

extension JSONValue {
  var withLowercaseNames: JSONValue {
    switch self {
    case .array(let values): .array(values.map(\.withLowercaseNames))
    case .object(let members):
      .object(Dictionary(members.map { ($0.key.lowercasedASCII, $0.value.withLowercaseNames) }) { first, _ in first })
    default: self
    }
  }
}
