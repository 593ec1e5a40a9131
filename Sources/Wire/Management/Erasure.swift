/// An erasure of a person.
public struct ErasureID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// Whether everything of a person is erased.
public enum ErasureState: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// The contact is gone, and hubs erase what else there is.
  case erasing
  case erased
}

/// What `DELETE /api/v1/contacts/{originalId}` answers.
public struct ErasureReply: APIObject, Equatable {
  public var erasureId: ErasureID
  public var contactId: ContactID
  public var state: ErasureState
  public var filters: [String]

  public init(erasureId: ErasureID, contactId: ContactID, state: ErasureState, filters: [String]) {
    self.erasureId = erasureId
    self.contactId = contactId
    self.state = state
    self.filters = filters
  }

  public static let schemaName: String? = "Erasure"
  public static let schemaDescription = "A person who is erased."
  public static let example = ErasureReply(
    erasureId: ErasureID(1), contactId: ContactID(7), state: .erasing, filters: ["segment 3"])

  public static let fieldTable: FieldTable = [
    "erasureId": "Number of the erasure.",
    "contactId": "The number that the contact had.",
    "state": "`erasing` while texts, imports, the audit log and the like are cleared; `erased` once all of it is.",
    "filters":
      "The first hundred segments and sendouts whose filters name the person. They stay: change them yourself.",
  ]
}

/// All that is stored of a person.
public struct ContactDataReply: APIObject, Equatable {
  public var originalId: String
  public var contactId: ContactID
  public var data: [UTF8String: JSONValue]
  public var cut: [String]

  public init(originalId: String, contactId: ContactID, data: [UTF8String: JSONValue], cut: [String]) {
    self.originalId = originalId
    self.contactId = contactId
    self.data = data
    self.cut = cut
  }

  public static let schemaName: String? = "ContactData"
  public static let schemaDescription = "All that is stored of a person."
  public static let example = ContactDataReply(
    originalId: "lars@example.com", contactId: ContactID(7),
    data: ["list_member": .array([["list_id": 1, "added_at": "2026-11-27T10:00:00+00:00"]])], cut: [])

  public static let fieldTable: FieldTable = [
    "originalId": "Your own id of the user.",
    "contactId": "The hub's number of the contact.",
    "data": "The rows about the person, by the tables that have them, each an object with the names of its columns.",
    "cut": "The tables of which only the first 1,000 rows, or 2 MiB, are shown.",
  ]
}
