import HTTPTypes
import Hummingbird
import Operations
import Subscriptions
import Wire

/// What a request for a data tree asks for beside its path.
struct TreeOptions: Sendable {
  /// How values are printed.
  enum Print: String, CaseIterable, Sendable {
    /// With an indented line for each member and item.
    case pretty
    /// Not at all: the reply is 204.
    case silent
  }

  /// Whether the children of a value are wanted without their own values.
  let isShallow: Bool
  let print: Print?
  /// What the value has to be.
  let condition: WriteCondition?

  /// - Throws: `HTTPErrorResponse` (400), naming the option or the header.
  init(_ request: Request) throws {
    let isRead = request.method == .get || request.method == .head
    let query = try QueryParameters(request, known: isRead ? ["shallow", "print"] : ["print"])
    isShallow = try query.flag("shallow") ?? false
    print = try query.choice("print")
    condition = try Self.condition(request)
  }

  private static func condition(_ request: Request) throws -> WriteCondition? {
    let matches = try tags(request.headers[values: .ifMatch], .ifMatch, areStrong: true)
    let differs = try tags(request.headers[values: .ifNoneMatch], .ifNoneMatch, areStrong: false)
    return matches == nil && differs == nil ? nil : WriteCondition(matches: matches, differs: differs)
  }

  /// Reads a list of entity tags. Clients write them with and without quotation marks.
  /// - Parameter areStrong: whether a weak tag is equal to none.
  private static func tags(
    _ values: [String], _ name: HTTPField.Name, areStrong: Bool
  ) throws -> WriteCondition.Tags? {
    guard !values.isEmpty else { return nil }
    var tags: Set<String> = []
    let parts = values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
    for part in parts {
      let isBlank = { (character: Character) in character == " " || character == "\t" }
      var tag = String(part.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
      if tag == "*", parts.count == 1 { return .any }
      let isWeak = tag.hasPrefix("W/")
      if isWeak { tag.removeFirst(2) }
      let isQuoted = tag.utf8.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"")
      if isQuoted { tag = String(tag.dropFirst().dropLast()) }
      guard !tag.isEmpty, tag != "*", !tag.utf8.contains(UInt8(ascii: "\"")) else {
        throw HTTPErrorResponse.badRequest("\(name.rawName) must be * or the ETag of a value, as GET answers it.")
      }
      if !isWeak || !areStrong { tags.insert(tag) }
    }
    return .some(tags)
  }
}

/// JSON with an indented line for each member and item.
enum PrettyJSON {
  /// - Parameter json: without blanks between its parts.
  static func bytes(_ json: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(2 * json.count)
    var depth = 0
    var (isInText, isEscaped) = (false, false)
    func newLine() {
      bytes.append(0x0A)
      bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
    }
    for (index, byte) in json.enumerated() {
      if isInText {
        bytes.append(byte)
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInText = false
        }
        continue
      }
      let next = index + 1 < json.count ? json[index + 1] : 0
      switch byte {
      case UInt8(ascii: "\""):
        isInText = true
        bytes.append(byte)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        bytes.append(byte)
        depth += 1
        if next != UInt8(ascii: "}"), next != UInt8(ascii: "]") { newLine() }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { newLine() }
        bytes.append(byte)
      case UInt8(ascii: ","):
        bytes.append(byte)
        newLine()
      case UInt8(ascii: ":"): bytes += [byte, UInt8(ascii: " ")]
      default: bytes.append(byte)
      }
    }
    return bytes
  }
}
