import Wire

/// The body of a `messages:send`, read as Push Kit reads it.
struct HMSMessage: Sendable {
  /// The fields of `message`.
  private(set) var fields: [UTF8String: JSONValue] = [:]
  private(set) var tokens: [String] = []
  private(set) var validateOnly = false
  /// Why the body is refused.
  private(set) var refusal: SimulatedHMS.Refusal?

  init(_ body: [UInt8]) {
    guard let json = try? OrderedJSON(body) else {
      refusal = .code("80100003", message: "The body is not JSON.")
      return
    }
    var reader = FCMBodyReader()
    let root = reader.read(json, as: Self.schema, at: "")
    if case .object(let fields) = root?["message"] { self.fields = fields }
    if case .array(let tokens) = fields["token"] { self.tokens = tokens.compactMap(\.string) }
    validateOnly = root?["validate_only"] == true
    if let violation = reader.violations.first {
      refusal = .code("80100003", message: violation.description)
    } else {
      refusal = targetRefusal ?? sizeRefusal(body) ?? androidRefusal
    }
  }

  /// Members and their types. Push Kit's names are in snake_case, as FCM's are.
  private static let schema = FCMField.message(["validate_only": .bool, "message": .message(message)])

  private static let message: [String: FCMField] = [
    "token": .list(.string), "topic": .string, "condition": .string, "data": .string,
    "notification": .message(["title": .string, "body": .string, "image": .string]),
    "android": .message(android), "apns": .object, "webpush": .object,
  ]

  private static let android: [String: FCMField] = [
    "collapse_key": .integer, "urgency": .choice("Urgency", ["HIGH", "NORMAL"]), "ttl": .string, "bi_tag": .string,
    "category": .choice(
      "Category",
      [
        "IM", "VOIP", "SUBSCRIPTION", "TRAVEL", "HEALTH", "WORK", "ACCOUNT", "EXPRESS", "FINANCE", "DEVICE_REMINDER",
        "MAIL", "PLAY_VOICE", "MARKETING",
      ]),
    "fast_app_target": .integer, "receipt_id": .string, "target_user_type": .integer, "data": .string,
    "notification": .message(notification),
  ]

  private static let notification: [String: FCMField] = [
    "title": .string, "body": .string, "icon": .string, "color": .color, "sound": .string, "default_sound": .bool,
    "tag": .string, "body_loc_key": .string, "body_loc_args": .list(.string), "title_loc_key": .string,
    "title_loc_args": .list(.string), "channel_id": .string, "notify_summary": .string, "image": .string,
    "style": .integer, "big_title": .string, "big_body": .string, "inbox_content": .list(.string),
    "notify_id": .integer, "group": .string, "ticker": .string, "when": .string, "foreground_show": .bool,
    "importance": .choice("Importance", ["LOW", "NORMAL"]), "use_default_vibrate": .bool, "use_default_light": .bool,
    "vibrate_config": .list(.string), "visibility": .string, "light_settings": .object, "profile_id": .string,
    "buttons": .list(.object),
    "badge": .message(["add_num": .integer, "set_num": .integer, "class": .string]),
    "click_action": .message(["type": .integer, "intent": .string, "url": .string, "action": .string]),
  ]
}

// MARK: - What the fields may hold

extension HMSMessage {
  /// Most tokens of a message.
  private static let mostTokens = 1000
  /// Most bytes of a body without its tokens.
  private static let limit = 4096

  private var targetRefusal: SimulatedHMS.Refusal? {
    let targets = ["token", "topic", "condition"].filter { fields[$0] != nil }
    guard targets.count == 1 else {
      return .code("80100001", message: "Exactly one of token, topic and condition must be set.")
    }
    guard targets == ["token"] else { return nil }
    if tokens.isEmpty || tokens.contains("") { return .code("80100001", message: "The token is empty.") }
    return tokens.count > Self.mostTokens
      ? .code("80300010", message: "The number of tokens exceeds \(Self.mostTokens).") : nil
  }

  private func sizeRefusal(_ body: [UInt8]) -> SimulatedHMS.Refusal? {
    let ofTokens = tokens.reduce(max(0, tokens.count - 1)) { $0 + JSONText.quoted($1).count }
    return body.count - ofTokens > Self.limit
      ? .code("80300008", message: "The body is larger than \(Self.limit) bytes.") : nil
  }

  private var androidRefusal: SimulatedHMS.Refusal? {
    guard let android = fields["android"] else {
      return fields["notification"] == nil
        ? nil : .code("80100003", message: "A notification for Android needs message.android.")
    }
    if let key = android["collapse_key"]?.integer, !(-1...100).contains(key) {
      return .code("80100013", message: "The collapse_key must be from -1 to 100.")
    }
    if let ttl = android["ttl"]?.string {
      guard ttl.hasSuffix("s"), let seconds = Int(ttl.dropLast()), seconds <= 1_296_000 else {
        return .code("80100001", message: "The ttl must be up to 1296000s.")
      }
      if seconds < 1 { return .code("80100004", message: "The ttl is in the past.") }
    }
    guard let notification = android["notification"] else { return nil }
    guard let type = notification["click_action"]?["type"]?.integer, (1...3).contains(type) else {
      return .code("80100003", message: "The click_action must have a type from 1 to 3.")
    }
    func title(_ name: String) -> JSONValue? { notification[name] ?? fields["notification"]?[name] }
    guard title("title")?.string?.isEmpty == false, title("body")?.string?.isEmpty == false else {
      return .code("80100003", message: "A notification must have title and body.")
    }
    if notification["sound"] == nil, notification["default_sound"] != true {
      return .code("80100003", message: "The sound must be set if default_sound is false.")
    }
    if let badge = notification["badge"], badge["class"]?.string?.isEmpty != false {
      return .code("80100003", message: "A badge must name its class.")
    }
    return nil
  }

  /// Whether the message asks for what needs Huawei's permission.
  var isUrgent: Bool { fields["android"]?["urgency"]?.string == "HIGH" }
}
