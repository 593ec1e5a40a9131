import Wire

/// A message as the page's service worker gets it: JSON with the fields of Carma's guide.
///
/// The worker shows it: `alert` as the title and `info` as the body, or `alert` alone as the body.
enum WebPushPayload {
  /// The members are always in this order: `source`, `alert`, `info`, `badge`, `sound`, `category`, `url`, `pushreadurl`, `image`,
  /// `tag`, and the further fields in `fields`. `image` is the further field of that name.
  /// - Parameter isReduced: whether only what a person has to see is in it, for services that take less.
  static func json(_ message: RenderedMessage, collapseKey: String? = nil, isReduced: Bool = false) -> [UInt8] {
    var json = JSONObjectText(capacity: 1024)
    json.append("source", Array("\"carma\"".utf8))
    json.append("alert", message.alert)
    json.append("info", message.info)
    if !isReduced {
      json.append("badge", message.badge)
      json.append("sound", message.sound)
      json.append("category", message.category)
    }
    json.append("url", message.url)
    json.append("pushreadurl", message.pushreadurl)
    if !isReduced { json.append("image", message.fields.first { $0.name == imageName }?.value) }
    json.append("tag", collapseKey.map(JSONText.quoted))
    let others = message.fields.filter { $0.name != imageName }
    if !isReduced, !others.isEmpty {
      json.beginObject("fields")
      for field in others { json.append(name: field.name, field.value) }
      json.endObject()
    }
    json.endObject()
    return json.bytes
  }

  private static let imageName = Array("\"image\"".utf8)
}
