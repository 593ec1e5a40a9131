public import Wire

/// The options of `GET /v1.0/messages` (OData v3, "URL Conventions", section 5; protocol notes, section 11).
public struct ODataQuery: Sendable {
  private(set) var filter = ODataFilter()
  /// Of the columns `v`, with what makes it unambiguous.
  private(set) var order = "v.moment DESC, v.sendout_id DESC, v.message_no DESC"
  private(set) var limit = Self.mostMessages
  private(set) var offset: Int64 = 0
  /// What is shown of each message, in the order of replies.
  public private(set) var members = PhoneMessageReply.Member.allCases
  /// Whether to count all messages that the filter finds.
  public private(set) var wantsCount = false

  /// Most messages of one reply.
  public static let mostMessages: Int64 = 1000

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
          filter = try ODataFilter(value, firstParameter: PhoneMessageQueries.firstOfFilter)
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

  private static func count(_ text: String, _ name: String) throws -> Int64 {
    guard !text.isEmpty, text.utf8.count <= 9, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int64(text)
    else { throw HybridError.invalid(field: name, problem: "must be a whole number from 0 to 999999999") }
    return count
  }

  private static func order(_ text: String) throws -> String {
    let columns: [String: String] = [
      "ID": "v.message_guid", "UpdateID": PhoneMessageQueries.updateID, "Recipient": "v.recipient",
      "Sender": "v.sender COLLATE \"C\"", "Body": "v.body COLLATE \"C\"", "DateTime": "v.moment",
      "Status": "v.status COLLATE \"C\"",
    ]
    let terms = try text.split(separator: ",", omittingEmptySubsequences: false).map { term in
      let words = term.split { $0 == " " || $0 == "+" }
      guard let first = words.first, let column = columns[String(first)], words.count <= 2,
        words.count == 1 || words[1] == "asc" || words[1] == "desc"
      else {
        throw HybridError.invalid(
          field: "$orderby",
          problem: "must be properties, each with asc, desc or neither, as in DateTime desc,Sender; known are "
            + columns.keys.sorted().joined(separator: ", "))
      }
      return words.count == 2 && words[1] == "desc" ? "\(column) DESC" : column
    }
    guard terms.count <= columns.count else {
      throw HybridError.invalid(field: "$orderby", problem: "names more than \(columns.count) properties")
    }
    return terms.joined(separator: ", ") + ", v.sendout_id, v.message_no"
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
