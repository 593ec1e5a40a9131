import Crypto
import Wire

/// At which places a write of a data tree changes the value, and what.
struct TreeChange: Sendable {
  /// What changed at each place whose value is another one, by its stored path.
  private(set) var places: [String: Children] = [:]

  /// Children of a place by name, each with whether it was there before.
  struct Children: Sendable, Equatable {
    var added: Set<String> = []
    var changed: Set<String> = []
    var removed: Set<String> = []
  }

  /// - Parameters:
  ///   - leaves: the stored paths of those that are added, removed or changed.
  ///   - before: of the places at and above them those that had leaves, and any others.
  ///   - after: of these places those that have leaves from now on, and any others.
  init(of leaves: [String], before: Set<String>, after: Set<String>) {
    for leaf in leaves {
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
  static func places(_ leaves: some Sequence<String>) -> Set<String> {
    var places: Set<String> = []
    for leaf in leaves {
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

  /// Most bytes of names that one write notes as added, changed or removed; with more, only that there were too many.
  private static let mostBytes = 65_536

  /// JSON of the names, each with whether it was there before, as `data_tree.match` takes them.
  var json: (added: String, changed: String, removed: String) {
    (Self.json(added, false), Self.json(changed, true), Self.json(removed, true))
  }

  private static func json(_ names: Set<String>, _ wasThere: Bool) -> String {
    guard names.reduce(0, { $0 + $1.utf8.count + 8 }) <= mostBytes else { return #"{"": true}"# }
    let members = Dictionary(named: names.map { ($0, JSONValue.bool(wasThere)) })
    return String(decoding: JSONValue.object(members).json, as: UTF8.self)
  }
}
