/// Body of `POST /api/v1/lists`.
public struct ListRequest: Codable, Sendable, Equatable {
  /// For people; unique among the customer's lists.
  public var name: String
  /// The number that apps send already, as of lists that moved here; the next free one when absent.
  public var listId: ListID?

  enum CodingKeys: String, CodingKey, CaseIterable { case name, listId }

  public init(name: String, listId: ListID? = nil) {
    self.name = name
    self.listId = listId
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(onlyKnown: CodingKeys.self)
    name = try body.decode(String.self, forKey: .name)
    listId = try body.decodeIfPresent(ListID.self, forKey: .listId)
  }
}
