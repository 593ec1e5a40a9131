public import Wire

extension HybridMessage {
  /// What its pushes and its SMS say. Phones get the members that CM's apps know: on those of Apple `ref` beside `aps`, and where it is
  /// critical, `alert` beside an `aps` that wakes the app; on those of Android `message_id`, `message` and `time_to_live` as data alone.
  /// Both ids are the ledger's (`idFields`).
  /// - Parameters:
  ///   - isSilent: whether the app shows it itself, once it has confirmed it.
  ///   - lifetime: seconds after which it is not sent any more.
  func body(isSilent: Bool, lifetime: Int32?) -> MessageBody {
    MessageBody(
      verbatim: true, alert: text, priority: .high, silent: isSilent ? true : nil,
      fields: ["message": .string(text), "time_to_live": .string("\(lifetime ?? Self.unlimited)")], trackOpens: false,
      overrides: MessageOverrides(
        apns: APNsOverride(payload: isSilent ? Self.silentApple : Self.apple), members: Self.android,
        sms: SMSOverride(from: sender, coding: coding.sms, maximumParts: maximumParts)))
  }

  /// The fields with a push's update id, on phones of Apple and on others.
  static let idFields = ["ref", "message_id"]

  private static let apple = silentApple.merging(["alert": .null]) { $1 }
  private static let silentApple: [UTF8String: JSONValue] = [
    "source": .null, "message": .null, "message_id": .null, "time_to_live": .null,
  ]
  private static let android: [PushServiceName: [UTF8String: JSONValue]] = [
    .fcm: [
      "notification": .null, "data": ["source": .null, "alert": .null, "ref": .null],
      "android": ["notification": .null],
    ]
  ]

  /// The longest time that push services keep a push, in seconds.
  private static let unlimited: Int32 = 2_419_200

  /// How many SMS its text takes.
  var parts: Int { (try? Self.sms(text, coding, maximumParts: maximumParts))?.parts ?? 1 }

  /// A message's text as an SMS.
  public static func sms(_ text: String, _ coding: Coding, maximumParts: Int) throws(SMSText.Problem) -> SMSText {
    try SMSText(text, coding: coding.sms, maximumParts: maximumParts)
  }
}

extension HybridMessage.Coding {
  fileprivate var sms: SMSCoding {
    switch self {
    case .automatic: .auto
    case .gsm7: .gsm7
    case .ucs2: .ucs2
    }
  }
}
