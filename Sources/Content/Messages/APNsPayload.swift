import Wire
extension MessageTemplate {
  /// The payload for one recipient, as JSON with its members always in the same order: `aps`, `source`, `url`, `pushreadurl`,
  /// `alert`, `info`, then the further fields by name. The links are there when the context has them.
  ///
  /// With an info, `aps.alert` is `{"title": alert, "body": info}`, without one, or when it turns out empty, the alert alone. A
  /// badge that is no number, and a sound or category that turns out empty, are left out.
  public func payload(for context: PageContext) -> [UInt8] {
    let alert = alert.map { $0.json(context) }
    let info = info.map { $0.json(context) }.flatMap { $0.count > 2 ? $0 : nil }
    var payload: [UInt8] = []
    payload.reserveCapacity(1024)
    payload.append(contentsOf: "{\"aps\":{".utf8)
    appendAlert(alert, info, to: &payload)
    if let badge = badge?.digits(context) { payload.appendMember("badge", badge) }
    if let sound = sound?.json(context), sound.count > 2 { payload.appendMember("sound", sound) }
    if let category = category?.json(context), category.count > 2 { payload.appendMember("category", category) }
    payload.append(contentsOf: "},\"source\":\"carma\"".utf8)
    if let url = context.url { payload.appendMember("url", JSONText.quoted(url)) }
    if let read = context.pushreadurl { payload.appendMember("pushreadurl", JSONText.quoted(read)) }
    if let alert { payload.appendMember("alert", alert) }
    if let info { payload.appendMember("info", info) }
    for field in fields {
      payload.append(UInt8(ascii: ","))
      payload.append(contentsOf: field.json)
      payload.append(UInt8(ascii: ":"))
      field.value.append(context, to: &payload)
    }
    payload.append(UInt8(ascii: "}"))
    return payload
  }

  private func appendAlert(_ alert: [UInt8]?, _ info: [UInt8]?, to payload: inout [UInt8]) {
    guard let alert else { return }
    guard let info else { return payload.appendMember("alert", alert) }
    payload.append(contentsOf: "\"alert\":{\"title\":".utf8)
    payload.append(contentsOf: alert)
    payload.appendMember("body", info)
    payload.append(UInt8(ascii: "}"))
  }
}

extension [UInt8] {
  /// Appends `"name":value`, behind a comma unless it is the first member.
  fileprivate mutating func appendMember(_ name: StaticString, _ value: [UInt8]) {
    if last != UInt8(ascii: "{") { append(UInt8(ascii: ",")) }
    append(UInt8(ascii: "\""))
    name.withUTF8Buffer { append(contentsOf: $0) }
    append(contentsOf: "\":".utf8)
    append(contentsOf: value)
  }
}
