/// A customer's account at its provider of SMS.
public struct SMSAccount: Sendable, Hashable, Codable {
  public var provider: SMSProvider
  /// The full address that messages are posted to, such as `https://gw.messaging.cm.com/v1.0/message`.
  public var url: String
  /// The full address that calls are posted to; nil if it makes none.
  public var voiceURL: String?
  /// Of messages that name none; see `isSender`.
  public var sender: String

  public init(provider: SMSProvider, url: String, voiceURL: String? = nil, sender: String) {
    self.provider = provider
    self.url = url
    self.voiceURL = voiceURL
    self.sender = sender
  }

  /// What signs in, which is a secret; its hash tells two accounts apart.
  public var signIn: String {
    switch provider {
    case .cm(let productToken): productToken
    case .twilio(let accountSID, let authToken): "\(accountSID)\n\(authToken)"
    case .http(let template): template.signIn
    }
  }
}

/// How a provider of SMS is spoken to.
public enum SMSProvider: Sendable, Hashable, Codable {
  /// CM Business Messaging, in JSON.
  case cm(productToken: String)
  case twilio(accountSID: String, authToken: String)
  /// Any other, by a request of its own form.
  case http(SMSRequestTemplate)

  /// As commands and requests name it.
  public var kind: SMSProviderKind {
    switch self {
    case .cm: .cm
    case .twilio: .twilio
    case .http: .http
    }
  }
}

public enum SMSProviderKind: String, Codable, Sendable, CaseIterable, SchemaProviding { case cm, twilio, http }

/// The request for one SMS at a provider that has no form of ours, and what its response says.
///
/// `{to}` (digits in 00 form), `{to_plus}` (with a plus sign), `{from}`, `{text}` and `{reference}` stand for the values of a message,
/// escaped as the content type asks for.
public struct SMSRequestTemplate: Sendable, Hashable, Codable {
  public enum ContentType: String, Sendable, Hashable, Codable, CaseIterable {
    case json, form, xml
    /// The body is what follows the question mark of the address.
    case query
  }

  /// GET or POST.
  public var method: String?
  public var headers: [String: String]?
  public var contentType: ContentType
  public var body: String
  /// Statuses of a message that was taken; those from 200 to 299 if absent.
  public var successStatuses: [Int]?
  /// Names that lead to a member of the response's JSON, as in `messages.0.status`, which has to be there.
  public var successPath: String?
  /// The value that it has to have, as a text; any but false and null if absent.
  public var successValue: String?
  /// Statuses after which the message is sent again later; 408, 425, 429 and those from 500 on if absent.
  public var temporaryStatuses: [Int]?

  public init(
    method: String? = nil, headers: [String: String]? = nil, contentType: ContentType, body: String,
    successStatuses: [Int]? = nil, successPath: String? = nil, successValue: String? = nil,
    temporaryStatuses: [Int]? = nil
  ) {
    self.method = method
    self.headers = headers
    self.contentType = contentType
    self.body = body
    self.successStatuses = successStatuses
    self.successPath = successPath
    self.successValue = successValue
    self.temporaryStatuses = temporaryStatuses
  }

  var signIn: String {
    ((headers ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" } + [body]).joined(separator: "\n")
  }
}

extension SMSAccount: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The provider, and who signs in, never with what.
  public var description: String {
    switch provider {
    case .cm: "cm"
    case .twilio(let accountSID, _): "twilio/\(accountSID)"
    case .http: "http"
    }
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["account": description]) }
}

extension SMSProvider: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Its kind; what signs in is never printed.
  public var description: String { kind.rawValue }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["kind": kind.rawValue]) }
}

extension SMSRequestTemplate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Its content type; headers and body can hold secrets.
  public var description: String { contentType.rawValue }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["contentType": contentType.rawValue]) }
}

extension SMSAccount {
  /// What `isSender` takes, in the words of all documents.
  public static let senderForm = "up to 11 printable ASCII characters, or up to 16 digits"
  /// What `isSender` takes, as the end of a sentence.
  public static let senderRule = "must be \(senderForm)"

  /// Whether an SMS can come from it: 1 to 11 printable characters of ASCII without blanks around them, or 1 to 16 digits. A plus sign
  /// may be before these.
  public static func isSender(_ text: String) -> Bool {
    let digits = text.hasPrefix("+") ? text.dropFirst() : text[...]
    if (1...16).contains(digits.utf8.count), digits.utf8.allSatisfy(isDigit) { return true }
    return (1...11).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      && text.utf8.first != 0x20 && text.utf8.last != 0x20
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

extension SMSAccount {
  /// Whether it names one of Twilio's messaging services: MG and 32 hexadecimal digits.
  public static func isMessagingService(_ text: String) -> Bool {
    text.utf8.count == 34 && text.hasPrefix("MG")
      && text.utf8.dropFirst(2).allSatisfy { isDigit($0) || isHexLetter($0) }
  }

  private static func isHexLetter(_ byte: UInt8) -> Bool { (0x41...0x46).contains(byte & ~0x20) }
}
