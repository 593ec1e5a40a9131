import FoundationEssentials
public import Wire

/// A call that speaks a code to a number.
public struct VoiceCall: Sendable {
  public var to: PhoneNumber
  /// What is said; `{{pin}}` stands for the code.
  public var text: String
  /// Digits, which are spoken one by one.
  public var code: String
  /// As in `nl-NL`.
  public let language: String

  /// - Parameter language: two letters, as in `nl`, or with a region; English where it is neither, or nil.
  public init(to: PhoneNumber, text: String, code: String, language: String?) {
    self.to = to
    self.text = text
    self.code = code
    let word = language ?? ""
    self.language = word.contains("-") ? word : Self.regions[word.lowercasedASCII] ?? "en-GB"
  }

  /// The languages that CM speaks.
  private static let regions = [
    "de": "de-DE", "en": "en-GB", "es": "es-ES", "fr": "fr-FR", "it": "it-IT", "ja": "ja-JP", "nl": "nl-NL",
  ]

  /// The text with the digits of the code apart, so that they are not spoken as one number.
  var spoken: String { text.replacing("{{pin}}", with: code.map(String.init).joined(separator: ", ")) }
}

extension PushServices {
  /// Makes a call.
  /// - Returns: the provider's verdict; nil if the account makes no calls, or its address is not allowed.
  public func call(_ call: VoiceCall, as account: SMSAccount, of customer: CustomerID) async -> Verdict? {
    guard let address = sms.address(account.voiceURL) else { return nil }
    let request: PushRequest
    switch account.provider {
    case .cm(let productToken): request = CMVoice.request(call, account.sender, productToken, path: address.path)
    case .twilio:
      request = TwilioRequest.call(
        to: call.to, from: account.sender, twiml: Self.twiml(call), path: address.path)
    case .http: return nil
    }
    return await sms.verdict(on: request, to: address, as: account, of: customer, isVoice: true)
      ?? .unsent(reason: .hub(.cancelled))
  }

  /// Said twice.
  static func twiml(_ call: VoiceCall) -> [UInt8] {
    XMLText.element("Response") { xml in
      xml.element("Say", ["language": call.language, "loop": "2"]) { $0.append(call.spoken) }
    }
  }
}

/// Calls by CM's voice OTP, which speaks an introduction and then the code.
enum CMVoice {
  static func request(_ call: VoiceCall, _ caller: String, _ productToken: String, path: String) -> PushRequest {
    let introduction = call.text.replacing("{{pin}}", with: "").split(separator: " ").joined(separator: " ")
    let body = JSONValue.object([
      "caller": .string(caller), "callee": .string(call.to.international), "code": .string(call.code),
      "intro-prompt": .string(introduction), "intro-prompt-type": "TTS", "max-replays": 2, "auto-replay": true,
      "voice": ["language": .string(call.language), "gender": "Female", "number": 1],
    ]).json
    var headers = RequestHeaders()
    headers.add(":path", path)
    headers.add("content-type", "application/json")
    headers.add("x-cm-producttoken", productToken, .never)
    headers.add("content-length", String(body.count), .changing)
    return PushRequest(headers: headers, body: body)
  }
}

extension ResponseClassification {
  /// A reply says `"success": true` of a call that was taken.
  init(cmVoice response: ServiceResponse) {
    let body = (try? JSONValue(json: response.body))?.withLowercaseNames
    switch (response.status, body?["success"]) {
    case (200..<300, .bool(true)): self.init(verdict: .accepted)
    case (200..<300, .bool(false)): self.init(verdict: .payloadRefused(reason: "NotPlaced"))
    default: self.init(smsStatus: response)
    }
  }
}
