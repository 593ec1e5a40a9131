/// A value of a data tree as its leaves: by their stored paths, each a text, a number, a boolean or an array in JSON.
///
/// An object is nothing but its members, so one that is empty is the same as null, and neither has a leaf. An array is one value,
/// whose items are no places. Two values are equal if their leaves are.
public struct DatasyncLeaves: Sendable, Equatable {
  public var json: [String: String]

  public init(json: [String: String] = [:]) { self.json = json }

  /// The leaves of a value that stands at `path`.
  /// - Throws: `JSONProblem` for names that no path has, more than 32 of them, and numbers beyond those of 64 bits.
  public init(_ value: JSONValue, at path: DatasyncPath) throws(JSONProblem) {
    json = [:]
    var left = Self.longestPaths
    try add(value, path, &left)
  }

  /// Most bytes of the paths of one value's leaves. Each leaf has its whole path, so a small body could take gigabytes.
  public static let longestPaths = 16 << 20

  private mutating func add(_ value: JSONValue, _ path: DatasyncPath, _ left: inout Int) throws(JSONProblem) {
    switch value {
    case .null: break
    case .object(let members):
      for (name, member) in members { try add(member, try path.child(name), &left) }
    default:
      guard value.isFinite else { throw JSONProblem("holds a number that is too large") }
      let stored = path.stored
      left -= stored.utf8.count
      guard left >= 0 else { throw JSONProblem("has leaves whose paths take more than 16 MiB together") }
      json[stored] = String(decoding: value.json, as: UTF8.self)
    }
  }

  /// The value that these leaves make at a place.
  /// - Parameter path: above all of them, or that of the only one; stored. Empty if the leaves' paths begin there.
  public func value(at path: String) -> JSONValue {
    let root = Node()
    for (leaf, json) in self.json {
      let names = leaf.utf8.dropFirst(path.utf8.count).split(separator: UInt8(ascii: "/"))
      root.set(names.map { String(Substring($0)) }[...], (try? JSONValue(json: Array(json.utf8))) ?? .null)
    }
    return root.value
  }

  private final class Node {
    var leaf: JSONValue?
    var children: [String: Node] = [:]

    func set(_ names: ArraySlice<String>, _ value: JSONValue) {
      guard let first = names.first else { return leaf = value }
      if children[first] == nil { children[first] = Node() }
      children[first]?.set(names.dropFirst(), value)
    }

    var value: JSONValue {
      if let leaf { return leaf }
      guard !children.isEmpty else { return .null }
      return .object(Dictionary(uniqueKeysWithValues: children.map { ($0, $1.value) }))
    }
  }
}

extension JSONValue {
  /// Whether every number in it can be written as JSON.
  fileprivate var isFinite: Bool {
    switch self {
    case .number(let number): number.isFinite
    case .array(let values): values.allSatisfy(\.isFinite)
    case .object(let members): members.values.allSatisfy(\.isFinite)
    default: true
    }
  }
}
