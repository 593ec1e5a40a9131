import Wire

/// A message in APNs' form (Apple, "Generating a remote notification"), with the fields of Carma's guide ("Handling Push
/// Notifications").
enum APNsPayload {
  /// The payload as JSON. Its members are always in this order: `aps`, `source`, `url`, `pushreadurl`, `alert`, `info`, `image`, then
  /// the further fields. With an override they have the order of their names.
  ///
  /// A push of type `background` has `"content-available": 1` first in `aps`, and a silent message has nothing else there. With an info,
  /// `aps.alert` is `{"title": alert, "body": info}`; without one it is the alert alone. With an image, `"mutable-content": 1` lets the
  /// app's service extension load it.
  static func json(_ message: RenderedMessage) -> [UInt8] {
    var json = JSONObjectText(capacity: 1024)
    json.beginObject("aps")
    if message.apnsPushType == .background { json.append("content-available", [UInt8(ascii: "1")]) }
    if !message.isSilent { appendShown(message, to: &json) }
    json.endObject()
    json.append("source", Array("\"carma\"".utf8))
    json.append("url", message.url)
    json.append("pushreadurl", message.pushreadurl)
    json.append("alert", message.alert)
    json.append("info", message.info)
    json.append("image", message.image)
    for field in message.fields { json.append(name: field.name, field.value) }
    json.endObject()
    guard let patch = message.override("apns")?["payload"] else { return json.bytes }
    return json.bytes.merging(patch)
  }

  private static func appendShown(_ message: RenderedMessage, to json: inout JSONObjectText) {
    if let alert = message.alert, let info = message.info {
      json.beginObject("alert")
      json.append("title", alert)
      json.append("body", info)
      json.endObject()
    } else {
      json.append("alert", message.alert)
    }
    json.append("badge", message.badge)
    json.append("sound", message.sound)
    json.append("category", message.category)
    json.append("thread-id", message.threadID)
    if message.image != nil { json.append("mutable-content", [UInt8(ascii: "1")]) }
  }
}

extension RenderedMessage {
  /// The push type at APNs: that of an override, or else of the message. Unless it names one, `background` for what is neither shown nor
  /// heard.
  var apnsPushType: PushType {
    let overridden = override("apns")?["headers"]?["apns-push-type"]?.text.flatMap(PushType.init(rawValue:))
    return overridden ?? pushType ?? (isSilent || alert == nil && badge == nil && sound == nil ? .background : .alert)
  }
}
