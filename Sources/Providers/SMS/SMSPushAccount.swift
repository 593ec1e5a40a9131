import FoundationEssentials
import Wire

/// A customer's account at a provider of SMS. A device's token is a telephone number with a plus sign.
///
/// CM takes up to 1,000 messages in a request and answers each for itself. Twilio, and providers with a request of their own form,
/// take one. None has a key that makes a repeated request harmless.
struct SMSPushAccount: PushAccount {
  let customer: CustomerID
  let account: SMSAccount
  /// Where the provider is asked to post its status reports; nil for nowhere.
  let statusURL: String?
  let endpoint: SMSEndpoint
  /// Signs what names a push.
  var sign: @Sendable (SMSReference) -> SMSReference = { $0 }
  /// The PIN of an SMS to that number, of the `SMSText.pinField` that its message has; nil if it is none.
  var pin: @Sendable (PhoneNumber, String) -> String? = { _, _ in nil }

  var service: String {
    switch account.provider {
    case .cm: "CM"
    case .twilio: "Twilio"
    case .http: "SMS provider"
    }
  }
  var environments: [PushEnvironment] { [.production] }
  var exampleToken: String { "+31612345678" }
  var mostRecipients: Int { if case .cm = account.provider { CMRequest.mostMessages } else { 1 } }

  func prepare(_ push: OutgoingPush) -> PreparedPush {
    switch OutgoingSMS.read(push, account: account, pin: pin) {
    case .failure(let refusal): return .refused(refusal.verdict)
    case .success(var sms):
      sms.reference = sign(SMSReference(pushID: push.id)).text
      guard let address = endpoint.address(account.url) else {
        return .refused(.credentialsRefused(reason: .hub(.hostNotAllowed)))
      }
      var request =
        switch account.provider {
        case .cm: CMRequest.unsent(sms)
        case .twilio: TwilioRequest.message(sms, path: address.path, statusURL: statusURL)
        case .http(let template): template.request(sms, path: address.path)
        }
      if sms.text.isCut { request.reductions = .alertShortened }
      request.hasOwnSender = sms.from != account.sender
      request.parts = SMSParts(count: sms.text.parts, most: sms.mostParts)
      return .request(request)
    }
  }

  /// What signs in is masked. A template can hold secrets anywhere, so its text is shown alone.
  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    let address = endpoint.address(account.url).map(ServiceAddress.init)
    let shown: PushRequest
    var scheme: String?
    switch account.provider {
    case .cm: shown = CMRequest.joined([request], productToken: "…", path: path)[0]
    case .twilio: (shown, scheme) = (request, "Basic")
    case .http:
      var masked = PushRequest(headers: RequestHeaders(), body: request.source?.text ?? [])
      masked.headers.add(":path", String(path.prefix { $0 != "?" }))
      shown = masked
    }
    var preview = shown.preview(
      at: address ?? ServiceAddress(host: "localhost", port: 443), authorization: scheme, size: shown.body.count,
      limit: shown.body.count)
    preview.parts = request.parts
    return preview
  }

  private var path: String { endpoint.address(account.url)?.path ?? "/" }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    // Without an address `prepare` refuses every push, so there is none to send.
    guard let address = endpoint.address(account.url) else { return AsyncStream { $0.finish() } }
    if case .cm(let productToken) = account.provider {
      let joined = CMRequest.joined(requests, productToken: productToken, path: address.path)
      return endpoint.send(joined, to: address, as: account, of: customer, while: isWanted)
    }
    return endpoint.send(requests, to: address, as: account, of: customer, while: isWanted)
  }

  /// CM is asked to send nothing to nobody: it checks the product token first. Twilio shows the account itself. Other providers
  /// cannot be asked.
  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    guard let address = endpoint.address(account.url) else { return .refused(reason: .hub(.hostNotAllowed)) }
    switch account.provider {
    case .cm(let productToken):
      let verdict = await endpoint.verdict(
        on: CMRequest.probe(productToken: productToken, path: address.path), to: address, as: account,
        of: customer)
      // It has read the token, and found no message.
      if case .payloadRefused = verdict { return .accepted }
      return CredentialVerdict(dryRun: verdict)
    case .twilio(let accountSID, _):
      let probe = TwilioRequest.account(accountSID)
      return CredentialVerdict(dryRun: await endpoint.verdict(on: probe, to: address, as: account, of: customer))
    case .http:
      return .unasked(reason: "only a message to somebody would show it, since its requests have a form of their own")
    }
  }

  /// Reasons of CM and Twilio begin with a code, as in `101 authentication failed`.
  func advice(on reason: String) -> String? {
    let code = Int64(reason.prefix { $0 != " " })
    let advice: String? =
      switch account.provider {
      case .cm: code.flatMap { CMCode(rawValue: $0) }.flatMap { Self.advice(on: $0) }
      case .twilio: code.flatMap { TwilioCode(rawValue: $0) }.flatMap { Self.advice(on: $0) }
      case .http: nil
      }
    return advice ?? Self.adviceOnStatus(reason)
  }

  static func advice(on code: CMCode) -> String? {
    switch code {
    case .authenticationFailed, .keyIncorrect:
      "Compare the product token with the one in CM's Channels app, under Gateway."
    case .balanceInsufficient: "Top up the account at CM."
    default: nil
    }
  }

  static func advice(on code: TwilioCode) -> String? {
    switch code {
    case .authenticationFailed: "Compare the Account SID and the Auth Token with Twilio's console."
    case .senderMissing, .senderNotYours:
      "Set a sender that belongs to the account: `pushcart sms set --sender`."
    case .trialLimit: "A trial account sends to verified numbers only: upgrade it in Twilio's console."
    default: nil
    }
  }

  private static func adviceOnStatus(_ reason: String) -> String? {
    switch reason {
    case HubReason.hostNotAllowed.rawValue:
      "The address must be one of the internet, or at a host that PUSHCART_SMS_ALLOWED_HOSTS names."
    case "HTTP401", "HTTP403": "The provider does not take the sign-in: set it anew with `pushcart sms set`."
    case _ where reason.hasPrefix("HTTP"): "The address is not the provider's: set it with `pushcart sms set --url`."
    default: nil
    }
  }
}

/// An SMS as providers take it.
struct OutgoingSMS: Sendable {
  var to: PhoneNumber
  var from: String
  var text: SMSText
  var coding: SMSCoding
  /// Names the push in status reports.
  var reference: String
  /// Seconds for which the provider tries; nil for as long as it likes.
  var validity: Int?
  /// The most parts that the text may have.
  var mostParts = SMSText.mostParts

  struct Refusal: Error {
    var verdict: Verdict
  }

  /// - Returns: or why the push cannot be an SMS.
  static func read(
    _ push: OutgoingPush, account: SMSAccount, pin: (PhoneNumber, String) -> String?
  ) -> Result<OutgoingSMS, Refusal> {
    func refuse(_ reason: String) -> Result<OutgoingSMS, Refusal> {
      .failure(Refusal(verdict: .payloadRefused(reason: reason)))
    }
    guard let number = PhoneNumber(push.token) else {
      return .failure(Refusal(verdict: .tokenInvalid(.unregistered, since: nil, reason: .hub(.noNumber))))
    }
    let override = push.message.override("sms")
    let from = override?["from"]?.text ?? account.sender
    guard SMSAccount.isSender(from) || account.isMessagingService(from) else {
      return refuse(.hub(.badOverride, "from"))
    }
    var content = override?["text"]?.text ?? [push.message.alert, push.message.info].compactMap(text).first ?? ""
    guard !content.isEmpty else { return refuse(.hub(.noText)) }
    if let source = push.message.fields.first(where: { $0.name == pinField }).flatMap({ text($0.value) }) {
      guard let pin = pin(number, source) else { return refuse(.hub(.noPIN)) }
      content = content.replacing("{{pin}}", with: pin)
    }
    var parts = SMSText.mostParts
    if let number = override?["maximumParts"]?.integer { parts = min(max(1, Int(number)), parts) }
    let coding = override?["coding"]?.text.flatMap(SMSCoding.init(rawValue:)) ?? .auto
    let sms: SMSText
    do throws(SMSText.Problem) {
      sms = try SMSText(content, coding: coding, maximumParts: parts)
    } catch {
      return refuse(error.reason)
    }
    return .success(
      OutgoingSMS(
        to: number, from: from, text: sms, coding: coding,
        reference: SMSReference(pushID: push.id).text,
        validity: push.lifetime.map { max(1, $0.seconds) }, mostParts: parts))
  }

  private static let pinField = JSONText.quoted(SMSText.pinField)

  private static func text(_ json: [UInt8]?) -> String? {
    json.flatMap { (try? JSONValue(json: $0, rules: .own))?.text }.flatMap { $0.isEmpty ? nil : $0 }
  }
}

extension SMSReference {
  /// Of the id that Delivery gives a push: its numbers, as a UUID of version 8.
  init(pushID: UUID) {
    let (high, low) = withUnsafeBytes(of: pushID.uuid) {
      (
        UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    self.init(
      sendout: SendoutID(Int64((high & 0xFFF) << 30 | low >> 32 & 0x3FFF_FFFF)),
      push: PushNumber(Int64(low & 0xFFFF_FFFF)))
  }
}

extension SMSAccount {
  /// Whether the sender is one of Twilio's messaging services, which choose the number themselves.
  func isMessagingService(_ sender: String) -> Bool {
    guard case .twilio = provider else { return false }
    return SMSAccount.isMessagingService(sender)
  }
}

extension SMSText {
  /// Why an override cannot be sent. Texts with tags are not looked into.
  static func problem(in override: SMSOverride) -> OverrideProblem? {
    if let from = override.from, !from.contains("{{"), !SMSAccount.isSender(from), !SMSAccount.isMessagingService(from)
    {
      return OverrideProblem(field: "sms.from", problem: SMSAccount.senderRule)
    }
    if let parts = override.maximumParts, !(1...mostParts).contains(parts) {
      return OverrideProblem(field: "sms.maximumParts", problem: "must be 1 to \(mostParts)")
    }
    if let text = override.text, !text.contains("{{") {
      do throws(Problem) {
        _ = try SMSText(text, coding: override.coding ?? .auto, maximumParts: override.maximumParts ?? mostParts)
      } catch {
        return OverrideProblem(field: "sms.text", problem: error.problem)
      }
    }
    return nil
  }
}

extension ServiceTable {
  /// A text is cut to the parts that it may have.
  static let sms = ServiceTable(
    reasons: [.cm, .twilio], accessTokens: nil,
    overrides: .members([
      "from": .text, "text": .text, "coding": .text, "maximumParts": .number, "reference": .text,
    ]), problem: { $0.sms.flatMap(SMSText.problem(in:)) }, payloadSize: { _ in (0, 0) })
}

extension ServiceReasons {
  fileprivate static let cm = ServiceReasons(
    service: "SMS by CM",
    reasons: CMCode.allCases.filter { $0 != .ok }.map { code in
      Reason(
        name: code.reason, verdict: code.verdict(retryAfter: nil, at: .distantPast),
        advice: SMSPushAccount.advice(on: code))
    })

  fileprivate static let twilio = ServiceReasons(
    service: "SMS by Twilio",
    reasons: TwilioCode.allCases.map { code in
      Reason(
        name: code.reason, verdict: code.verdict(hasOwnSender: false, retryAfter: nil, at: .distantPast),
        advice: SMSPushAccount.advice(on: code))
    })
}
