import Wire

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

  /// - Throws: `RegistryError.invalid` for a mapping that names no field, or the password.
  static func check(_ mapping: [String: String]) throws(RegistryError) {
    for (name, field) in mapping.sorted(by: { $0.key < $1.key }) {
      guard ReporterField(rawValue: name) != nil else {
        throw .invalid(
          field: "reporterFields",
          problem: "has a member that is not one of \(allCases.map(\.rawValue).joined(separator: ", "))")
      }
      guard field != password else {
        throw .invalid(field: "reporterFields.\(name)", problem: "is \(password), which the hub never reads")
      }
      _ = try TextRule("reporterFields.\(name)", maximum: 100).require(field)
    }
  }
}
