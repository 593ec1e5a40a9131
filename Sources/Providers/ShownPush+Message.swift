package import Wire

extension ShownPush {
  /// What a device's owner sees. It is read from the request where that is JSON, as overrides and shortening change it there alone.
  /// - Returns: `nil` if only the app gets the message.
  package init?(_ message: RenderedMessage, body: [UInt8], for type: AppType) {
    let json = try? JSONValue(json: body, rules: .own)
    let notification = json.flatMap(Self.notification)
    let alert = Self.text(message.alert)
    // Browsers have to show a silent message, too.
    let isShown = !message.isSilent || type == .web
    if let text = notification?.text, !text.isEmpty {
      self.init(title: notification?.title, text: text)
    } else if isShown, type == .sms, let text = message.override("sms")?["text"]?.text ?? alert {
      self.init(text: text)
    } else if isShown, let alert {
      let info = Self.text(message.info)
      self.init(title: info == nil ? nil : alert, text: info ?? alert)
    } else {
      return nil
    }
    guard type != .sms else { return }
    image = Self.text(message.image)
    badge = message.badge.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Where APNs, FCM and Push Kit have what is shown.
  private static func notification(in body: JSONValue) -> (title: String?, text: String?)? {
    let alert = body["aps"]?["alert"]
    if let text = alert?.text { return (nil, text) }
    let notification = alert ?? body["message"]?["android"]?["notification"]
    let title = notification?["title"]?.text ?? body["message"]?["notification"]?["title"]?.text
    guard let text = notification?["body"]?.text ?? body["message"]?["notification"]?["body"]?.text else { return nil }
    return (title == text ? nil : title, text)
  }

  /// - Parameter json: a string.
  private static func text(_ json: [UInt8]?) -> String? {
    json.flatMap { try? JSONValue(json: $0, rules: .own).text }
  }
}
