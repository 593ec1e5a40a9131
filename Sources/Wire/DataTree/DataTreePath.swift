/// A place in an app's data tree: the names from its root down.
public struct DataTreePath: Sendable, Hashable {
  /// None for the root.
  public let names: [String]

  /// Most names of a path.
  public static let maximumDepth = 32
  /// Most bytes of a name in UTF-8.
  public static let longestName = 768
  /// Of the JSON that is written to a place.
  public static let rules: JSONReader.Rules = {
    var rules = JSONReader.Rules.usual
    rules.longestName = longestName
    return rules
  }()
  public static let root = DataTreePath(checked: [])

  private init(checked names: [String]) { self.names = names }

  /// - Throws: `JSONProblem` when there are more than 32 names, or one of them is no name or not in Unicode's form NFC.
  public init(names: [String]) throws(JSONProblem) {
    guard names.count <= Self.maximumDepth else {
      throw JSONProblem("has more than \(Self.maximumDepth) names", at: "path")
    }
    for name in names { try Self.check(name) }
    self.names = names
  }

  /// Reads a path as subscriptions name it: `/users/alice`, or `/` for the root.
  /// - Throws: `JSONProblem` as above, and for a path that does not begin with a slash.
  public init(text: String) throws(JSONProblem) {
    guard text.utf8.first == UInt8(ascii: "/") else { throw JSONProblem("must begin with /", at: "path") }
    // A name can begin with a mark that would join the slash before it as one character, so bytes are compared.
    let names = text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    try self.init(names: text.utf8.count == 1 ? [] : names.map { String(Substring($0)) })
  }

  /// Ends the sentence that begins with the path. Names that look the same are the same, then, in Swift as in PostgreSQL.
  public static let notComposed = "holds a name that is not in Unicode's form NFC. Send it in NFC"

  private static func check(_ name: String) throws(JSONProblem) {
    switch name {
    case "": throw JSONProblem("holds an empty name", at: "path")
    case ".", "..": throw JSONProblem("holds the name . or .., which no place has", at: "path")
    default: break
    }
    guard name.utf8.count <= longestName else {
      throw JSONProblem("holds a name of more than \(longestName) bytes", at: "path")
    }
    guard let composed = CombiningMarks.composed(name) else {
      throw JSONProblem("holds a name that \(CombiningMarks.problem)", at: "path")
    }
    guard composed.hasSameBytes(as: name) else { throw JSONProblem(notComposed, at: "path") }
    guard !name.utf8.contains(0), !name.utf8.contains(UInt8(ascii: "/")) else {
      throw JSONProblem("holds a name with a slash or U+0000", at: "path")
    }
  }

  /// The place of a child.
  /// - Throws: as `init(names:)`.
  public func child(_ name: some StringProtocol) throws(JSONProblem) -> DataTreePath {
    guard names.count < Self.maximumDepth else {
      throw JSONProblem("has more than \(Self.maximumDepth) names", at: "path")
    }
    let name = String(name)
    try Self.check(name)
    return DataTreePath(checked: names + [name])
  }

  /// The path with a slash at its end, as it is stored: what lies below begins with it.
  public var stored: String { names.isEmpty ? "/" : "/\(names.joined(separator: "/"))/" }

  /// The places above, from the root on.
  public var ancestors: [DataTreePath] { names.indices.map { DataTreePath(checked: Array(names[..<$0])) } }
}

extension DataTreePath: CustomStringConvertible {
  /// As subscriptions and notifications name it: `/users/alice`, or `/`.
  public var description: String { "/" + names.joined(separator: "/") }
}
