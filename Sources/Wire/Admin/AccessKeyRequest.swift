/// Body of `POST /api/v1/keys`.
public struct AccessKeyRequest: Codable, Sendable, Equatable {
  /// What the key is for, for people.
  public var name: String
  public var scope: AccessScope

  enum CodingKeys: String, CodingKey, CaseIterable { case name, scope }

  public init(name: String, scope: AccessScope) {
    self.name = name
    self.scope = scope
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(onlyKnown: CodingKeys.self)
    name = try body.decode(String.self, forKey: .name)
    scope = try body.decode(AccessScope.self, forKey: .scope)
  }
}
