import Content
import FoundationEssentials
import Registry
import Wire

/// What the verbs of the gateway mean.
enum Verb {
  static let text = "NotifyTextMessage"
  static let genericText = "NotifyGenericTextMessage"
  static let call = "NotifyIncomingCall"
  static let missedCall = "NotifyIncomingCallMissed"
  static let answeredElsewhere = "NotifyIncomingCallAnsweredElsewhere"

  /// Verbs that mean nothing after half a minute.
  static let ofCalls: Set<String> = [call, missedCall, answeredElsewhere]
  /// Seconds that a push of theirs lives.
  static let callTTL = 30

  /// Kinds of content that only the app reads.
  static let silentContentTypes: Set<String> = [
    "application/im-iscomposing+xml", "message/imdn+xml", "application/conference-info+xml", "application/pidf+xml",
    "application/simple-message-summary",
  ]
}

extension SoftphonePush {
  /// What the push says. Nothing in it is a template. Android gets data alone, which the app shows.
  /// - Throws: `SoftphoneRefusal`.
  func message(for app: PushApp) throws(SoftphoneRefusal) -> MessageBody {
    if verb == Verb.call, app.type == .ios, app.kind != .pushkit {
      throw SoftphoneRefusal(sentence: "AppId is not the PushKit AppId, which \(Verb.call) needs on iOS.")
    }
    var message = MessageBody(verbatim: true, silent: true, fields: fields, trackOpens: false)
    let isSilent = try isSilentContent
    message.priority = isSilent ? .normal : .high
    if Verb.ofCalls.contains(verb) { message.ttl = Verb.callTTL }
    let text = try Self.text("Message", of: attributes)
    if verb == Verb.genericText, text == nil {
      // There is nothing to show; the old service asks for no Message.
      if isForm { return message }
      throw SoftphoneRefusal(sentence: "Message is missing: \(verb) shows it.")
    }
    guard app.type == .ios, app.kind != .pushkit, !isSilent else { return message }
    switch verb {
    case Verb.genericText:
      message.alert = text
      message.sound = try Self.text("Sound", of: attributes)
      message.silent = nil
    case Verb.text: try show(text, in: &message)
    default: break
    }
    if message.alert != nil, text != nil { message.optionalFields = ["Message"] }
    return message
  }

  /// A text's preview, which iOS shows though it may not start the app. It is told to start it nevertheless.
  private func show(_ text: String?, in message: inout MessageBody) throws(SoftphoneRefusal) {
    let names = (try Self.text("UserDisplayName", of: attributes), try Self.text("UserName", of: attributes))
    let name = names.0 ?? names.1
    message.alert = name ?? text
    message.info = name == nil ? nil : text
    message.badge = try badge
    message.sound = try Self.text("Sound", of: attributes)
    message.threadId = try Self.text("ThreadId", of: attributes)
    guard message.alert != nil || message.badge != nil || message.sound != nil else { return }
    message.silent = nil
    message.overrides = MessageOverrides(apns: APNsOverride(payload: ["aps": ["content-available": 1]]))
  }

  private var badge: Badge? {
    get throws(SoftphoneRefusal) {
      let number: Int64?
      switch attributes["Badge"] {
      case nil, .string(""): return nil
      case .number(let value): number = value.integer
      case .string(let text): number = Int64(text)
      default: number = nil
      }
      guard let number, (0...Int64(Int32.max)).contains(number) else {
        throw SoftphoneRefusal(sentence: "Badge must be a whole number from 0 to \(Int32.max).")
      }
      return .number(Int(number))
    }
  }

  private var isSilentContent: Bool {
    get throws(SoftphoneRefusal) {
      guard verb == Verb.text, let type = try Self.text("ContentType", of: attributes) else { return false }
      let media = type.prefix { $0 != ";" }.filter { !$0.isWhitespace }
      return Verb.silentContentTypes.contains(media.lowercasedASCII)
    }
  }

  /// What the app reads: the keys of the vendor's notification reporter, and every attribute under its own name. One whose name the hub
  /// writes itself, or FCM refuses, has `x-` before it.
  private var fields: [UTF8String: JSONValue] {
    var fields: [UTF8String: JSONValue] = [:]
    var attributes = attributes
    let account = selector.map(JSONValue.string)
    switch verb {
    case Verb.text: fields["sm"] = account
    case Verb.call:
      fields["s"] = account
      fields["c"] = attributes.removeValue(forKey: "Callee") ?? attributes.removeValue(forKey: "c")
    case Verb.missedCall: fields["s_missed"] = account
    default:
      fields["type"] = .string(verb)
      fields["Selector"] = account
    }
    // Without an account, which the old service does not ask for, nothing else would tell what it is.
    if account == nil { fields["type"] = .string(verb) }
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
      var free = name
      while fields[free] != nil || free != name && attributes[free] != nil || Self.isTaken(free) {
        free = UTF8String("x-\(free)")
      }
      fields[free] = value
    }
    return fields
  }

  private static func isTaken(_ name: UTF8String) -> Bool {
    MessageTemplate.reservedFields.contains(name) || FCMDataName.isReserved(name.text)
  }
}
