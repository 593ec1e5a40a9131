/// The valid devices of an app: now, and by day.
public struct DeviceCountReply: APIObject, Equatable {
  public var pushAppId: PushAppID
  public var devices: Int
  public var areMore: Bool
  public var days: [Day]

  public init(pushAppId: PushAppID, devices: Int, areMore: Bool, days: [Day]) {
    self.pushAppId = pushAppId
    self.devices = devices
    self.areMore = areMore
    self.days = days
  }

  /// The most that are counted at once.
  public static let maximum = 1000
  /// How many days a reply has.
  public static let dayCount = 30
  public static let schemaName: String? = "DeviceCount"
  public static let schemaDescription = "The valid devices of an app."
  public static let example = DeviceCountReply(
    pushAppId: PushAppID(1), devices: 1000, areMore: true, days: [.example])

  public static let fieldTable: FieldTable = [
    "pushAppId": "The app's number.",
    "devices": .count("Valid devices as they are now, \(maximum) at most."),
    "areMore": "Whether the app may have more than these. The last day then tells how many.",
    "days": "The last \(dayCount) days, the oldest first. A day is counted once, soon after it has begun.",
  ]

  /// The devices at the beginning of a day.
  public struct Day: APIObject, Equatable {
    public var day: String
    public var devices: Int
    public var sandboxDevices: Int

    public init(day: String, devices: Int, sandboxDevices: Int) {
      self.day = day
      self.devices = devices
      self.sandboxDevices = sandboxDevices
    }

    public static let schemaName: String? = "DeviceDay"
    public static let schemaDescription = "The valid devices of an app on one day."
    public static let example = Day(day: "2026-11-20", devices: 48_210, sandboxDevices: 12)

    public static let fieldTable: FieldTable = [
      "day": "The day, in UTC.",
      "devices": .count("Valid devices, without those of the sandbox."),
      "sandboxDevices": .count("Valid devices of the push service's sandbox."),
    ]
  }
}
