import Wire

/// A message in Push Kit's form (Huawei, "Push Kit Server", REST v1 and v2), with the fields of Carma's guide as JSON in `data`.
///
/// With an alert it is a notification, which the phone shows by itself. Without one, and if it is silent, it is a data message, which
/// the app gets.
///
/// Only a message with a key of its own has a `collapse_key`. Without one, Push Kit keeps every message for a phone that is away.
enum HMSPayload {
  /// Most bytes that Push Kit takes in a body, tokens aside.
  static let limit = 4096

  private static let end: [UInt8] = Array("]}}".utf8)

  /// The body up to the first token. It is the same for all devices that get the same message.
  ///
  /// The urgency is NORMAL whatever the message's priority: HIGH needs Huawei's permission, and is refused without it.
  /// - Parameters:
  ///   - tag: what is shown replaces what was shown with it.
  ///   - ttl: in seconds; `nil` leaves it to Push Kit, which keeps a message for a day.
  static func opening(
    _ message: RenderedMessage, tag: String? = nil, ttl: Int? = nil, validateOnly: Bool = false
  ) -> [UInt8] {
    var json = JSONObjectText(capacity: 1536)
    json.append("validate_only", Array((validateOnly ? "true" : "false").utf8))
    json.beginObject("message")
    let data = message.literalData?.json ?? message.fieldsAsJSON
    json.append("data", JSONText.quoted(String(decoding: data, as: UTF8.self)))
    json.beginObject("android")
    json.append("collapse_key", message.collapseKey.map { Array(String(group(of: $0)).utf8) })
    json.append("urgency", Array("\"NORMAL\"".utf8))
    json.append("ttl", ttl.map { Array("\"\($0)s\"".utf8) })
    if message.literalData == nil, let alert = message.shownAlert {
      json.beginObject("notification")
      // Push Kit wants both, so the alert has to be both where it is alone.
      json.append("title", alert)
      json.append("body", message.info ?? alert)
      json.beginObject("click_action")
      json.append("type", Array("3".utf8))
      json.endObject()
      json.append("image", message.image)
      json.append("tag", tag.map(JSONText.quoted))
      json.append("group", message.threadID)
      json.append("sound", message.sound)
      // Without a sound of its own, the default one has to be asked for.
      json.append("default_sound", message.sound == nil ? Array("true".utf8) : nil)
      json.endObject()
    }
    json.endObject()
    guard let patch = message.override("hms") else { return json.bytes + tokens }
    return overridden(json.bytes, patch)
  }

  private static let tokens: [UInt8] = Array(",\"token\":[".utf8)

  /// The opening with an override. The tokens stay last, so members of equal content have equal bytes up to there.
  private static func overridden(_ opening: [UInt8], _ patch: JSONValue) -> [UInt8] {
    guard case .object(var body) = try? JSONValue(json: opening + Array("}}".utf8), rules: .own) else {
      return opening + tokens
    }
    let message = (body.removeValue(forKey: "message") ?? [:]).merging(patch).json
    var bytes = JSONValue.object(body).json
    bytes[bytes.count - 1] = UInt8(ascii: ",")
    bytes += Array("\"message\":".utf8) + message.dropLast()
    return bytes + (message.count > 2 ? tokens[...] : tokens.dropFirst())
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

  /// The size of a body that has begun.
  static func size(opening: [UInt8]) -> Int { opening.count + end.count }

  /// A group from 1 to 100, of which an offline phone keeps the newest message. Push Kit takes no words; what is shown is replaced by
  /// the tag, which is the key itself.
  static func group(of collapseKey: String) -> Int {
    Int(CollapseKeyHash.value(collapseKey) % 100) + 1
  }
}

extension OverrideShape {
  /// The members of Push Kit's `message` but for its target (Huawei, "Push Kit Server", downlink messages).
  static let hms = OverrideShape.members([
    "data": .text, "notification": .texts("title", "body", "image"),
    "android": .members([
      "collapse_key": .number, "urgency": .text, "category": .text, "ttl": .text, "bi_tag": .text,
      "fast_app_target": .number, "receipt_id": .text, "target_user_type": .number, "data": .text,
      "notification": .members(hmsNotification),
    ]),
    "apns": .members(["headers": .texts, "payload": .object, "hms_options": .object]),
    "webpush": .members(["headers": .texts, "notification": .object, "hms_options": .object]),
  ])

  private static let hmsNotification: [String: OverrideShape] = [
    "title": .text, "body": .text, "icon": .text, "color": .text, "sound": .text, "default_sound": .flag, "tag": .text,
    "body_loc_key": .text, "body_loc_args": .list, "title_loc_key": .text, "title_loc_args": .list,
    "channel_id": .text, "notify_summary": .text, "image": .text, "style": .number, "big_title": .text,
    "big_body": .text, "inbox_content": .list, "notify_id": .number, "group": .text, "ticker": .text, "when": .text,
    "importance": .text, "use_default_vibrate": .flag, "use_default_light": .flag, "vibrate_config": .list,
    "visibility": .text, "light_settings": .object, "foreground_show": .flag, "profile_id": .text, "buttons": .list,
    "badge": .members(["add_num": .number, "set_num": .number, "class": .text]),
    "click_action": .members(["type": .number, "intent": .text, "url": .text, "action": .text]),
  ]
}
