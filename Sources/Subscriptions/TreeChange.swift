import Crypto
import Wire

/// What a write of a data tree changes, and at which places.
struct TreeChange: Sendable {
  /// Leaves that go, by their stored paths.
  private(set) var removed: [String] = []
  /// Leaves that come or get another value.
  private(set) var written: [String: String] = [:]
  /// What changed at each place whose value is another one, by its stored path.
  private(set) var places: [String: Children] = [:]

  /// Children of a place by name, each with whether it was there before.
  struct Children: Sendable, Equatable {
    var added: Set<String> = []
    var changed: Set<String> = []
    var removed: Set<String> = []
  }

  /// - Parameters:
  ///   - old: the leaves at or below the places that are written, and the one above them, if a leaf stands there.
  ///   - new: the leaves that stand there from now on.
  ///   - others: the places above that have other leaves below them.
  init(from old: DatasyncLeaves, to new: DatasyncLeaves, others: Set<String>) {
    for path in old.json.keys where new.json[path] == nil { removed.append(path) }
    for (path, value) in new.json where old.json[path] != value { written[path] = value }
    guard !removed.isEmpty || !written.isEmpty else { return }
    let before = Self.places(old).union(others)
    let after = Self.places(new).union(others)
    for leaf in removed + written.keys {
      var child: (place: String, name: String)?
      for (place, name) in Self.upwards(from: leaf) {
        let isKnown = places[place] != nil
        places[place, default: Children()].add(child, before, after)
        // What is above was noted with another leaf, but for the way from here.
        if isKnown { break }
        child = (place, name)
      }
    }
  }

  /// The places at and above all of these leaves.
  private static func places(_ leaves: DatasyncLeaves) -> Set<String> {
    var places: Set<String> = []
    for leaf in leaves.json.keys {
      for (place, _) in upwards(from: leaf) where !places.insert(place).inserted { break }
    }
    return places
  }

  /// The stored paths from a place up to the root, each with the last name in it; the root has none.
  private static func upwards(from path: String) -> [(place: String, name: String)] {
    var found: [(place: String, name: String)] = []
    var rest = path.utf8[...]
    while rest.count > 1 {
      let inner = rest.dropLast()
      let start = inner.lastIndex(of: UInt8(ascii: "/")).map(inner.index(after:)) ?? inner.startIndex
      found.append((String(Substring(rest)), String(Substring(inner[start...]))))
      rest = rest[..<start]
    }
    return found + [("/", "")]
  }

  /// The key of a stored path.
  static func key(_ path: String) -> [UInt8] { Array(SHA256.hash(data: Array(path.utf8)).prefix(16)) }
}

extension TreeChange.Children {
  fileprivate mutating func add(
    _ child: (place: String, name: String)?, _ before: Set<String>, _ after: Set<String>
  ) {
    guard let child else { return }
    switch (before.contains(child.place), after.contains(child.place)) {
    case (false, true): added.insert(child.name)
    case (true, true): changed.insert(child.name)
    case (true, false): removed.insert(child.name)
    case (false, false): break
    }
  }

  /// Most bytes of names that one write notes; with more, only that there were too many.
  private static let mostBytes = 65_536

  /// JSON of the names, each with whether it was there before, as `datasync.match` takes them.
  var json: (added: String, changed: String, removed: String) {
    let size = [added, changed, removed].reduce(0) { $0 + $1.reduce(0) { $0 + $1.utf8.count + 8 } }
    guard size <= Self.mostBytes else {
      let tooMany = #"{"": true}"#
      return (
        added.isEmpty ? "{}" : tooMany, changed.isEmpty ? "{}" : tooMany, removed.isEmpty ? "{}" : tooMany
      )
    }
    return (Self.json(added, false), Self.json(changed, true), Self.json(removed, true))
  }

  private static func json(_ names: Set<String>, _ wasThere: Bool) -> String {
    let members = Dictionary(uniqueKeysWithValues: names.map { ($0, JSONValue.bool(wasThere)) })
    return String(decoding: JSONValue.object(members).json, as: UTF8.self)
  }
}
