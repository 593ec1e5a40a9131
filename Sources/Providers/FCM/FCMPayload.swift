import Wire

/// A message in FCM's form (FCM's reference, REST resource `projects.messages`), with the fields of Carma's guide in `data`.
///
/// With an alert it is a notification, which Android shows by itself while the app is in the background. Without one it is a data
/// message, which the app gets. Further fields whose names FCM reserves cannot be sent, and are left out.
enum FCMPayload {
  /// Most bytes that FCM takes in names and values of data and notification together.
  static let limit = 4096

  /// The body of a request. Every value in `data` is a string; of what is no string it is the JSON text.
  /// - Parameter ttl: in seconds; `nil` leaves it to FCM.
  static func json(
    _ message: RenderedMessage, token: String, collapseKey: String?, priority: MessagePriority = .high, ttl: Int? = nil
  ) -> [UInt8] {
    var json = JSONObjectText(capacity: 1536)
    json.beginObject("message")
    json.append("token", JSONText.quoted(token))
    if let alert = message.alert {
      json.beginObject("notification")
      json.append("title", message.info == nil ? nil : alert)
      json.append("body", message.info ?? alert)
      json.endObject()
    }
    json.beginObject("data")
    data(of: message) { json.append(name: $0, $1) }
    json.endObject()
    json.beginObject("android")
    json.append("priority", Array((priority == .high ? "\"HIGH\"" : "\"NORMAL\"").utf8))
    json.append("ttl", ttl.map { Array("\"\($0)s\"".utf8) })
    let key = collapseKey.map(JSONText.quoted)
    json.append("collapse_key", key)
    let notification = androidNotification(of: message, key)
    if !notification.isEmpty {
      json.beginObject("notification")
      for (name, value) in notification { json.append(name, value) }
      json.endObject()
    }
    json.endObject()
    json.endObject()
    json.endObject()
    return json.bytes
  }

  /// Names and values of data and notification, in bytes as FCM counts them.
  static func size(_ message: RenderedMessage, collapseKey: String?) -> Int {
    var size = 0
    data(of: message) { size += JSONText.length($0) + JSONText.length($1) }
    if let alert = message.alert {
      size += "body".utf8.count + JSONText.length(alert)
      if let info = message.info { size += "title".utf8.count + JSONText.length(info) }
    }
    for (name, value) in androidNotification(of: message, collapseKey.map(JSONText.quoted)) {
      size += name.utf8CodeUnitCount + JSONText.length(value)
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
    func append(_ name: String, _ value: [UInt8]?) {
      if let value { take(JSONText.quoted(name), value) }
    }
    append("source", Array("\"carma\"".utf8))
    append("alert", message.alert)
    append("info", message.info)
    append("url", message.url)
    append("pushreadurl", message.pushreadurl)
    append("badge", message.badge.map(quoted))
    append("sound", message.sound)
    append("category", message.category)
    for field in message.fields where !isReserved(field.name) {
      take(field.name, field.value.first == UInt8(ascii: "\"") ? field.value : quoted(field.value))
    }
  }

  private static func quoted(_ json: [UInt8]) -> [UInt8] { JSONText.quoted(String(decoding: json, as: UTF8.self)) }

  /// What Android needs beside title and body; it would show a notification, so there is none without an alert. The category is no
  /// `click_action`: an app without an intent of that name would not open.
  private static func androidNotification(
    of message: RenderedMessage, _ collapseKey: [UInt8]?
  ) -> [(name: StaticString, value: [UInt8])] {
    guard message.alert != nil else { return [] }
    // FCM reads the badge as a number of 32 bits.
    let badge = message.badge.flatMap { $0.count <= 9 ? $0 : nil }
    let members: [(name: StaticString, value: [UInt8]?)] = [
      ("tag", collapseKey), ("sound", message.sound), ("notification_count", badge),
    ]
    return members.compactMap { member in member.value.map { (member.name, $0) } }
  }

  /// - Parameter name: as a JSON string.
  private static func isReserved(_ name: [UInt8]) -> Bool {
    let name = String(decoding: name.dropFirst().dropLast(), as: UTF8.self)
    return ["from", "message_type", "collapse_key"].contains(name) || name.hasPrefix("google")
      || name.hasPrefix("gcm")
  }
}
