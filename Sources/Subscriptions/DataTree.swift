public import Postgres
import Registry
public import Wire

/// The data trees of apps: small values that back ends write, and whose changes devices are notified of.
///
/// A tree is stored as its leaves, each by its path. A write replaces leaves, and notes in the subscriptions what it changed, in one
/// transaction. Writes of an app follow each other.
public struct DataTree: Sendable {
  private let pool: Pool
  /// For large values, which may take long to read.
  private let reading: any Querying
  /// Lets one write of each tree at a time have a connection. Writes of a tree follow each other anyway, and those that wait would hold
  /// the few connections that transactions of all customers share.
  private let turns = KeyedSemaphore<Tree>(1)

  /// Lets one large value of each customer be read at a time; a few others of it may wait.
  private let largeReads = KeyedSemaphore<CustomerID>(1, mostWaiting: 8)
  /// Of all customers one: it takes a processor for up to a second, and several times the memory of its reply.
  private let largeRead = AsyncSemaphore(1)
  /// Large values that are being read, or are on their way to clients.
  private let largeReplies = ByteBudget<CustomerID>(key: 16 << 20, all: 64 << 20)

  private struct Tree: Hashable {
    let customer: CustomerID
    let app: String
  }

  /// Most bytes of a value that is written, and of its JSON.
  public static let longestValue = 1 << 20
  /// Most leaves of a value that is read: more than one that is written has, since the shortest member takes six bytes.
  public static let mostLeaves = 200_000
  /// Most leaves and objects of it. Objects within each other have few leaves, and take as much memory.
  static let mostPlaces = 2 * mostLeaves
  /// Most bytes of these leaves, and of their paths from the place that is read: as many as a value that is written has.
  public static let longestRead = longestValue + DataTreeLeaves.longestPaths

  /// Values with more leaves, or more bytes, are large.
  public static let (fewLeaves, fewBytes) = (1000, 256 << 10)

  /// Most leaves that a write removes at a time.
  private let portion: Int

  /// - Parameter reading: for large values, so that they do not hold up others; the pool itself if `nil`.
  public init(_ pool: Pool, reading: (any Querying)? = nil) { self.init(pool, reading: reading, portion: 1000) }

  init(_ pool: Pool, reading: (any Querying)? = nil, portion: Int) {
    self.pool = pool
    self.reading = reading ?? pool
    self.portion = portion
  }

  /// A change at one place.
  public enum Write: Sendable {
    /// Replaces the value; null removes it.
    case put(JSONValue)
    /// Replaces the named children; null removes one.
    case patch([UTF8String: JSONValue])
  }

  /// A value that was read, in JSON.
  public struct Reading: Sendable {
    public let json: [UInt8]
    /// Of a large value the memory that it takes: to be held until it has been sent.
    public let memory: ByteReservation?
    /// The entity tag, which another value has not. Large values have none, since a write would have to read them to compare it.
    public let tag: String?
  }

  /// The value at a place; null if there is none.
  ///
  /// Large ones are read on connections of their own, one of a customer at a time, and their replies have a budget by customer.
  /// - Parameter isShallow: whether its children are given by their names alone, each being true.
  /// - Throws: `SubscriptionsError.valueTooLarge`, before it is read; `.invalid` for a path that is not in Unicode's form NFC; what
  ///   `DatabaseUnavailable` recognizes when the customer reads too much already.
  public func read(
    _ customer: CustomerID, app: String, at path: DataTreePath, isShallow: Bool = false
  ) async throws -> Reading {
    try await Self.requireNormalized([path.stored], pool)
    let size = try await Self.sizes(pool, customer, app, of: [path.stored], upTo: Self.fewLeaves + 1)[0]
    if !size.isLarge {
      let value = try await Self.values(pool, customer, app, at: [path.stored], most: Self.mostPlaces)[0]
      let json = value.json
      return Reading(
        json: isShallow ? value.shallow.json : json, memory: nil, tag: WriteCondition.tag(of: json))
    }
    return try await largeReads.withPermit(customer) {
      try await largeRead.withPermit { try await readLarge(customer, app: app, at: path, isShallow: isShallow) }
    }
  }

  private static let tooLarge = SubscriptionsError.valueTooLarge(leaves: mostLeaves, bytes: longestRead)

  private func readLarge(
    _ customer: CustomerID, app: String, at path: DataTreePath, isShallow: Bool
  ) async throws -> Reading {
    let size = try await Self.sizes(reading, customer, app, of: [path.stored], upTo: Self.mostLeaves + 1)[0]
    guard size.leaves <= Self.mostLeaves, size.bytes <= Self.longestRead else {
      throw Self.tooLarge
    }
    let memory = try largeReplies.reserve(size.bytes, for: customer)
    let range = Range(path.stored)
    let rows = try await reading.query(
      DataTreeQueries.leaves, customer.rawValue, app, [path.stored], [range.lower], [range.upper])
    var value = DataTreeValueWriter(isShallow: isShallow)
    for row in rows {
      let (_, path, json) = try row.decode(Int.self, String.self, String.self)
      value.add(path, json)
      guard value.placeCount <= Self.mostPlaces else { throw Self.tooLarge }
    }
    return Reading(json: value.finish(), memory: memory, tag: nil)
  }

  /// - Throws: `SubscriptionsError.notNormalized`.
  static func requireNormalized(_ paths: [String], _ database: any Querying) async throws {
    // ASCII is in every form.
    let unsure = paths.filter { $0.utf8.contains { $0 >= 0x80 } }
    guard !unsure.isEmpty else { return }
    guard try await database.query(DataTreeQueries.denormalized, unsure).isEmpty else {
      throw SubscriptionsError.notNormalized
    }
  }

  /// What is at or below a place.
  struct Size: Sendable {
    var leaves: Int
    /// Of the leaves' JSON.
    var valueBytes: Int
    /// Of their paths from the place.
    var pathBytes: Int

    var bytes: Int { valueBytes + pathBytes }
    var isLarge: Bool { leaves > DataTree.fewLeaves || bytes > DataTree.fewBytes }
  }

  /// The sizes of places, in their order.
  /// - Parameter most: leaves that are counted of each place.
  static func sizes(
    _ database: any Querying, _ customer: CustomerID, _ app: String, of places: [String], upTo most: Int
  ) async throws -> [Size] {
    let ranges = places.map(Range.init)
    return try await database.query(
      DataTreeQueries.sizes, customer.rawValue, app, places, ranges.map(\.lower), ranges.map(\.upper), Int64(most)
    ).map { row in
      let (leaves, valueBytes, pathBytes) = try row.decode(Int.self, Int.self, Int.self)
      return Size(leaves: leaves, valueBytes: valueBytes, pathBytes: pathBytes)
    }
  }

  /// The values of places, in their order; null where there is none.
  /// - Parameter most: leaves and objects that one may have.
  static func values(
    _ database: any Querying, _ customer: CustomerID, _ app: String, at places: [String], most: Int = .max
  ) async throws -> [JSONValue] {
    let ranges = places.map(Range.init)
    let rows = try await database.query(
      DataTreeQueries.leaves, customer.rawValue, app, places, ranges.map(\.lower), ranges.map(\.upper))
    var leaves = [DataTreeLeaves](repeating: DataTreeLeaves(), count: places.count)
    for row in rows {
      let (number, path, json) = try row.decode(Int.self, String.self, String.self)
      leaves[number - 1].json[path] = json
    }
    return try leaves.map { leaves in
      guard let value = leaves.value(at: "", most: most) else { throw Self.tooLarge }
      return value
    }
  }

  /// Writes a value. Whatever stands at a place above it as a text, number, boolean or array is replaced.
  /// - Parameter condition: what the value at the path has to be for anything to be written; nil for whatever it is.
  /// - Returns: how many subscriptions have got something to send.
  /// - Throws: `SubscriptionsError.notEnabled`, `.conditionFailed`; `.invalid` for names that are not in NFC; `JSONProblem` for names that no path has, or numbers that are too large.
  @discardableResult
  public func write(
    _ write: Write, _ customer: CustomerID, app: String, at path: DataTreePath, if condition: WriteCondition? = nil
  ) async throws -> Int {
    let noted = try await turns.withPermit(Tree(customer: customer, app: app)) {
      try await pool.transaction(of: customer.rawValue) {
        try await self.write(write, customer, app: app, at: path, if: condition, $0)
      }
    }
    if noted > 0 {
      // The write stands. Hubs look for what is due by themselves, too.
      _ = try? await pool.notify(.dataTree, customer.description)
    }
    return noted
  }

  /// Writes within a transaction. Hubs are not notified.
  func write(
    _ write: Write, _ customer: CustomerID, app: String, at path: DataTreePath, if condition: WriteCondition? = nil,
    _ database: any Querying
  ) async throws -> Int {
    var write = try TreeWrite(write, customer, app, at: path, database, portion: portion)
    guard try await !database.query(DataTreeQueries.lock, customer.rawValue, app).isEmpty else {
      throw SubscriptionsError.notEnabled(app: app)
    }
    if let condition { try await Self.require(condition, database, customer, app, at: path) }
    return try await write.run()
  }

  /// The tree is locked, so that what is compared here is what the write replaces.
  private static func require(
    _ condition: WriteCondition, _ database: any Querying, _ customer: CustomerID, _ app: String, at path: DataTreePath
  ) async throws {
    try await requireNormalized([path.stored], database)
    let size = try await sizes(database, customer, app, of: [path.stored], upTo: fewLeaves + 1)[0]
    var tag: String?
    if !size.isLarge {
      tag = WriteCondition.tag(of: try await values(database, customer, app, at: [path.stored])[0].json)
    }
    guard condition.holds(exists: size.leaves > 0, tag: tag) else { throw SubscriptionsError.conditionFailed }
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

extension JSONValue {
  /// The names of its members, each being true; what has none is itself.
  fileprivate var shallow: JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.mapValues { _ in .bool(true) })
  }
}
