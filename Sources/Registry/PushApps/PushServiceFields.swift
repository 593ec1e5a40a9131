import FoundationEssentials
import Wire

/// What opens an app's push service, as its owner has it from the service's console. Each field belongs to some platforms.
public struct PushServiceFields: Sendable {
  /// Apple's Team Id (iOS).
  public var teamID: String?
  /// Apple's Key Id of the signing key (iOS).
  public var keyID: String?
  /// The AuthKey_….p8 file as it was downloaded (iOS).
  public var signingKey: Secret?
  /// A Google service account's key file as it was downloaded (Firebase, Android).
  public var serviceAccount: Secret?

  public init(
    teamID: String? = nil, keyID: String? = nil, signingKey: Secret? = nil, serviceAccount: Secret? = nil
  ) {
    self.teamID = teamID
    self.keyID = keyID
    self.signingKey = signingKey
    self.serviceAccount = serviceAccount
  }
}

/// A credential that is to be stored for an app.
struct NewPushCredential {
  let kind: PushCredential.Kind
  /// What is sealed.
  let secret: Secret
  let fingerprint: String
  /// Who signs in with it, as the service's console names it; nil where the app's other fields say so.
  var account: String?
  /// When a certificate expires.
  var notAfter: Date?
}

extension PushServiceFields {
  /// The fields that are there, each with the platforms that it belongs to.
  private var given: [(name: String, types: [AppType])] {
    let all: [(name: String, isGiven: Bool, types: [AppType])] = [
      ("teamId", teamID != nil, [.ios]), ("keyId", keyID != nil, [.ios]), ("signingKey", signingKey != nil, [.ios]),
      ("serviceAccount", serviceAccount != nil, [.firebase, .android]),
    ]
    return all.filter(\.isGiven).map { ($0.name, $0.types) }
  }

  /// The same with Team Id and Key Id as they are stored.
  /// - Parameter app: the app that is to be changed; nil for a new one.
  /// - Throws: `RegistryError.invalid` for a field of another platform, one that is no Id, or one that lacks another.
  func checked(for type: AppType, of app: PushApp? = nil) throws(RegistryError) -> PushServiceFields {
    if let strange = given.first(where: { !$0.types.contains(type) }) {
      let owners = strange.types.map(\.platform).joined(separator: " and ")
      let numbers = strange.types.map { "\($0.rawValue)" }.joined(separator: " and ")
      throw .invalid(field: strange.name, problem: "belongs to \(owners) apps only, of appType \(numbers)")
    }
    var checked = self
    checked.teamID = try PushAppRules.appleID(teamID, "teamId")
    checked.keyID = try PushAppRules.appleID(keyID, "keyId")
    let parts = [
      ("teamId", (teamID ?? app?.teamID) != nil), ("keyId", (keyID ?? app?.keyID) != nil),
      ("signingKey", signingKey != nil || app?.has(.apnsSigningKey) == true),
    ]
    if parts.contains(where: \.1), let missing = parts.first(where: { !$0.1 }) {
      throw .invalid(field: missing.0, problem: "is missing: teamId, keyId and signingKey come together")
    }
    return checked
  }

  /// The credentials in them.
  /// - Throws: `RegistryError.credential` for a file that is something else.
  func credentials() throws(RegistryError) -> [NewPushCredential] {
    var credentials: [NewPushCredential] = []
    if let signingKey {
      let file = try SigningKeyFile(signingKey)
      credentials.append(NewPushCredential(kind: .apnsSigningKey, secret: file.key, fingerprint: file.fingerprint))
    }
    if let serviceAccount {
      let file = try ServiceAccountFile(serviceAccount)
      credentials.append(
        NewPushCredential(
          kind: .fcmServiceAccount, secret: file.stored, fingerprint: file.fingerprint,
          account: file.account.clientEmail))
    }
    return credentials
  }
}
