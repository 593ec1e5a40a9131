import FoundationEssentials
import Wire

extension SimulatedHMS {
  static let phone = PhoneKind(
    id: "huawei", name: "Huawei phone", label: "Huawei", look: SimulatedFCM.phone.id,
    style: """
      .huawei { border-radius: 34px; padding: 7px; background: linear-gradient(145deg, #d9c9a8, #8d7d5e 30%, #8d7d5e 70%, #c9b78f); }
      .huawei .screen {
        border-radius: 28px; font-family: "HarmonyOS Sans", "Noto Sans", system-ui, sans-serif;
        background:
          radial-gradient(120% 60% at 0% 0%, light-dark(#f6b38a, #5c2a1c) 0%, transparent 62%),
          radial-gradient(110% 70% at 100% 55%, light-dark(#d9657a, #4a1830) 0%, transparent 66%),
          light-dark(#b98fb4, #1d1426);
      }
      .huawei .camera { left: 26px; margin-left: 0; }
      .huawei .statusbar { padding-left: 60px; }
      .huawei .lock { text-align: center; }
      """)
}

extension PhonePush {
  /// The phone itself shows a notification. Of a data message, this shows what an app would make of `alert` and `info`.
  /// - Parameter token: one of the message's recipients.
  init(_ request: SimulatedHMS.ReceivedRequest, to token: String, number: Int) {
    let text = (request.message["android"]?["data"] ?? request.message["data"])?.shownText
    let data = text.flatMap { Self.json(Array($0.utf8)) }
    let message = ShownMessage(request.message, data)
    // Push Kit wants both, so an alert alone is both.
    let isTwice = message.title != nil && message.title == message.body
    self.init(
      number, SimulatedHMS.phone, token: token, at: request.at, app: request.app,
      notes: message.isData ? ["HMS", "data message"] : ["HMS"], first: message.title,
      second: isTwice ? "" : message.body,
      badge: message.notification["badge"]?["set_num"]?.shownCount ?? data?["badge"]?.shownCount,
      picture: message.notification["image"], data: data,
      payload: Self.formatted(Self.json(request.payload), or: request.payload))
  }
}
