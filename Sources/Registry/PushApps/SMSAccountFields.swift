import FoundationEssentials
public import Wire

extension SMSAccount {
  /// What the owner of an account at a provider of SMS gave, checked.
  /// - Parameter rule: where its addresses may lead.
  /// - Throws: `RegistryError.invalid` with the field's name.
  public init(_ request: SMSSettingsRequest, _ rule: EndpointRule) throws(RegistryError) {
    try Self.checkFields(of: request)
    let provider: SMSProvider
    switch request.provider {
    case .cm: provider = .cm(productToken: try Self.secret(request.productToken, "productToken"))
    case .twilio:
      let sid = try Self.secret(request.accountSid, "accountSid")
      guard sid.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & ~0x20) }) else {
        throw .invalid(field: "accountSid", problem: "holds a character other than letters and digits")
      }
      provider = .twilio(accountSID: sid, authToken: try Self.secret(request.authToken, "authToken"))
    case .http:
      guard let template = request.template else { throw .invalid(field: "template", problem: "is missing") }
      provider = .http(try SMSRequestTemplate(template))
    }
    guard let url = request.url ?? provider.usualURL else {
      throw .invalid(field: "url", problem: "is missing: give the full address that messages are posted to")
    }
    self.init(provider: provider, url: url, voiceURL: request.voiceUrl, sender: request.sender)
    try Self.check(url, rule, "url")
    if let voiceURL { try Self.check(voiceURL, rule, "voiceUrl") }
    guard Self.isSender(sender) || request.provider == .twilio && Self.isMessagingService(sender) else {
      throw .invalid(field: "sender", problem: Self.senderRule)
    }
  }

  private static func checkFields(of request: SMSSettingsRequest) throws(RegistryError) {
    let fields: [(name: String, isGiven: Bool, provider: SMSProviderKind)] = [
      ("productToken", request.productToken != nil, .cm), ("accountSid", request.accountSid != nil, .twilio),
      ("authToken", request.authToken != nil, .twilio), ("template", request.template != nil, .http),
    ]
    if let misplaced = fields.first(where: { $0.isGiven && $0.provider != request.provider }) {
      throw .invalid(
        field: misplaced.name, problem: "belongs to the provider \(misplaced.provider.rawValue), and not to this one")
    }
    if request.voiceUrl != nil, request.provider == .http {
      throw .invalid(field: "voiceUrl", problem: "belongs to the providers cm and twilio, and not to this one")
    }
  }

  private static func secret(_ text: String?, _ field: String) throws(RegistryError) -> String {
    let trimmed = String((text ?? "").filter { !$0.isWhitespace })
    guard !trimmed.isEmpty else { throw .invalid(field: field, problem: "is missing") }
    guard trimmed.utf8.count <= 200, trimmed.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
      throw .invalid(field: field, problem: "is no token: give it alone, as the provider's console shows it")
    }
    return trimmed
  }

  private static func check(_ url: String, _ rule: EndpointRule, _ field: String) throws(RegistryError) {
    do throws(JSONProblem) {
      _ = try SMSAddress(url: url, rule)
    } catch {
      throw .invalid(field: field, problem: error.problem)
    }
  }
}

extension SMSProvider {
  /// Where the provider takes messages; nil if that is everywhere else.
  fileprivate var usualURL: String? {
    switch self {
    case .cm: "https://gw.messaging.cm.com/v1.0/message"
    case .twilio(let accountSID, _): "https://api.twilio.com/2010-04-01/Accounts/\(accountSID)/Messages.json"
    case .http: nil
    }
  }
}

extension SMSRequestTemplate {
  private static let longestBody = 8192
  /// Headers that belong to the connection, which no template can set.
  private static let ownHeaders: Set = ["host", "content-length", "connection", "transfer-encoding", "upgrade", "te"]

  fileprivate init(_ value: JSONValue) throws(RegistryError) {
    func refuse(_ problem: String) -> RegistryError { .invalid(field: "template", problem: problem) }
    let known: Set<UTF8String> = [
      "method", "headers", "contentType", "body", "successStatuses", "successPath", "successValue", "temporaryStatuses",
    ]
    guard case .object(let members) = value else { throw refuse("is no JSON object") }
    if let unknown = members.keys.sorted().first(where: { !known.contains($0) }) {
      throw refuse("has a member \(unknown.text.prefix(50)), which has no meaning")
    }
    guard let template = try? JSONCoding.decode(Self.self, from: value.json) else {
      throw refuse("needs contentType (json, form, xml or query) and body, and has other members of the wrong type")
    }
    self = template
    guard [nil, "get", "post"].contains(method?.lowercasedASCII) else {
      throw refuse("has a method other than GET and POST")
    }
    guard method?.lowercasedASCII != "get" || contentType == .query else {
      throw refuse("has the method GET, which goes with the contentType query only")
    }
    guard (1...Self.longestBody).contains(body.utf8.count), !body.unicodeScalars.contains("\0") else {
      throw refuse("has a body that is empty, or longer than \(Self.longestBody) bytes")
    }
    guard contentType != .query || body.utf8.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != 0x23 }) else {
      throw refuse("has a query with a blank, or another character that no address has")
    }
    guard body.contains("{text}"), body.contains("{to}") || body.contains("{to_plus}") else {
      throw refuse("has a body without {text}, or without {to} and {to_plus}")
    }
    for (name, value) in headers ?? [:] {
      let isName =
        (1...100).contains(name.utf8.count)
        && name.utf8.allSatisfy {
          (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & ~0x20) || $0 == 0x2D || $0 == 0x5F
        }
      guard isName, !Self.ownHeaders.contains(name.lowercasedASCII) else {
        throw refuse("has the header \(name.prefix(50)), which cannot be set")
      }
      guard (1...1024).contains(value.utf8.count), value.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
        throw refuse("has a header \(name) that is not 1 to 1024 characters of printable ASCII")
      }
    }
    if contentType == .json {
      var sample = body
      for name in ["to", "to_plus", "from", "text", "reference"] { sample = sample.replacing("{\(name)}", with: "0") }
      guard (try? JSONValue(json: Array(sample.utf8))) != nil else { throw refuse("has a body that is no JSON") }
    }
  }
}
