import FoundationEssentials
import Postgres
import Registry
import Wire

/// One write of a data tree, within the transaction that has locked it.
///
/// The leaves that it removes are read and removed in portions, so what a write replaces may be of any size. Each step is linear
/// in the leaves that are written and removed, whatever else is in the tree.
struct TreeWrite {
  private let database: any Querying
  private let customer: CustomerID
  private let app: String
  /// The places that are written, and those above them; stored.
  private let targets: [String]
  private let above: [String]
  private let allTargets: Set<String>
  private let new: DataTreeLeaves
  private let newPlaces: Set<String>

  /// Leaves that the next portion removes.
  private var stale: [String] = []
  private var staleBytes = 0
  /// The leaf above, if it is removed. It has nothing below it.
  private var leafAbove: [String] = []
  /// Written places of which earlier portions were removed.
  private var touched: Set<String> = []
  /// Of the places of the new value those that had leaves before.
  private var before: Set<String> = []
  private var noted = 0

  /// Most leaves of a portion.
  private let portion: Int
  /// Bytes of paths that make a portion full.
  private static let portionBytes = 1 << 20

  init(
    _ write: DataTree.Write, _ customer: CustomerID, _ app: String, at path: DataTreePath, _ database: any Querying,
    portion: Int
  ) throws(JSONProblem) {
    self.database = database
    self.customer = customer
    self.app = app
    self.portion = portion
    switch write {
    case .put(let value):
      targets = [path.stored]
      above = path.ancestors.map(\.stored)
      new = try DataTreeLeaves(value, at: path)
    case .patch(let children):
      var targets: [String] = []
      for name in children.keys { targets.append(try path.child(name.text).stored) }
      self.targets = targets
      above = (path.ancestors + [path]).map(\.stored)
      new = try DataTreeLeaves(.object(children), at: path)
    }
    newPlaces = TreeChange.places(new.json.keys)
    allTargets = Set(targets)
  }

  /// - Returns: how many subscriptions have got something to send.
  mutating func run() async throws -> Int {
    try await DataTree.requireNormalized(targets, database)
    let leaves = Array(new.json)
    let known = try await database.query(
      DataTreeQueries.known, customer.rawValue, app, (leaves.map(\.key) + above).map { Bytes(TreeChange.key($0)) },
      leaves.map(\.value) + above.map { _ in "" })
    var written = new.json
    var there: [String] = []
    // Of other digits, and of the same value: written, and reported to nobody.
    var rewritten: Set<String> = []
    for row in known {
      let (number, isEqual, other) = try row.decode(Int.self, Bool.self, String?.self)
      guard number <= leaves.count else {
        // It is removed as soon as something is written below it.
        guard !leaves.isEmpty else { return 0 }
        leafAbove = [above[number - leaves.count - 1]]
        continue
      }
      let path = leaves[number - 1].key
      there.append(path)
      if isEqual { written[path] = nil }
      func value(_ json: String) throws -> JSONValue {
        try JSONValue(json: Array(json.utf8), rules: DataTreePath.rules)
      }
      if let other, try value(other) == value(leaves[number - 1].value) { rewritten.insert(path) }
    }
    before = TreeChange.places(there)
    try await removeStale()
    let changed = stale + leafAbove + touched + written.keys.filter { !rewritten.contains($0) }
    if !(changed.isEmpty && written.isEmpty) { try await finish(written, changed) }
    if let alone {
      try await database.query(
        DataTreeQueries.lengthenClaims, customer.rawValue, app, alone.since, (.now - alone.asked) / .seconds(1))
    }
    return noted
  }

  /// Finds the leaves to remove, and removes all but the last portion of them.
  private mutating func removeStale() async throws {
    for start in stride(from: 0, to: targets.count, by: portion) {
      let slice = Array(targets[start..<min(start + portion, targets.count)])
      try await findStale(below: slice)
    }
  }

  private mutating func findStale(below places: [String]) async throws {
    var rows = try await page(of: places, behind: nil)
    if rows.count < portion { return try await add(rows) }
    guard places.count == 1 else {
      // Too many together: only those of one place have an order in which they can be read on.
      try await findStale(below: Array(places.prefix(places.count / 2)))
      return try await findStale(below: Array(places.dropFirst(places.count / 2)))
    }
    while !rows.isEmpty {
      try await add(rows)
      rows = rows.count < portion ? [] : try await page(of: places, behind: rows.last)
    }
  }

  private func page(
    of places: [String], behind last: (path: String, key: Bytes)?
  ) async throws -> [(path: String, key: Bytes)] {
    let ranges = places.map(DataTree.Range.init)
    return try await database.query(
      DataTreeQueries.page, customer.rawValue, app, places, ranges.map(\.lower), ranges.map(\.upper),
      last.map { String(String.UnicodeScalarView($0.path.unicodeScalars.prefix(500))) } ?? "", last?.key ?? Bytes([]),
      Int64(portion)
    ).map { row in
      let (path, key) = try row.decode(String.self, Bytes.self)
      return (path, key)
    }
  }

  private mutating func add(_ leaves: [(path: String, key: Bytes)]) async throws {
    for (path, _) in leaves where new.json[path] == nil {
      stale.append(path)
      staleBytes += path.utf8.count
      if stale.count >= portion || staleBytes >= Self.portionBytes { try await removePortion() }
    }
  }

  /// Since when this write alone locks subscriptions.
  private var alone: (asked: ContinuousClock.Instant, since: Date)?

  /// Removes leaves, and notes that at and below the places that are written. What changes above them is known at the end.
  private mutating func removePortion() async throws {
    if alone == nil {
      let asked = ContinuousClock.now
      alone = (asked, try await database.query(DataTreeQueries.lockAlone, customer.rawValue, app)[0].decode(Date.self))
    }
    try await remove(stale)
    let gone = TreeChange.places(stale)
    before.formUnion(gone.intersection(newPlaces))
    touched.formUnion(gone.intersection(allTargets))
    let change = TreeChange(of: stale, before: gone, after: newPlaces)
    try await match(change.places.filter { !above.contains($0.key) })
    stale = []
    staleBytes = 0
  }

  /// Removes the rest and writes the new leaves.
  private mutating func finish(_ written: [String: String], _ changed: [String]) async throws {
    try await remove(stale + leafAbove)
    before.formUnion(TreeChange.places(stale + leafAbove + touched))
    let others = try await present(above)
    if !written.isEmpty { try await put(Array(written)) }
    try await match(TreeChange(of: changed, before: before.union(others), after: newPlaces.union(others)).places)
  }

  private func put(_ leaves: [(key: String, value: String)]) async throws {
    do {
      try await database.query(
        DataTreeQueries.put, customer.rawValue, app, leaves.map { Bytes(TreeChange.key($0.key)) }, leaves.map(\.key),
        leaves.map(\.value))
    } catch let error as PostgresError where error.constraint == "data_tree_node_path_normalized" {
      throw SubscriptionsError.notNormalized
    }
  }

  private func remove(_ leaves: [String]) async throws {
    guard !leaves.isEmpty else { return }
    try await database.query(
      DataTreeQueries.remove, customer.rawValue, app, leaves.map { Bytes(TreeChange.key($0)) })
  }

  /// Which of the places have leaves now.
  private func present(_ places: [String]) async throws -> Set<String> {
    guard !places.isEmpty else { return [] }
    let ranges = places.map(DataTree.Range.init)
    let rows = try await database.query(
      DataTreeQueries.present, customer.rawValue, app, places, ranges.map(\.lower), ranges.map(\.upper))
    return Set(try rows.map { places[try $0.decode(Int.self) - 1] })
  }

  private mutating func match(_ changes: [String: TreeChange.Children]) async throws {
    guard !changes.isEmpty else { return }
    let places = Array(changes)
    let children = places.map(\.value.json)
    noted += try await database.query(
      DataTreeQueries.match, customer.rawValue, app, places.map { Bytes(TreeChange.key($0.key)) }, places.map(\.key),
      children.map(\.added), children.map(\.changed), children.map(\.removed))[0].decode(Int.self)
  }
}
