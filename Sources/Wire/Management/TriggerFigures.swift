/// Reply of `GET /api/v1/triggers/{id}/figures`.
public struct TriggerFigures: APIObject, Equatable {
  public var triggerId: TriggerID
  public var name: String
  public var days: [TriggerDay]

  public init(triggerId: TriggerID, name: String, days: [TriggerDay]) {
    self.triggerId = triggerId
    self.name = name
    self.days = days
  }

  public static let schemaName: String? = "TriggerFigures"
  public static let schemaDescription = "What became of a trigger's messages, by day."
  public static let example = TriggerFigures(triggerId: TriggerID(1), name: "Order shipped", days: [.example])

  public static let fieldTable: FieldTable = [
    "triggerId": "The trigger's number.",
    "name": "Its name.",
    "days": "The days up to today, the oldest first. Those on which it caused nothing are there too.",
  ]
}

/// What became of a trigger's messages of a day.
public struct TriggerDay: APIObject, Equatable {
  public var day: String
  public var messages: Int?
  public var pushes: Int
  public var accepted: Int
  public var failed: Int
  public var opened: Int

  public init(day: String, messages: Int?, pushes: Int = 0, accepted: Int = 0, failed: Int = 0, opened: Int = 0) {
    self.day = day
    self.messages = messages
    self.pushes = pushes
    self.accepted = accepted
    self.failed = failed
    self.opened = opened
  }

  public static let schemaName: String? = "TriggerDay"
  public static let schemaDescription = "What became of a trigger's messages of a day."
  public static let example = TriggerDay(
    day: "2026-11-20", messages: 120, pushes: 150, accepted: 148, failed: 2, opened: 60)

  public static let fieldTable: FieldTable = [
    "day": "The day in UTC on which the messages came, as in `2026-11-20`.",
    "messages": .count("Messages that it caused. Absent once retention has deleted some of them."),
    "pushes": .count("Their pushes, one for each device."),
    "accepted": .count("Pushes that a push service accepted."),
    "failed": .count("Pushes that failed for good."),
    "opened": .count("Pushes that a person opened."),
  ]
}
