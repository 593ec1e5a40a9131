/// Body of `POST /api/v1/sendouts/audience`: the fields of a sendout that say who gets it.
public struct AudienceRequest: APIRequest, Equatable {
  public var appId: String?
  public var appIds: [String]?
  public var appType: AppType?
  public var audience: Audience
  public var limit: Int?

  /// Devices of an app that are counted if a request does not say how many.
  public static let usualLimit = 10_000
  /// The most that a request may ask for.
  public static let largestLimit = 1_000_000

  public init(
    appId: String? = nil, appIds: [String]? = nil, appType: AppType? = nil, audience: Audience, limit: Int? = nil
  ) {
    self.appId = appId
    self.appIds = appIds
    self.appType = appType
    self.audience = audience
    self.limit = limit
  }

  public static let schemaName: String? = "AudienceRequest"
  public static let schemaDescription = "An audience to count."
  public static let example = AudienceRequest(appId: "com.acme.app", audience: .all)

  public static let fieldTable: FieldTable = [
    "appId": "The app to send to. Either `appId` or `appIds` is present.",
    "appIds": FieldDescription("The apps to send to, those of one brand for instance.", limits: 1...20),
    "appType": "The platform. If it is absent, an appId stands for all its platforms.",
    "audience": "Who would receive the sendout.",
    "limit": FieldDescription(
      "How far the devices of each app are counted. \(usualLimit) if absent.", limits: 1...Int64(largestLimit)),
  ]
}

/// How many devices an audience has.
public struct AudienceReply: APIObject, Equatable {
  public var apps: [App]
  public var unknownOriginalIds: Int?

  public init(apps: [App], unknownOriginalIds: Int? = nil) {
    self.apps = apps
    self.unknownOriginalIds = unknownOriginalIds
  }

  /// Of all apps together.
  public var devices: Int { apps.reduce(0) { $0 + $1.devices } }
  /// Whether there are more than were counted.
  public var isMore: Bool { apps.contains { $0.isMore } }

  public static let schemaName: String? = "AudienceCount"
  public static let schemaDescription = "How many devices an audience has."
  public static let example = AudienceReply(apps: [.example])

  public static let fieldTable: FieldTable = [
    "apps": "One for each app on each of its platforms.",
    "unknownOriginalIds": .count("How many of the audience's original ids no contact has."),
  ]

  /// The devices of one app.
  public struct App: APIObject, Equatable {
    public var pushAppId: PushAppID
    public var appId: String
    public var appType: AppType
    public var devices: Int
    public var isMore: Bool

    public init(pushAppId: PushAppID, appId: String, appType: AppType, devices: Int, isMore: Bool) {
      self.pushAppId = pushAppId
      self.appId = appId
      self.appType = appType
      self.devices = devices
      self.isMore = isMore
    }

    public static let schemaName: String? = "AudienceApp"
    public static let schemaDescription = "The devices of an audience in one app."
    public static let example = App(
      pushAppId: PushAppID(1), appId: "com.acme.app", appType: .ios, devices: 2, isMore: false)

    public static let fieldTable: FieldTable = [
      "pushAppId": "The app's number.",
      "appId": "Bundle id or package name.",
      "appType": "Platform: \(AppType.list).",
      "devices": .count("Valid devices, no more than `limit`."),
      "isMore": "Whether there are more devices than `limit`.",
    ]
  }
}
