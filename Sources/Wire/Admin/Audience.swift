/// Who a sendout goes to: every valid device of its app that belongs to one of these contacts.
///
/// In JSON exactly one of `{"all":true}`, `{"listId":7}` and `{"originalIds":["a@example.com"]}`.
public enum Audience: Sendable, Hashable {
  /// Every contact of the customer.
  case all
  /// The contacts on this list.
  case list(ListID)
  /// The contacts with these ids; those that nobody has are counted and passed over.
  case originalIds([String])

  /// How many original ids a sendout may name; more belong on a list.
  public static let originalIdLimit = 10_000
}

extension Audience: Codable {
  enum CodingKeys: String, CodingKey, CaseIterable { case all, listId, originalIds }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(onlyKnown: CodingKeys.self)
    guard body.allKeys.count == 1, let key = body.allKeys.first else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "must be one of all, listId and originalIds"))
    }
    switch key {
    case .all:
      guard try body.decode(Bool.self, forKey: .all) else {
        throw DecodingError.dataCorruptedError(forKey: .all, in: body, debugDescription: "can only be true")
      }
      self = .all
    case .listId: self = .list(try body.decode(ListID.self, forKey: .listId))
    case .originalIds: self = .originalIds(try body.decode([String].self, forKey: .originalIds))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .all: try body.encode(true, forKey: .all)
    case .list(let list): try body.encode(list, forKey: .listId)
    case .originalIds(let ids): try body.encode(ids, forKey: .originalIds)
    }
  }
}
