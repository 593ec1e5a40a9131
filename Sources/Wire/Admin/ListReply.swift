/// A list of contacts.
public struct ListReply: Codable, Sendable, Equatable {
  /// What apps send as `listId`, and sendouts name as their audience.
  public var listId: ListID
  public var name: String
  public var createdAt: Timestamp

  public init(listId: ListID, name: String, createdAt: Timestamp) {
    self.listId = listId
    self.name = name
    self.createdAt = createdAt
  }
}
