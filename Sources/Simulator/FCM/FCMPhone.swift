import FoundationEssentials
import Wire

extension SimulatedFCM {
  static let phone = PhoneKind(
    id: "android", name: "Android phone", label: "Android",
    style: """
      .android { border-radius: 46px; padding: 9px; background: linear-gradient(145deg, #4a4d52, #17181b 30%, #17181b 70%, #3b3d42); }
      .android .screen {
        border-radius: 38px; font-family: Roboto, "Noto Sans", system-ui, sans-serif;
        background:
          radial-gradient(110% 60% at 100% 0%, light-dark(#8fd3b6, #16483d) 0%, transparent 62%),
          radial-gradient(110% 65% at 0% 45%, light-dark(#5aa7d6, #1b3a63) 0%, transparent 66%),
          radial-gradient(120% 70% at 90% 100%, light-dark(#7c6fd0, #37255c) 0%, transparent 66%),
          light-dark(#3f8f9b, #10202b);
      }
      .android .statusbar { padding: 12px 24px 0; height: 44px; font-weight: 500; font-size: .88rem; }
      .android .camera { width: 22px; height: 22px; top: 14px; margin-left: -11px; border-radius: 50%; }
      .android .lock { text-align: start; padding: 22px 28px 20px; }
      .android .clock { font-size: 4.8rem; font-weight: 400; letter-spacing: -.03em; }
      .android .cards { padding-inline: 10px; }
      .android .card { margin-bottom: 3px; }
      .android .card button { border-radius: 6px; padding: 13px 15px; background: light-dark(#f6f4fa, #24242c); backdrop-filter: none; }
      .android .card:first-child button { border-start-start-radius: 26px; border-start-end-radius: 26px; }
      .android .card:last-child button { border-end-start-radius: 26px; border-end-end-radius: 26px; }
      .android .card button:hover { background: light-dark(#fff, #2e2e38); }
      .android .icon { width: 34px; height: 34px; border-radius: 50%; font-size: 1rem; }
      .android .app { text-transform: none; letter-spacing: 0; font-size: .78rem; }
      .android strong { font-weight: 600; }
      .android .clear { bottom: 30px; border-radius: 12px; }
      .android .homebar { width: 108px; height: 4px; margin-left: -54px; bottom: 8px; }
      .android .bar { padding-top: 48px; }
      """)
}

extension PhonePush {
  /// Android itself shows a notification. Of a data message, this shows what an app would make of `alert` and `info`.
  init(_ request: SimulatedFCM.ReceivedRequest, number: Int? = nil) {
    let android = request.message["android"]
    let data = android?["data"] ?? request.message["data"]
    let message = ShownMessage(request.message, data)
    self.init(
      number ?? request.number, SimulatedFCM.phone, token: request.token, at: request.at,
      app: android?["restricted_package_name"]?.shownText.map { Self.appName(topic: $0) }
        ?? Self.appName(project: request.project),
      notes: message.isData ? ["FCM", "data message"] : ["FCM"], first: message.title, second: message.body,
      badge: message.notification["notification_count"]?.shownCount ?? data?["badge"]?.shownText.flatMap { Int($0) },
      picture: message.notification["image"], data: data,
      payload: Self.formatted(Self.json(request.payload), or: request.payload))
  }
}

/// A message with a notification of Android as a phone shows it.
struct ShownMessage {
  /// Whether it shows nothing by itself.
  let isData: Bool
  let notification: JSONValue
  let title: String?
  let body: String?

  /// - Parameter data: its fields for the app.
  init(_ message: JSONValue, _ data: JSONValue?) {
    let own = message["android"]?["notification"]
    isData = message["notification"] == nil && own == nil
    notification = FCMMessage.merged(message["notification"], own)
    let change = PhonePush.notification(data)
    title = change?.title ?? (isData ? data?["alert"]?.shownText : notification["title"]?.shownText)
    body = change?.text ?? (isData ? data?["info"]?.shownText : notification["body"]?.shownText)
  }
}
