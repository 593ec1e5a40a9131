/// A value of a data tree as its leaves: by their stored paths, each a text, a number, a boolean or an array in JSON.
///
/// An object is nothing but its members, so one that is empty is the same as null, and neither has a leaf. An array is one value,
/// whose items are no places. Two values are equal if their leaves are.
public struct DataTreeLeaves: Sendable, Equatable {
  public var json: [String: String]

  public init(json: [String: String] = [:]) { self.json = json }

  /// The leaves of a value that stands at `path`.
  /// - Throws: `JSONProblem` for names that no path has, and more than 32 of them.
  public init(_ value: JSONValue, at path: DataTreePath) throws(JSONProblem) {
    json = [:]
    var left = Self.longestPaths
    try add(value, path, &left)
  }

  /// Most bytes of the paths of one value's places, which are its leaves and objects. Each has its whole path, so a small body could take
  /// gigabytes.
  public static let longestPaths = 16 << 20

  private mutating func add(_ value: JSONValue, _ path: DataTreePath, _ left: inout Int) throws(JSONProblem) {
    guard value != .null else { return }
    let stored = path.stored
    left -= stored.utf8.count
    guard left >= 0 else { throw JSONProblem("has places whose paths take more than 16 MiB together") }
    if case .object(let members) = value {
      for (name, member) in members { try add(member, try path.child(name.text), &left) }
    } else {
      json[stored] = String(decoding: value.json, as: UTF8.self)
    }
  }

  /// The value that these leaves make at a place.
  /// - Parameters:
  ///   - path: above all of them, or that of the only one; stored. Empty if the leaves' paths begin there.
  ///   - most: places that it may have, leaves and objects together. Objects take memory though the leaves are few.
  /// - Returns: nil if it has more.
  public func value(at path: String, most: Int = .max) -> JSONValue? {
    // In their order, leaves of the same object follow each other.
    var leaves: [Leaf] = []
    leaves.reserveCapacity(json.count)
    for (leaf, json) in json { leaves.append(Leaf(path: Array(leaf.utf8.dropFirst(path.utf8.count)), json: json)) }
    leaves.sort { $0.path.lexicographicallyPrecedes($1.path) }
    guard most == .max || Self.placeCount(leaves) <= most else { return nil }
    return Self.value(leaves[...], from: 0)
  }

  private struct Leaf {
    let path: [UInt8]
    let json: String
  }

  private static func value(_ leaves: ArraySlice<Leaf>, from offset: Int) -> JSONValue {
    guard let first = leaves.first else { return .null }
    guard offset < first.path.count else {
      return (try? JSONValue(json: Array(first.json.utf8), rules: DataTreePath.rules)) ?? .null
    }
    var members: [UTF8String: JSONValue] = [:]
    var rest = leaves
    while let first = rest.first {
      let name = first.path[offset...].prefix { $0 != UInt8(ascii: "/") }
      let next = min(name.endIndex + 1, first.path.count)
      let member = rest.prefix { $0.path[offset...].starts(with: first.path[offset..<next]) }
      members[UTF8String(String(decoding: name, as: UTF8.self))] = value(member, from: next)
      rest = rest.dropFirst(member.count)
    }
    return .object(members)
  }

  /// How many places leaves make that are in their order: of each one the names that it does not share with the one before.
  private static func placeCount(_ leaves: [Leaf]) -> Int {
    var count = 0
    var last: ArraySlice<UInt8> = []
    for leaf in leaves {
      let shared = zip(leaf.path, last).prefix { $0 == $1 }.count
      count += leaf.path[shared...].count { $0 == UInt8(ascii: "/") }
      last = leaf.path[...]
    }
    return count
  }
}
