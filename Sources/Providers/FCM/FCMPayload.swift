import Wire

/// A message in FCM's form (FCM's reference, REST resource `projects.messages`), with the fields of Carma's guide in `data`.
///
/// With an alert it is a notification, which Android shows by itself while the app is in the background. Without one, and if it is
/// silent, it is a data message, which the app gets. Further fields whose names FCM reserves cannot be sent, and are left out. Android
/// has no groups of messages; a `threadID` goes to phones of Apple, which FCM serves too.
///
/// Only a message with a key of its own has a `collapse_key`: FCM keeps four for a device that is away, and drops messages of further
/// ones. What is shown is replaced by its tag in any case.
enum FCMPayload {
  /// Most bytes that FCM takes in names and values of data and notification together.
  static let limit = 4096

  /// The body of a request. Every value in `data` is a string; of what is no string it is the JSON text.
  /// - Parameters:
  ///   - tag: what is shown replaces what was shown with it.
  ///   - ttl: in seconds; `nil` leaves it to FCM.
  static func json(
    _ message: RenderedMessage, token: String, tag: String?, priority: MessagePriority = .high, ttl: Int? = nil
  ) -> [UInt8] {
    var json = JSONObjectText(capacity: 1536)
    json.beginObject("message")
    json.append("token", JSONText.quoted(token))
    if let data = message.literalData {
      json.append("data", data.json)
      json.beginObject("android")
      json.append("priority", Array((priority == .high ? "\"HIGH\"" : "\"NORMAL\"").utf8))
      json.endObject()
      // An alert and mutable-content are what wakes the app's service extension on Apple's phones.
      for name: StaticString in ["apns", "payload", "aps", "alert"] { json.beginObject(name) }
      json.append("body", message.alert ?? JSONText.quoted("…"))
      json.endObject()
      json.append("mutable-content", Array("1".utf8))
      for _ in 1...5 { json.endObject() }
      return json.bytes
    }
    if let alert = message.shownAlert {
      json.beginObject("notification")
      json.append("title", message.info == nil ? nil : alert)
      json.append("body", message.info ?? alert)
      json.append("image", message.image)
      json.endObject()
    }
    json.beginObject("data")
    data(of: message) { json.append(name: $0, $1) }
    json.endObject()
    json.beginObject("android")
    json.append("priority", Array((priority == .high ? "\"HIGH\"" : "\"NORMAL\"").utf8))
    json.append("ttl", ttl.map { Array("\"\($0)s\"".utf8) })
    json.append("collapse_key", message.collapseKey.map(JSONText.quoted))
    let notification = androidNotification(of: message, tag.map(JSONText.quoted))
    if !notification.isEmpty {
      json.beginObject("notification")
      for (name, value) in notification { json.append(name, value) }
      json.endObject()
    }
    json.endObject()
    if let thread = message.threadID, !message.isSilent {
      json.beginObject("apns")
      json.beginObject("payload")
      json.beginObject("aps")
      json.append("thread-id", thread)
      json.endObject()
      json.endObject()
      json.endObject()
    }
    json.endObject()
    json.endObject()
    guard let patch = message.override("fcm") else { return json.bytes }
    return json.bytes.merging(["message": patch])
  }

  /// Names and values of data and notification, in bytes as FCM counts them.
  static func size(_ message: RenderedMessage, tag: String?) -> Int {
    if let data = message.literalData { return data.size }
    if message.override("fcm") != nil { return size(ofBody: json(message, token: "", tag: tag)) }
    var size = 0
    data(of: message) { size += JSONText.length($0) + JSONText.length($1) }
    if let alert = message.shownAlert {
      size += "body".utf8.count + JSONText.length(alert)
      if let info = message.info { size += "title".utf8.count + JSONText.length(info) }
      if let image = message.image { size += "image".utf8.count + JSONText.length(image) }
    }
    for (name, value) in androidNotification(of: message, tag.map(JSONText.quoted)) {
      size += name.utf8CodeUnitCount + JSONText.length(value)
    }
    return size
  }

  /// The size of the message in a body.
  static func size(ofBody body: [UInt8]) -> Int {
    let message = (try? JSONValue(json: body, rules: .own))?["message"]
    let android = message?["android"]
    var size = 0
    for part in [message?["data"], message?["notification"], android?["data"], android?["notification"]] {
      guard case .object(let members) = part else { continue }
      for (name, value) in members { size += name.text.utf8.count + JSONText.length(value.json) }
    }
    return size
  }

  /// A dry run with a token that has the form of one, and that no device has.
  static let dryRun: [UInt8] = {
    let token = "pushcart-credential-check:APA91b" + String(repeating: "0", count: 134)
    return Array(#"{"validate_only":true,"message":{"token":"\#(token)","data":{"source":"carma"}}}"#.utf8)
  }()

  /// Hands out the members of `data`, both sides as JSON strings.
  private static func data(of message: RenderedMessage, _ take: (_ name: [UInt8], _ value: [UInt8]) -> Void) {
    message.eachText(where: { !isReserved($0.name) }, take)
  }

  /// Whether the message has fields that FCM does not take.
  static func leavesFieldsOut(_ message: RenderedMessage) -> Bool { message.fields.contains { isReserved($0.name) } }

  /// What Android needs beside title and body; it would show a notification, so there is none without an alert. The category is no
  /// `click_action`: an app without an intent of that name would not open.
  private static func androidNotification(
    of message: RenderedMessage, _ tag: [UInt8]?
  ) -> [(name: StaticString, value: [UInt8])] {
    guard message.shownAlert != nil else { return [] }
    // FCM reads the badge as a number of 32 bits.
    let badge = message.badge.flatMap { $0.count <= 9 ? $0 : nil }
    let members: [(name: StaticString, value: [UInt8]?)] = [
      ("tag", tag), ("sound", message.sound), ("notification_count", badge),
    ]
    return members.compactMap { member in member.value.map { (member.name, $0) } }
  }

  /// - Parameter name: as a JSON string.
  private static func isReserved(_ name: [UInt8]) -> Bool {
    FCMDataName.isReserved(String(decoding: name.dropFirst().dropLast(), as: UTF8.self))
  }
}

extension RenderedMessage {
  /// The alert, unless the service is to show nothing.
  var shownAlert: [UInt8]? { isSilent || isShownByApp ? nil : alert }
}

// MARK: - Overrides

extension FCMPayload {
  /// Why an override cannot be sent, beside its shape.
  static func problem(in override: [UTF8String: JSONValue]) -> OverrideProblem? {
    for (path, data) in [("fcm.data", override["data"]), ("fcm.android.data", override["android"]?["data"])] {
      guard case .object(let members) = data else { continue }
      if let name = members.keys.sorted().first(where: { FCMDataName.isReserved($0.text) }) {
        return OverrideProblem(field: "\(path).\(name)", problem: "has a name that FCM reserves")
      }
    }
    return nil
  }
}

extension OverrideShape {
  /// The members of FCM's `message` but for its target (FCM's reference, REST resource `projects.messages`).
  static let fcm = OverrideShape.members([
    "data": .texts, "notification": .texts("title", "body", "image"), "fcm_options": .texts("analytics_label"),
    "android": .members([
      "collapse_key": .text, "priority": .text, "ttl": .text, "restricted_package_name": .text, "data": .texts,
      "notification": .members(fcmNotification), "fcm_options": .texts("analytics_label"), "direct_boot_ok": .flag,
      "bandwidth_constrained_ok": .flag, "restricted_satellite_ok": .flag,
    ]),
    "apns": .members([
      "headers": .texts, "payload": .object, "fcm_options": .texts("analytics_label", "image"),
    ]),
    "webpush": .members([
      "headers": .texts, "data": .texts, "notification": .object, "fcm_options": .texts("analytics_label", "link"),
    ]),
  ])

  private static let fcmNotification: [String: OverrideShape] = [
    "title": .text, "body": .text, "icon": .text, "color": .text, "sound": .text, "tag": .text, "click_action": .text,
    "body_loc_key": .text, "body_loc_args": .list, "title_loc_key": .text, "title_loc_args": .list,
    "channel_id": .text, "image": .text, "ticker": .text, "sticky": .flag, "event_time": .text, "local_only": .flag,
    "notification_priority": .text, "vibrate_timings": .list, "default_sound": .flag,
    "default_vibrate_timings": .flag, "default_light_settings": .flag, "light_settings": .object,
    "visibility": .text, "notification_count": .number, "proxy": .text,
  ]
}
