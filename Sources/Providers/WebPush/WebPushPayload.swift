import Wire

/// A message as the page's service worker gets it: JSON with the fields of Carma's guide.
///
/// The worker shows it: `alert` as the title and `info` as the body, or `alert` alone as the body.
enum WebPushPayload {
  /// The members are always in this order: `source`, `alert`, `info`, `badge`, `sound`, `category`, `url`, `pushreadurl`, `image`,
  /// `tag`, `silent`, and the further fields in `fields`.
  static func json(_ message: RenderedMessage, collapseKey: String? = nil) -> [UInt8] {
    var json = JSONObjectText(capacity: 1024)
    json.append("source", Array("\"carma\"".utf8))
    json.append("alert", message.alert)
    json.append("info", message.info)
    json.append("badge", message.badge)
    json.append("sound", message.sound)
    json.append("category", message.category)
    json.append("url", message.url)
    json.append("pushreadurl", message.pushreadurl)
    json.append("image", message.image)
    json.append("tag", collapseKey.map(JSONText.quoted))
    json.append("silent", message.isSilent ? Array("true".utf8) : nil)
    if !message.fields.isEmpty {
      json.beginObject("fields")
      for field in message.fields { json.append(name: field.name, field.value) }
      json.endObject()
    }
    json.endObject()
    return json.bytes
  }
}
