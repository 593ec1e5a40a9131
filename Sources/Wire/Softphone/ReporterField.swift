/// A field of what softphones' push token reporter sends, by its variable in the provisioning (Acrobits, "Push Token Reporter").
public enum ReporterField: String, Sendable, CaseIterable {
  /// The account.
  case selector
  /// The token of a phone that has one for everything.
  case pushToken
  case pushTokenIncomingCall
  case pushTokenOther
  /// The PushKit AppId, and the other one.
  case appIDIncomingCall = "pushappid_incoming_call"
  case appIDOther = "pushappid_other"
  case username = "account[username]"
  case cloudUsername = "account[cloud_username]"

  /// The field that is never read.
  public static let password = "account[password]"
}
