/// Body of `PATCH /api/v1/lists/{id}/members` and of `PUT /api/v1/segments/{id}/contacts`.
public struct MembersRequest: APIRequest, Equatable {
  public var add: [String]?
  public var remove: [String]?

  /// Most original ids in each.
  public static let maximumCount = 1000

  public init(add: [String]? = nil, remove: [String]? = nil) {
    self.add = add
    self.remove = remove
  }

  public static let schemaName: String? = "MembersRequest"
  public static let schemaDescription = "Contacts to put in, and contacts to take out, by their original ids."
  public static let example = MembersRequest(add: ["lars@example.com"])

  public static let fieldTable: FieldTable = [
    "add": FieldDescription("Original ids of contacts that are in it from now on.", limits: 1...Int64(maximumCount)),
    "remove": FieldDescription(
      "Original ids of contacts that are not in it from now on.", limits: 1...Int64(maximumCount)),
  ]
}

/// What a change of the contacts of a list or a static segment did.
public struct MembersReply: APIObject, Equatable {
  public var added: Int
  public var removed: Int
  public var unknownOriginalIds: [String]

  public init(added: Int, removed: Int, unknownOriginalIds: [String]) {
    self.added = added
    self.removed = removed
    self.unknownOriginalIds = unknownOriginalIds
  }

  public static let schemaName: String? = "Members"
  public static let schemaDescription = "What a change of the contacts of a list or a static segment did."
  public static let example = MembersReply(added: 1, removed: 0, unknownOriginalIds: [])

  public static let fieldTable: FieldTable = [
    "added": .count("How many contacts were put into it. Those that were in it already are not counted."),
    "removed": .count("How many contacts were taken out of it."),
    "unknownOriginalIds": "Those that no contact has. They change nothing.",
  ]
}
