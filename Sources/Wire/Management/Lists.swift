/// A list of contacts.
public struct ListID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// Body of `POST /api/v1/lists`.
public struct ListRequest: APIRequest, Equatable {
  public var name: String
  public var listId: ListID?

  public init(name: String, listId: ListID? = nil) {
    self.name = name
    self.listId = listId
  }

  public static let schemaName: String? = "ListRequest"
  public static let schemaDescription = "A list to add."
  public static let example = ListRequest(name: "newsletter", listId: ListID(1_000_000_005))

  public static var fieldTable: FieldTable { ListReply.fieldTable }
}

/// A list of contacts.
public struct ListReply: NumberedReply, Equatable {
  public var listId: ListID
  public var name: String
  public var members: Int?
  public var createdAt: Timestamp

  public init(listId: ListID, name: String, members: Int? = nil, createdAt: Timestamp) {
    self.listId = listId
    self.name = name
    self.members = members
    self.createdAt = createdAt
  }

  /// Members are counted up to this number.
  public static let mostCounted = 10_000

  public static let noun = "list"
  public var number: ListID { listId }
  public static let schemaName: String? = "List"
  public static let schemaDescription = "A list of contacts."
  public static let example = ListReply(listId: ListID(1_000_000_005), name: "newsletter", createdAt: .example)
  /// Shown by itself.
  public static let countedExample = ListReply(
    listId: ListID(1_000_000_005), name: "newsletter", members: 1250, createdAt: .example)

  public static let fieldTable: FieldTable = [
    "listId":
      "The number that apps send as `listId`, and that sendouts name as their audience. The next free number if a request has none.",
    "name": FieldDescription("A name for people, unique among the customer's lists.", limits: 1...200),
    "members": FieldDescription(
      "How many contacts are on it, counted up to \(mostCounted). Only where one list is shown.",
      limits: 0...Int64(mostCounted)),
    "createdAt": "When the list was added.",
  ]
}
