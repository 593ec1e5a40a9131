/// What became of a sendout for one recipient, line by line.
public struct WhyReply: APIObject, Equatable {
  public var sendoutId: SendoutID
  public var originalId: String
  public var lines: [WhyLine]

  public init(sendoutId: SendoutID, originalId: String, lines: [WhyLine]) {
    self.sendoutId = sendoutId
    self.originalId = originalId
    self.lines = lines
  }

  public static let schemaName: String? = "Why"
  public static let schemaDescription = "What became of a sendout for one recipient, line by line."
  public static let example = WhyReply(
    sendoutId: SendoutID(7), originalId: "lars@example.com",
    lines: [WhyLine(at: .example, text: "The audience was written into the ledger."), .example])

  public static let fieldTable: FieldTable = [
    "sendoutId": "The sendout's number.",
    "originalId": "The contact's id, as it was asked for.",
    "lines": "The lines, in the order of what happened.",
  ]
}

/// One thing that happened to a recipient, or that kept the recipient out of the audience.
public struct WhyLine: APIObject, Equatable {
  public var at: Timestamp?
  public var deviceId: DeviceID?
  public var pushNo: PushNumber?
  public var text: String

  public init(at: Timestamp? = nil, deviceId: DeviceID? = nil, pushNo: PushNumber? = nil, text: String) {
    self.at = at
    self.deviceId = deviceId
    self.pushNo = pushNo
    self.text = text
  }

  public static let schemaName: String? = "WhyLine"
  public static let schemaDescription =
    "One thing that happened to a recipient, or that kept the recipient out of the audience."
  public static let example = WhyLine(
    at: .example, deviceId: DeviceID(12), pushNo: PushNumber(3), text: "Failed: Unregistered. It is not sent again.")

  public static let fieldTable: FieldTable = [
    "at": "When it happened. Absent for what is so now.",
    "deviceId": "The device concerned.",
    "pushNo": "The push concerned, by its number within the sendout.",
    "text": "A sentence for people.",
  ]
}
