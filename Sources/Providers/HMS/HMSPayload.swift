import Wire

/// A message in Push Kit's form (Huawei, "Push Kit Server", REST v1 and v2), with the fields of Carma's guide as JSON in `data`.
///
/// With an alert it is a notification, which the phone shows by itself. Without one it is a data message, which the app gets.
enum HMSPayload {
  /// Most bytes that Push Kit takes in a body, tokens aside.
  static let limit = 4096

  private static let end: [UInt8] = Array("]}}".utf8)

  /// The body up to the first token. It is the same for all devices that get the same message.
  ///
  /// The urgency is NORMAL whatever the message's priority: HIGH needs Huawei's permission, and is refused without it.
  /// - Parameter ttl: in seconds; `nil` leaves it to Push Kit, which keeps a message for a day.
  static func opening(
    _ message: RenderedMessage, collapseKey: String? = nil, ttl: Int? = nil, validateOnly: Bool = false
  ) -> [UInt8] {
    var json = JSONObjectText(capacity: 1536)
    json.append("validate_only", Array((validateOnly ? "true" : "false").utf8))
    json.beginObject("message")
    json.append("data", JSONText.quoted(String(decoding: message.fieldsAsJSON, as: UTF8.self)))
    json.beginObject("android")
    json.append("collapse_key", collapseKey.map { Array(String(group(of: $0)).utf8) })
    json.append("urgency", Array("\"NORMAL\"".utf8))
    json.append("ttl", ttl.map { Array("\"\($0)s\"".utf8) })
    if let alert = message.alert {
      json.beginObject("notification")
      // Push Kit wants both, so the alert has to be both where it is alone.
      json.append("title", alert)
      json.append("body", message.info ?? alert)
      json.beginObject("click_action")
      json.append("type", Array("3".utf8))
      json.endObject()
      json.append("tag", collapseKey.map(JSONText.quoted))
      json.append("sound", message.sound)
      // Without a sound of its own, the default one has to be asked for.
      json.append("default_sound", message.sound == nil ? Array("true".utf8) : nil)
      json.endObject()
    }
    json.endObject()
    return json.bytes + Array(",\"token\":[".utf8)
  }

  /// The body for these tokens, each a JSON string.
  static func body(_ opening: [UInt8], tokens: some Sequence<[UInt8]>) -> [UInt8] {
    var body = opening
    for token in tokens {
      if body.last != UInt8(ascii: "[") { body.append(UInt8(ascii: ",")) }
      body += token
    }
    return body + end
  }

  /// The body's size as Push Kit counts it.
  static func size(_ message: RenderedMessage) -> Int { opening(message).count + end.count }

  /// The same of a body that has begun.
  static func size(opening: [UInt8]) -> Int { opening.count + end.count }

  /// A group from 1 to 100, of which an offline phone keeps the newest message. Push Kit takes no words; what is shown is replaced by
  /// the tag, which is the key itself.
  static func group(of collapseKey: String) -> Int {
    Int(CollapseKeyHash.value(collapseKey) % 100) + 1
  }
}
