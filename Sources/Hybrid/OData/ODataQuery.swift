public import Wire

/// The options of `GET /v1.0/messages` (OData v3, "URL Conventions", section 5; protocol notes, section 11).
public struct ODataQuery: Sendable {
  private(set) var filter = ODataFilter()
  /// Properties by which messages are ordered; none for the newest first.
  private(set) var order: [Order] = []
  private(set) var limit = Self.mostMessages
  private(set) var offset = 0
  /// What is shown of each message, in the order of replies.
  public private(set) var members = PhoneMessageReply.Member.allCases
  /// Whether to count all messages that the filter finds.
  public private(set) var wantsCount = false

  /// A property by which messages are ordered.
  struct Order: Sendable {
    let property: PhoneMessageReply.Member
    let isDescending: Bool
  }

  /// Most messages of one reply.
  public static let mostMessages = 1000
  /// Most messages, the newest, among which a phone can choose by a filter or an order.
  public static let mostConsidered = 2000

  /// Reads the options. Those without a `$` are ignored, and so is `$expand`: messages have nothing to expand.
  /// - Parameter options: names and values, decoded.
  /// - Throws: `HybridError.invalid`, which names the option and says where in it the fault is.
  public init(_ options: [(name: String, value: String)]) throws {
    var seen: Set<String> = []
    for (name, value) in options where name.hasPrefix("$") {
      guard seen.insert(name).inserted else { throw HybridError.invalid(field: name, problem: "is given twice") }
      switch name {
      case "$filter":
        do throws(ODataProblem) {
          filter = try ODataFilter(value)
        } catch {
          throw HybridError.invalid(field: name, problem: "is wrong: character \(error.position + 1) \(error.problem)")
        }
      case "$orderby": order = try Self.order(value)
      case "$top": limit = min(try Self.count(value, name), Self.mostMessages)
      case "$skip": offset = try Self.count(value, name)
      case "$select": members = try Self.members(value)
      case "$inlinecount":
        guard ["allpages", "none"].contains(value) else {
          throw HybridError.invalid(field: name, problem: "must be allpages or none")
        }
        wantsCount = value == "allpages"
      case "$expand", "$format": break
      default:
        throw HybridError.invalid(
          field: "the query",
          problem: "has an option that is not known; known are $filter, $orderby, $top, $skip, $select "
            + "and $inlinecount")
      }
    }
  }

  private static func count(_ text: String, _ name: String) throws -> Int {
    guard !text.isEmpty, text.utf8.count <= 9, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int(text)
    else { throw HybridError.invalid(field: name, problem: "must be a whole number from 0 to 999999999") }
    return count
  }

  private static func order(_ text: String) throws -> [Order] {
    let terms = try text.split(separator: ",", omittingEmptySubsequences: false).map { term in
      let words = term.split { $0 == " " || $0 == "+" }
      guard let first = words.first, let property = PhoneMessageReply.Member(rawValue: String(first)),
        property != .updateIDs, words.count <= 2,
        words.count == 1 || words[1] == "asc" || words[1] == "desc"
      else {
        throw HybridError.invalid(
          field: "$orderby",
          problem: "must be properties, each with asc, desc or neither, as in DateTime desc,Sender; known are "
            + PhoneMessageReply.Member.comparableNames)
      }
      return Order(property: property, isDescending: words.count == 2 && words[1] == "desc")
    }
    let most = PhoneMessageReply.Member.comparable.count
    guard terms.count <= most else {
      throw HybridError.invalid(field: "$orderby", problem: "names more than \(most) properties")
    }
    return terms
  }

  private static func members(_ text: String) throws -> [PhoneMessageReply.Member] {
    var members: Set<PhoneMessageReply.Member> = []
    for name in text.split(separator: ",", omittingEmptySubsequences: false).map({
      $0.filter { $0 != " " && $0 != "+" }
    }) {
      if name == "*" {
        members.formUnion(PhoneMessageReply.Member.allCases)
      } else if let member = PhoneMessageReply.Member(rawValue: String(name)) {
        members.insert(member)
      } else {
        throw HybridError.invalid(
          field: "$select",
          problem: "names an unknown property; known are "
            + PhoneMessageReply.Member.allCases.map(\.rawValue).joined(separator: ", "))
      }
    }
    return PhoneMessageReply.Member.allCases.filter(members.contains)
  }
}
