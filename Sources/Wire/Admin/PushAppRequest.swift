/// Body of `POST /api/v1/apps`.
public struct PushAppRequest: Codable, Sendable, Equatable {
  /// For people.
  public var name: String
  /// Bundle id or package name.
  public var appId: String
  public var appType: AppType
  /// Apple's Team Id (iOS).
  public var teamId: String?
  /// Apple's Key Id of the signing key (iOS).
  public var keyId: String?
  /// What Apple's AuthKey_….p8 holds, PEM as it is (iOS). Never given back.
  public var signingKey: String?

  enum CodingKeys: String, CodingKey, CaseIterable { case name, appId, appType, teamId, keyId, signingKey }

  public init(
    name: String, appId: String, appType: AppType, teamId: String? = nil, keyId: String? = nil,
    signingKey: String? = nil
  ) {
    self.name = name
    self.appId = appId
    self.appType = appType
    self.teamId = teamId
    self.keyId = keyId
    self.signingKey = signingKey
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(onlyKnown: CodingKeys.self)
    name = try body.decode(String.self, forKey: .name)
    appId = try body.decode(String.self, forKey: .appId)
    appType = try body.decode(AppType.self, forKey: .appType)
    teamId = try body.decodeIfPresent(String.self, forKey: .teamId)
    keyId = try body.decodeIfPresent(String.self, forKey: .keyId)
    signingKey = try body.decodeIfPresent(String.self, forKey: .signingKey)
  }
}
