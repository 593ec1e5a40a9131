public import Content
import Providers
public import Registry
public import Wire

/// All that a hub needs to know to send a sendout's pushes.
public struct SendoutOrder: Sendable {
  public var key: SendoutKey
  public var app: PushAppID
  /// For `{{app.name}}`; its `appId` is APNs' topic.
  public var appFields: AppFields
  public var topic: String
  var credentials: APNsCredentials
  public var message: MessageTemplate
  /// For `{{sendout.name}}` and so on.
  public var sendoutFields: SendoutFields
  /// Whether there is a rich page, and so a `url`.
  public var hasPage: Bool
  public var onUncertain: UncertainPolicy

  public init(
    key: SendoutKey, app: PushAppID, appFields: AppFields, topic: String, credentials: SigningCredentials,
    message: MessageTemplate, sendoutFields: SendoutFields, hasPage: Bool, onUncertain: UncertainPolicy
  ) {
    self.key = key
    self.app = app
    self.appFields = appFields
    self.topic = topic
    self.credentials = APNsCredentials(
      teamID: credentials.teamID, keyID: credentials.keyID, signingKey: credentials.signingKey.text)
    self.message = message
    self.sendoutFields = sendoutFields
    self.hasPage = hasPage
    self.onUncertain = onUncertain
  }
}
