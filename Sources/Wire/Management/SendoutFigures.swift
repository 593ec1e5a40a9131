/// The figures of one sendout: how far it is, what failed and why, and when it was opened.
public struct SendoutFigures: APIObject, Equatable {
  public var sendoutId: SendoutID
  public var name: String
  public var state: SendoutState
  public var counts: SendoutCounts
  public var opens: Int
  public var settledLately: Int
  public var secondsLeft: Int?
  public var reasons: [SendoutReason]
  public var hours: [OpenHour]

  public init(
    sendoutId: SendoutID, name: String, state: SendoutState, counts: SendoutCounts, opens: Int, settledLately: Int = 0,
    secondsLeft: Int? = nil, reasons: [SendoutReason] = [], hours: [OpenHour] = []
  ) {
    self.sendoutId = sendoutId
    self.name = name
    self.state = state
    self.counts = counts
    self.opens = opens
    self.settledLately = settledLately
    self.secondsLeft = secondsLeft
    self.reasons = reasons
    self.hours = hours
  }

  public static let schemaName: String? = "SendoutFigures"
  public static let schemaDescription = "The figures of one sendout."
  public static let example = SendoutFigures(
    sendoutId: SendoutID(7), name: "Friday offer", state: .running,
    counts: SendoutCounts(audience: 100, queued: 20, sent: 80, accepted: 78, failed: 2, opened: 12), opens: 15,
    settledLately: 60, secondsLeft: 20, reasons: [.example], hours: [.example])

  public static let fieldTable: FieldTable = [
    "sendoutId": "The sendout's number.",
    "name": "A name for people.",
    "state": "draft → freezing → running ⇄ paused; any of them → cancelled; running → finished.",
    "counts": "How many pushes are in each state.",
    "opens": .count("All opens by persons. `counts.opened` counts each push once."),
    "settledLately": .count("Pushes with an outcome in batches that were begun within the last minute."),
    "secondsLeft": .count(
      "How long the rest takes at that pace, in seconds. Absent while there is no pace, and while pushes wait for a planned moment."
    ),
    "reasons": "Why pushes did not arrive, or have not yet; the most frequent come first, at most 50.",
    "hours": "Opens by hour, the oldest first, at most 336 hours.",
  ]
}

/// Why pushes of a sendout failed or wait, and what helps.
public struct SendoutReason: APIObject, Equatable {
  public var state: PushState
  public var reason: String
  public var pushes: Int
  public var isEstimate: Bool
  public var meaning: String?
  public var advice: String?

  public init(
    state: PushState, reason: String, pushes: Int, isEstimate: Bool = false, meaning: String? = nil,
    advice: String? = nil
  ) {
    self.state = state
    self.reason = reason
    self.pushes = pushes
    self.isEstimate = isEstimate
    self.meaning = meaning
    self.advice = advice
  }

  public static let schemaName: String? = "SendoutReason"
  public static let schemaDescription = "Why pushes of a sendout failed or wait, and what helps."
  public static let example = SendoutReason(
    state: .failed, reason: "Unregistered", pushes: 2, meaning: "The token is invalid.",
    advice: "Nothing: the device is invalidated, and gets no further push.")

  public static let fieldTable: FieldTable = [
    "state": "The state of these pushes.",
    "reason": "The reason, from the push service or the hub.",
    "pushes": .count("How many pushes have it."),
    "isEstimate":
      "Whether the number is estimated: of a large sendout, the failures in 20 of its batches are counted. The report `failures` is exact.",
    "meaning": "What the reason means, if that is known.",
    "advice": "What to do about it, if anything helps.",
  ]
}

/// Opens of a sendout within an hour.
public struct OpenHour: APIObject, Equatable {
  public var hour: Timestamp
  public var opens: Int
  public var firstOpens: Int
  public var byMachines: Int

  public init(hour: Timestamp, opens: Int, firstOpens: Int, byMachines: Int) {
    self.hour = hour
    self.opens = opens
    self.firstOpens = firstOpens
    self.byMachines = byMachines
  }

  public static let schemaName: String? = "OpenHour"
  public static let schemaDescription = "Opens of a sendout within an hour."
  public static let example = OpenHour(hour: .example, opens: 15, firstOpens: 12, byMachines: 1)

  public static let fieldTable: FieldTable = [
    "hour": "When the hour begins, in UTC.",
    "opens": .count("Opens by persons."),
    "firstOpens": .count("Pushes opened by a person for the first time."),
    "byMachines": .count("Fetches by scanners and prefetchers. They never count as opens."),
  ]
}

/// Somebody whom a sendout went to, and what became of the push.
public struct RecipientReply: APIObject, Equatable {
  public var pushNo: PushNumber
  public var originalId: String?
  public var contactId: ContactID
  public var deviceId: DeviceID
  public var state: PushState
  public var reason: String?
  public var sentAt: Timestamp?
  public var openedAt: Timestamp?

  public init(
    pushNo: PushNumber, originalId: String?, contactId: ContactID, deviceId: DeviceID, state: PushState,
    reason: String? = nil, sentAt: Timestamp? = nil, openedAt: Timestamp? = nil
  ) {
    self.pushNo = pushNo
    self.originalId = originalId
    self.contactId = contactId
    self.deviceId = deviceId
    self.state = state
    self.reason = reason
    self.sentAt = sentAt
    self.openedAt = openedAt
  }

  public static let schemaName: String? = "Recipient"
  public static let schemaDescription = "Somebody whom a sendout went to, and what became of the push."
  public static let example = RecipientReply(
    pushNo: PushNumber(3), originalId: "lars@example.com", contactId: ContactID(5), deviceId: DeviceID(12),
    state: .accepted, sentAt: .example)

  public static let fieldTable: FieldTable = [
    "pushNo": "The push's number within the sendout.",
    "originalId": "The contact's id in your own system. Absent once the contact is deleted.",
    "contactId": "The contact that had the device when the audience was frozen.",
    "deviceId": "The device's number.",
    "state": "The push's state.",
    "reason": "The reason of the last outcome. Absent if accepted at once.",
    "sentAt": "When the push was last sent.",
    "openedAt": "When a person first opened the push.",
  ]
}
