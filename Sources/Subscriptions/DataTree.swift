public import Postgres
import Registry
public import Wire

/// The data trees of apps: small values that back ends write, and that devices are told of.
///
/// A tree is stored as its leaves, each by its path. A write replaces leaves, and notes in the subscriptions what it changed, in one
/// transaction. Writes of an app follow each other.
public struct DataTree: Sendable {
  private let pool: Pool

  /// Most bytes of a value that is written, and of its JSON.
  public static let longestValue = 1 << 20
  /// Most bytes of the leaves below a place that is read.
  public static let longestRead = 16 << 20

  public init(_ pool: Pool) { self.pool = pool }

  /// A change at one place.
  public enum Write: Sendable {
    /// Replaces the value; null removes it.
    case put(JSONValue)
    /// Replaces the named children; null removes one.
    case patch([String: JSONValue])
  }

  /// The value at a place; null if there is none.
  /// - Throws: `SubscriptionsError.valueTooLarge`.
  public func value(_ customer: CustomerID, app: String, at path: DatasyncPath) async throws -> JSONValue {
    guard
      let leaves = try await Self.leaves(
        pool, customer, app, path.stored, mostBytes: Self.longestRead, most: Self.longestRead / 4)
    else { throw SubscriptionsError.valueTooLarge(limit: Self.longestRead) }
    return leaves.value(at: path.stored)
  }

  /// The leaves at or below a place; nil if there are too many, or they have too many bytes.
  static func leaves(
    _ database: any Querying, _ customer: CustomerID, _ app: String, _ path: String, mostBytes: Int, most: Int
  ) async throws -> DatasyncLeaves? {
    let range = Range(path)
    let (count, bytes) = try await database.query(
      DatasyncQueries.size, customer.rawValue, app, path, range.lower, range.upper, Int64(most) + 1)[0].decode(
        Int.self, Int.self)
    guard count <= most, bytes <= mostBytes else { return nil }
    let rows = try await database.query(
      DatasyncQueries.leaves, customer.rawValue, app, path, range.lower, range.upper)
    return try DatasyncLeaves(rows)
  }

  /// Writes a value. Whatever stands at a place above it as a text, number, boolean or array is replaced.
  /// - Returns: how many subscriptions have to be told.
  /// - Throws: `SubscriptionsError.notEnabled`; `JSONProblem` for names that no path has, or numbers that are too large.
  @discardableResult
  public func write(
    _ write: Write, _ customer: CustomerID, app: String, at path: DatasyncPath
  ) async throws -> Int {
    let (targets, above, new) = try Self.parts(write, path)
    let told = try await pool.transaction { database in
      guard try await !database.query(DatasyncQueries.lock, customer.rawValue, app).isEmpty else {
        throw SubscriptionsError.notEnabled(app: app)
      }
      let change = try await Self.change(database, customer, app, targets, above, new)
      return try await Self.apply(change, database, customer, app)
    }
    if told > 0 {
      // The write stands. Hubs look for what is due by themselves, too.
      _ = try? await pool.query(SubscriptionQueries.notify, NotificationQueue.channel, "\(customer)")
    }
    return told
  }

  /// The places that are written, those above them, and the leaves to come.
  private static func parts(
    _ write: Write, _ path: DatasyncPath
  ) throws -> (targets: [String], above: [String], new: DatasyncLeaves) {
    switch write {
    case .put(let value):
      return ([path.stored], path.ancestors.map(\.stored), try DatasyncLeaves(value, at: path))
    case .patch(let children):
      let targets = try children.keys.map { try path.child($0).stored }
      return (
        targets, (path.ancestors + [path]).map(\.stored), try DatasyncLeaves(.object(children), at: path)
      )
    }
  }

  private static func change(
    _ database: any Querying, _ customer: CustomerID, _ app: String, _ targets: [String], _ above: [String],
    _ new: DatasyncLeaves
  ) async throws -> TreeChange {
    let ranges = targets.map(Range.init)
    var old = try DatasyncLeaves(
      try await database.query(
        DatasyncQueries.leavesBelow, customer.rawValue, app, targets, ranges.map(\.lower), ranges.map(\.upper)))
    let aboveRanges = above.map(Range.init)
    let rows = try await database.query(
      DatasyncQueries.above, customer.rawValue, app, above, aboveRanges.map(\.lower), aboveRanges.map(\.upper), targets,
      above.map { Bytes(TreeChange.key($0)) })
    var others: Set<String> = []
    for row in rows {
      let (path, hasOthers, leaf) = try row.decode(String.self, Bool.self, String?.self)
      if hasOthers { others.insert(path) }
      // Nothing can be below a leaf, so it goes as soon as something comes there.
      if let leaf, !new.json.isEmpty { old.json[path] = leaf }
      if leaf != nil, new.json.isEmpty { return TreeChange(from: old, to: old, others: others) }
    }
    return TreeChange(from: old, to: new, others: others)
  }

  private static func apply(
    _ change: TreeChange, _ database: any Querying, _ customer: CustomerID, _ app: String
  ) async throws -> Int {
    if !change.removed.isEmpty {
      try await database.query(
        DatasyncQueries.remove, customer.rawValue, app, change.removed.map { Bytes(TreeChange.key($0)) })
    }
    if !change.written.isEmpty {
      let written = Array(change.written)
      try await database.query(
        DatasyncQueries.put, customer.rawValue, app, written.map { Bytes(TreeChange.key($0.key)) }, written.map(\.key),
        written.map(\.value))
    }
    guard !change.places.isEmpty else { return 0 }
    let places = Array(change.places)
    let children = places.map(\.value.json)
    return try await database.query(
      DatasyncQueries.match, customer.rawValue, app, places.map { Bytes(TreeChange.key($0.key)) }, places.map(\.key),
      children.map(\.added), children.map(\.changed), children.map(\.removed))[0].decode(Int.self)
  }

  /// Where the index has what begins with a stored path, by its first 500 characters.
  struct Range {
    let lower: String
    let upper: String

    init(_ path: String) {
      let scalars = path.unicodeScalars
      lower = String(String.UnicodeScalarView(scalars.prefix(500)))
      // "0" is the character behind the slash at the path's end.
      upper = scalars.count <= 500 ? String(path.unicodeScalars.dropLast()) + "0" : lower + "\u{1}"
    }
  }
}

extension DatasyncLeaves {
  fileprivate init(_ rows: Rows) throws {
    self.init()
    for row in rows {
      let (path, value) = try row.decode(String.self, String.self)
      json[path] = value
    }
  }
}
