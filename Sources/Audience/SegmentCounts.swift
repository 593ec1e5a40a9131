import FoundationEssentials
package import Postgres
import Registry
package import Wire

/// Counts the contacts that meet a filter: an estimate at once, or all of them in the background.
///
/// Each customer has one estimate and one count of all at a time, on the connections of reports. So a heavy filter delays only its own
/// customer.
package struct SegmentCounts: Sendable {
  private let database: any Querying
  private let permits = KeyedSemaphore<CustomerID>(1, mostWaiting: 20)
  /// For counts of all, so that estimates do not wait for them.
  private let countPermits = KeyedSemaphore<CustomerID>(1, mostWaiting: 20)

  /// Seconds after which another hub may take over a count.
  private let lease: Int32
  /// How long each statement of an estimate may take.
  private let estimateLimit: Duration

  /// - Parameter database: for reads that may take long. A count of all takes a transaction of a pool.
  package init(_ database: any Querying, lease: Int32 = 60, estimateLimit: Duration = .seconds(10)) {
    self.database = database
    self.lease = lease
    self.estimateLimit = estimateLimit
  }

  /// A hash divides the contacts into `slices`; an index has those of the first `indexedSlices`.
  static let (slices, indexedSlices) = (1024, 64)
  /// About so many contacts are read for an estimate.
  private static let sample = 5000
  /// A customer with no more contacts gets exact counts always.
  private static let fewContacts = 20_000
  /// What to do in place of an estimate that takes too long.
  package static let insteadOfEstimate =
    "Set exact to true, which counts in the background for as long as it takes, or name fewer sendouts and segments."
  /// Seconds for which the count of a filter is returned again.
  private static let goodFor: Int32 = 60
  /// How long a request waits for a count of all, before it replies how far that is.
  private static let replyTimeout = Duration.seconds(1)

  /// Deletes counts that were begun a day ago.
  package static func forgetOld(_ customer: CustomerID, in pool: Pool) async throws {
    try await pool.deleteInPortions(SegmentCountQueries.forget, customer.rawValue)
  }

  /// Runs a read by a filter, one at a time for each customer.
  package func turn<Answer: Sendable>(
    of customer: CustomerID, _ body: @Sendable () async throws -> Answer
  ) async throws -> Answer {
    try await permits.withPermit(customer, body)
  }

  /// An estimate from some slices of the contacts, always the same ones; the exact count if there are few contacts.
  /// - Throws: `RegistryError.filterTooSlow`; `PostgresError`.
  package func estimate(_ customer: CustomerID, _ filter: ResolvedFilter) async throws -> SegmentCountReply {
    let database = database.limited(to: estimateLimit)
    return try await permits.withPermit(customer) {
      try await FilterSQL.read(orElse: Self.insteadOfEstimate) { try await estimate(customer, filter, in: database) }
    }
  }

  private func estimate(
    _ customer: CustomerID, _ filter: ResolvedFilter, in database: any Querying
  ) async throws -> SegmentCountReply {
    let few = try await database.query(
      SegmentCountQueries.population, customer.rawValue, Int64(Self.fewContacts) + 1)[0].decode(Int.self)
    guard few > Self.fewContacts else {
      let sql = filter.sql
      let count = try ContactCount(
        try await sql.sharingMemory(database, of: customer) {
          try await $0.query(SegmentCountQueries.count(sql, .all), customer.rawValue, sql.literals)
        })
      return try await reply(count, customer, filter)
    }
    let one = try await database.query(SegmentCountQueries.sliceSize, customer.rawValue, Int32(1))[0].decode(Int.self)
    let taken = Self.slicesTaken(contactsInOne: one)
    let sql = filter.sql(for: SegmentCountQueries.Scope.slices.reach)
    let count = try ContactCount(
      try await sql.sharingMemory(database, of: customer) {
        try await $0.query(SegmentCountQueries.count(sql, .slices), customer.rawValue, sql.literals, Int32(taken))
      })
    return try await reply(count, customer, filter, slices: taken)
  }

  /// How many slices have about as many contacts as an estimate reads.
  static func slicesTaken(contactsInOne: Int) -> Int {
    min(max(sample / max(contactsInOne, 1), 1), indexedSlices)
  }

  /// The 95 % interval of a number of contacts of which each was in the sample with probability `share`, when so many were (Wilson's score).
  static func interval(found: Int, share: Double) -> (low: Int, high: Int) {
    let (z, left, found) = (1.959964, 1 - share, Double(found))
    let middle = (2 * found + z * z * left) / (2 * share)
    let half = z * (left * (4 * found + z * z * left)).squareRoot() / (2 * share)
    return (max(Int((middle - half).rounded(.down)), Int(found)), Int((middle + half).rounded(.up)))
  }

  /// The count of all, or how far it is. One hub counts in the background; all hubs reply its progress.
  /// - Throws: `PostgresError`.
  package func exact(_ customer: CustomerID, _ filter: ResolvedFilter) async throws -> SegmentCountReply {
    let identity = filter.identity
    let row = try await database.query(
      SegmentCountQueries.claim, customer.rawValue, identity, Self.goodFor, lease)[0]
    let (isClaimed, percent, result, asOf) = try row.decode(Bool.self, Int32?.self, JSONDocument?.self, Date?.self)
    if !isClaimed, let result, let asOf {
      return try await reply(try ContactCount(result, asOf), customer, filter)
    }
    guard isClaimed else { return SegmentCountReply(exact: true, percent: Int(percent ?? 0), filter: filter.filter) }
    // A task of its own: the count goes on after the request is answered.
    let counting = Task { try await countAll(customer, filter, identity) }
    guard let count = try await Self.value(of: counting, within: Self.replyTimeout) else {
      return SegmentCountReply(exact: true, percent: 0, filter: filter.filter)
    }
    return try await reply(count, customer, filter)
  }

  /// What a task returns; nil if that takes longer.
  private static func value(of task: Task<ContactCount, any Error>, within limit: Duration) async throws
    -> ContactCount?
  {
    let (ends, end) = AsyncStream<Result<ContactCount, any Error>>.makeStream()
    Task {
      end.yield(await task.result)
      end.finish()
    }
    return try await withThrowingTaskGroup(of: ContactCount?.self) { group in
      group.addTask {
        for await result in ends { return try result.get() }
        return nil
      }
      group.addTask {
        try await Task.sleep(for: limit)
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
  }

  private func countAll(_ customer: CustomerID, _ filter: ResolvedFilter, _ identity: String) async throws
    -> ContactCount
  {
    do {
      let count = try await keepingLease(customer, identity) {
        try await countPermits.withPermit(customer) { try await counted(customer, filter, identity) }
      }
      try await database.query(
        SegmentCountQueries.finish, customer.rawValue, identity, JSONDocument(try count.json), count.asOf)
      return count
    } catch {
      _ = try? await database.query(SegmentCountQueries.fail, customer.rawValue, identity, "\(type(of: error))")
      throw error
    }
  }

  /// Extends the lease as long as the count takes: it may wait for its turn, and a statement may read a whole sendout. Else whoever asks again
  /// would begin another count beside it.
  private func keepingLease(
    _ customer: CustomerID, _ identity: String, _ count: @escaping @Sendable () async throws -> ContactCount
  ) async throws -> ContactCount {
    try await withThrowingTaskGroup(of: ContactCount?.self) { group in
      group.addTask { try await count() }
      group.addTask {
        while (try? await Task.sleep(for: .seconds(lease) / 3)) != nil {
          // Should it fail, the next one comes before the lease ends.
          _ = try? await database.query(SegmentCountQueries.progress, customer.rawValue, identity, Int32(0), lease)
        }
        return nil
      }
      defer { group.cancelAll() }
      while let count = try await group.next() { if let count { return count } }
      throw CancellationError()
    }
  }

  private func counted(_ customer: CustomerID, _ filter: ResolvedFilter, _ identity: String) async throws
    -> ContactCount
  {
    guard let pool = database as? Pool else { preconditionFailure("a count of all needs a pool") }
    return try await RangeCount(pool: pool, customer: customer, filter: filter) { percent in
      try await database.query(
        SegmentCountQueries.progress, customer.rawValue, identity, min(percent, 99), lease)
    }.run()
  }

  /// - Parameter slices: of how many slices it is; nil for all contacts.
  private func reply(
    _ count: ContactCount, _ customer: CustomerID, _ filter: ResolvedFilter, slices: Int? = nil
  ) async throws -> SegmentCountReply {
    let share = slices.map { Double($0) / Double(Self.slices) } ?? 1
    func scaled(_ number: Int) -> Int { Int((Double(number) / share).rounded()) }
    let apps = try await PushApps(database).list(customer).compactMap { app in
      count.devices[app.id.rawValue].map {
        SegmentCountReply.App(pushAppId: app.id, appId: app.appID, appType: app.type, devices: scaled($0))
      }
    }
    let ends = slices.map { _ in Self.interval(found: count.contacts, share: share) }
    return SegmentCountReply(
      contacts: scaled(count.contacts), apps: apps, exact: slices == nil, low: ends?.low ?? count.contacts,
      high: ends?.high ?? count.contacts, asOf: Wire.Timestamp(count.asOf), filter: filter.filter)
  }
}

/// Contacts, and valid devices by app.
struct ContactCount: Sendable {
  var contacts = 0
  var devices: [Int64: Int] = [:]
  var asOf: Date

  init(asOf: Date) { self.asOf = asOf }

  init(_ rows: Rows) throws {
    self.init(asOf: try rows[0].column(2, as: Date.self))
    try add(rows)
  }

  mutating func add(_ other: ContactCount) {
    contacts += other.contacts
    devices.merge(other.devices, uniquingKeysWith: +)
  }

  mutating func add(_ rows: Rows) throws {
    for row in rows {
      let (app, count, _) = try row.decode(Int64?.self, Int.self, Date.self)
      if let app { devices[app, default: 0] += count } else { contacts += count }
    }
  }

  /// As `segment_count.result` has it.
  private struct Stored: Codable {
    var contacts: Int
    var devices: [String: Int]
  }

  var json: String {
    get throws {
      let stored = Stored(
        contacts: contacts, devices: Dictionary(uniqueKeysWithValues: devices.map { ("\($0.key)", $0.value) }))
      return String(decoding: try JSONCoding.encode(stored), as: UTF8.self)
    }
  }

  init(_ result: JSONDocument, _ asOf: Date) throws {
    let stored = try JSONCoding.decode(Stored.self, from: result.text.utf8)
    self.init(asOf: asOf)
    contacts = stored.contacts
    for (app, count) in stored.devices { if let app = Int64(app) { devices[app] = count } }
  }
}
