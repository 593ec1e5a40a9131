/// Body of `PATCH /api/v1/apps/{id}`: what is absent or null stays as it is.
///
/// `appId` and `appType` are not here: the tokens registered under them belong to that app and no other.
public struct PushAppChangeRequest: Codable, Sendable, Equatable {
  public var name: String?
  public var teamId: String?
  public var keyId: String?
  /// What Apple's AuthKey_….p8 holds, PEM as it is (iOS). Never given back.
  public var signingKey: String?

  enum CodingKeys: String, CodingKey, CaseIterable { case name, teamId, keyId, signingKey }

  public init(name: String? = nil, teamId: String? = nil, keyId: String? = nil, signingKey: String? = nil) {
    self.name = name
    self.teamId = teamId
    self.keyId = keyId
    self.signingKey = signingKey
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(onlyKnown: CodingKeys.self)
    name = try body.decodeIfPresent(String.self, forKey: .name)
    teamId = try body.decodeIfPresent(String.self, forKey: .teamId)
    keyId = try body.decodeIfPresent(String.self, forKey: .keyId)
    signingKey = try body.decodeIfPresent(String.self, forKey: .signingKey)
  }
}
