/// Body of `POST /api/v1/lists`.
public struct ListRequest: Codable, Sendable, Equatable {
  /// For people; unique among the customer's lists.
  public var name: String

  enum CodingKeys: String, CodingKey, CaseIterable { case name }

  public init(name: String) { self.name = name }

  public init(from decoder: any Decoder) throws {
    name = try decoder.container(onlyKnown: CodingKeys.self).decode(String.self, forKey: .name)
  }
}
