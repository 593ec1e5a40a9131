import FoundationEssentials
import Hybrid
import Wire

/// Turns a message of the gateway into one for each of its telephone numbers, or says why it is none.
struct GatewayCheck {
  /// What VALIDITY counts from.
  let now: Date

  /// A message to one number.
  struct Item: Sendable {
    /// The number and the reference, as they came.
    let number: String
    let reference: String?
    let result: Result<HybridMessage, GatewayRefusal>
  }

  /// Bytes of UTF-8 of a text; a longer one is cut. Eight SMS hold less, and no push more.
  static let maximumText = 4096

  func items(_ messages: [GatewayRequest.Message]) -> [Item] {
    var items: [Item] = []
    items.reserveCapacity(messages.reduce(0) { $0 + max(1, $1.recipients.count) })
    for message in messages {
      let common = Result { () throws(GatewayRefusal) in try draft(message) }
      if message.recipients.isEmpty {
        items.append(Item(number: "", reference: message.reference, result: .failure(.noNumber)))
      }
      for recipient in message.recipients {
        let result = common.flatMap { draft -> Result<HybridMessage, GatewayRefusal> in
          PhoneNumber(recipient).map { .success(draft.message(to: $0)) } ?? .failure(.badNumber(recipient))
        }
        items.append(Item(number: recipient, reference: message.reference, result: result))
      }
    }
    return items
  }

  /// A message without its number.
  private struct Draft {
    var sender: String
    var text: String
    var coding: HybridMessage.Coding
    var maximumParts: Int
    var reference: String?
    var expiresAt: Date?
    var channels: Set<HybridMessage.Channel>
    var appKey: UUID?
    var kind: HybridMessage.Kind?

    func message(to number: PhoneNumber) -> HybridMessage {
      HybridMessage(
        number: number, sender: sender, text: text, coding: coding, maximumParts: maximumParts, reference: reference,
        expiresAt: expiresAt, channels: channels, appKey: appKey, kind: kind)
    }
  }

  private func draft(_ message: GatewayRequest.Message) throws(GatewayRefusal) -> Draft {
    let sender = try Self.sender(message.sender)
    guard let text = message.text, text.contains(where: { !$0.isWhitespace }) else { throw .noText }
    if let field = message.unreadableField { throw .badField(field, "must be a text without U+0000") }
    let channels = try Self.channels(message.channels)
    let appKey = try Self.appKey(message.appKey)
    if channels == [.push], appKey == nil { throw .badField("appKey", "is needed where allowedChannels is Push alone") }
    let cut = text.cut(to: Self.maximumText)
    let (coding, parts) = (try Self.coding(message), try Self.parts(message))
    do throws(SMSText.Problem) {
      _ = try HybridMessage.sms(cut, coding, maximumParts: parts)
    } catch {
      throw .badText(error)
    }
    return Draft(
      sender: sender, text: cut, coding: coding, maximumParts: parts, reference: try Self.reference(message.reference),
      expiresAt: try expiry(message.validity), channels: channels, appKey: appKey, kind: try Self.kind(message.kind))
  }

  private static func sender(_ field: String?) throws(GatewayRefusal) -> String {
    guard let sender = field.given else { throw .noSender }
    guard SMSAccount.isSender(sender) else { throw .badField("from", SMSAccount.senderRule) }
    return sender
  }

  private static func coding(_ message: GatewayRequest.Message) throws(GatewayRefusal) -> HybridMessage.Coding {
    switch message.textType.given?.lowercasedASCII {
    case nil, "text": break
    case "auto": return .automatic
    case "unicode": return .ucs2
    default: throw .badField("body.type", "must be AUTO, or be left out")
    }
    switch message.coding.given {
    case nil, "0": return .gsm7
    case "8": return .ucs2
    default: throw .badField("dcs", "must be 0 or 8")
    }
  }

  /// The most parts. The least number is only checked: a text has as many parts as it needs.
  private static func parts(_ message: GatewayRequest.Message) throws(GatewayRefusal) -> Int {
    func number(_ field: String?, _ name: String) throws(GatewayRefusal) -> Int? {
      guard let text = field.given else { return nil }
      guard let number = Int(text), (1...8).contains(number) else { throw .badField(name, "must be from 1 to 8") }
      return number
    }
    let least = try number(message.minimumParts, "minimumNumberOfMessageParts")
    let most = try number(message.maximumParts, "maximumNumberOfMessageParts") ?? 8
    guard least ?? 1 <= most else {
      throw .badField("minimumNumberOfMessageParts", "must not be above maximumNumberOfMessageParts")
    }
    return most
  }

  private static func reference(_ field: String?) throws(GatewayRefusal) -> String? {
    guard let reference = field.given else { return nil }
    let isPlain = reference.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "_-.:".utf8.contains(byte)
    }
    guard isPlain, reference.utf8.count <= 32 else {
      throw .badField("reference", "must be 1 to 32 letters and digits; _ - . : are allowed, too")
    }
    return reference
  }

  private func expiry(_ field: String?) throws(GatewayRefusal) -> Date? {
    guard let text = field.given else { return nil }
    guard let end = GatewayValidity.end(text, now: now) else {
      throw .badField(
        "validity", "must be as in 2h, 30m or 2017-04-20 11:50:05 GMT, and no more than 366 days if relative")
    }
    guard end > now else { throw .badField("validity", "is in the past") }
    return end
  }

  private static func channels(_ field: [String]) throws(GatewayRefusal) -> Set<HybridMessage.Channel> {
    var channels: Set<HybridMessage.Channel> = []
    for name in field.map(\.trimmed.lowercasedASCII) where !name.isEmpty {
      guard let channel = HybridMessage.Channel.allCases.first(where: { $0.rawValue.lowercasedASCII == name }) else {
        throw .badField("allowedChannels", "must be SMS or Push")
      }
      channels.insert(channel)
    }
    return channels
  }

  private static func appKey(_ field: String?) throws(GatewayRefusal) -> UUID? {
    guard let text = field.given else { return nil }
    guard let key = UUID(uuidString: text) else { throw .badField("appKey", "must be a GUID") }
    return key
  }

  private static func kind(_ field: String?) throws(GatewayRefusal) -> HybridMessage.Kind? {
    guard let name = field.given?.lowercasedASCII else { return nil }
    guard let kind = HybridMessage.Kind(rawValue: name) else {
      throw .badField("appMessageType", "must be default, otp or critical")
    }
    return kind
  }
}

extension String {
  /// Its beginning, of at most so many bytes of UTF-8, up to the end of a character where one fits.
  fileprivate func cut(to maximum: Int) -> String {
    guard utf8.count > maximum else { return self }
    var end = utf8.index(startIndex, offsetBy: maximum)
    while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    let whole = self[..<end]
    // The last character may have lost a part. One that is longer than all there is room for is split.
    guard end.samePosition(in: self) == nil, let last = whole.indices.last, last > startIndex else {
      return String(whole)
    }
    return String(self[..<last])
  }
}

extension String? {
  /// What was written, without white space around it; nil if that is nothing.
  fileprivate var given: String? {
    guard let text = self?.trimmed, !text.isEmpty else { return nil }
    return String(text)
  }
}
