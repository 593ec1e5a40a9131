import Delivery
public import Logging
public import Postgres
import Registry
public import Wire

/// Keeps the ledger's storage in shape: keeps spare partitions, and deletes what is older than its customer keeps.
///
/// Pushes, messages and opens of a sendout that has ended are deleted, as are events of devices; its row and its totals stay. What its contacts
/// came to is written for good before that (`sendout.folded_at`). A sendout that
/// is paused for longer than that is cancelled, since it would keep its pushes for ever. So is one that still runs although no hub can
/// have taken its pushes for as long. A partition is dropped once everything in it has expired for every customer. Rows that cannot wait
/// for that are deleted: at once for customers with a limit of their own, else a month after the hub's limit.
public struct Retention: Sendable {
  private let pool: Pool
  private let days: Int32?
  private let logger: Logger

  /// How long rows past the hub's limit wait for their partition to be dropped, which is about a month wide.
  static let partitionDays: Int32 = 31

  /// - Parameter days: the hub's limit, from a sendout's end; `nil` for ever.
  public init(_ pool: Pool, days: Int32?, logger: Logger) {
    self.pool = pool
    self.days = days
    self.logger = logger
  }

  /// Makes the partitions that will be needed. Hubs that do so at the same time do not hinder each other.
  public func makePartitions() async throws {
    var made: [String] = []
    for row in try await pool.query(RetentionQueries.makePartitions) {
      let (name, problem) = try row.decode(String?.self, String?.self)
      if let name { made.append(name) }
      if let problem {
        logger.warning("a partition could not be made, trying again later", metadata: ["problem": "\(problem)"])
      }
    }
    guard !made.isEmpty else { return }
    logger.info("partitions made", metadata: ["partitions": "\(made.joined(separator: " "))"])
    try await pool.query(RetentionQueries.analyze)
  }

  /// Deletes what has expired, in pieces that are committed one by one, so that it can be stopped and repeated at any time.
  /// - Parameter isTrial: only lists what would go.
  /// - Returns: what went, or would.
  ///   What fails for one customer is logged, counted, and holds up nothing else.
  @discardableResult
  public func run(isTrial: Bool = false) async throws -> ExpiredData {
    var expired = ExpiredData()
    var failed: Set<CustomerID> = []
    if !isTrial {
      failed.formUnion(
        try await Customers(pool).forEach("write the final figures", logger: logger, foldEnded).keys)
    }
    var mayHaveMore = true
    while mayHaveMore {
      mayHaveMore = false
      for row in try await pool.query(RetentionQueries.dropPartitions, days, isTrial) {
        let (name, rows, problem) = try row.decode(String.self, Int.self, String?.self)
        if let problem {
          logger.info(
            "an expired partition is in use, and dropped later",
            metadata: ["partition": "\(name)", "problem": "\(problem)"])
          continue
        }
        expired.partitions.append(ExpiredData.Partition(name: name, knownRows: rows))
        guard !isTrial else { continue }
        logger.info("expired partition dropped", metadata: ["partition": "\(name)", "rows": "\(rows)"])
        mayHaveMore = true
      }
    }
    failed.formUnion(
      try await Customers(pool).forEach("delete the expired data", logger: logger) { customer in
        if let rows = try await expire(customer, isTrial: isTrial) { expired.customers.append(rows) }
      }.keys)
    expired.failures = failed.count
    return expired
  }

  /// Writes for good what reports count of the contacts of sendouts that have ended. Until then their partition stays.
  private func foldEnded(_ customer: Customer) async throws {
    guard let limit = limit(of: customer) else { return }
    for row in try await pool.query(RetentionQueries.unfolded, customer.id.rawValue, limit) {
      try await fold(SendoutKey(customer.id, SendoutID(try row.decode(Int64.self))))
    }
  }

  private func fold(_ key: SendoutKey) async throws {
    try await pool.transaction(of: key.customer.rawValue, limit: Ledger.wholeSendoutLimit) { database in
      let row = try await database.query(
        RetentionQueries.lockUnfolded, key.customer.rawValue, key.sendout.rawValue
      ).first
      guard let isPlanned = try row?.decode(Bool.self) else { return }
      let ledger = Ledger(database)
      // Of other sendouts the totals say all, unless somebody was left out.
      if isPlanned {
        try await ledger.foldContacts(of: key)
      } else if try await ledger.counts(key).skipped > 0 {
        try await ledger.foldContacts(of: key)
      }
      try await database.query(RetentionQueries.markFolded, key.customer.rawValue, key.sendout.rawValue)
    }
  }

  /// How many days the customer keeps what has ended; nil for ever.
  private func limit(of customer: Customer) -> Int32? {
    [days, customer.settings.retentionDays].compactMap(\.self).min()
  }

  /// Cancels what has been paused for longer than the customer keeps what has ended.
  private func cancelForgotten(_ customer: CustomerID, after limit: Int32) async throws {
    for sendout in try await Self.forgotten(customer, after: limit, in: pool).keys {
      let reason = try await pool.transaction(limit: Ledger.wholeSendoutLimit) { database in
        // Somebody may have resumed it meanwhile.
        try await database.query(SendoutQueries.lock, customer.rawValue, sendout.rawValue)
        guard let state = try await Self.forgotten(customer, after: limit, in: database)[sendout] else {
          return String?.none
        }
        let reason = "\(state == "paused" ? "paused" : "not sent") for longer than its retention"
        _ = try await SendoutStore(database).apply(.cancel, to: sendout, of: customer)
        try await database.query(RetentionQueries.explainEnd, customer.rawValue, sendout.rawValue, reason)
        return reason
      }
      if let reason {
        logger.warning(
          "sendout cancelled", metadata: ["sendout": "\(SendoutKey(customer, sendout))", "reason": "\(reason)"])
      }
    }
  }

  /// The sendouts that nobody has taken pushes of for so many days, and their states.
  private static func forgotten(
    _ customer: CustomerID, after limit: Int32, in database: any Querying
  ) async throws -> [SendoutID: String] {
    // Messages of a stream are due up to so long after its day.
    let running = Int32(clamping: Int(limit) + MessageRequest.maximumDelay + 1)
    let rows = try await database.query(RetentionQueries.forgotten, customer.rawValue, limit, running)
    let states = try rows.map { row in
      let (sendout, state) = try row.decode(Int64.self, String.self)
      return (SendoutID(sendout), state)
    }
    return Dictionary(states) { first, _ in first }
  }

  private func expire(_ customer: Customer, isTrial: Bool) async throws -> ExpiredData.Rows? {
    let own = customer.settings.retentionDays
    guard let limit = limit(of: customer) else { return nil }
    let rowLimit = limit == own ? limit : limit + Self.partitionDays
    var rows = ExpiredData.Rows(customer: customer.id)
    if !isTrial { try await cancelForgotten(customer.id, after: limit) }
    for row in try await pool.query(RetentionQueries.expired, customer.id.rawValue, limit, rowLimit) {
      let key = SendoutKey(customer.id, SendoutID(try row.decode(Int64.self)))
      rows.sendouts += 1
      guard !isTrial else {
        rows.pushes += try await Ledger(pool).counts(key).audience
        continue
      }
      try await fold(key)
      rows.pushes += try await Ledger(pool).deleteHistory(of: key)
      try await Ledger(pool).foldBatches(of: key)
      try await pool.query(RetentionQueries.markExpired, key.customer.rawValue, key.sendout.rawValue)
      logger.debug("a sendout's pushes are deleted", metadata: ["sendout": "\(key)"])
    }
    if !isTrial { rows.deviceEvents = try await DeviceEvents(pool).delete(of: customer.id, olderThanDays: rowLimit) }
    guard rows.sendouts + rows.deviceEvents > 0 else { return nil }
    if !isTrial {
      logger.info(
        "expired data deleted",
        metadata: [
          "customer": "\(customer.id)", "days": "\(limit)", "sendouts": "\(rows.sendouts)", "pushes": "\(rows.pushes)",
          "deviceEvents": "\(rows.deviceEvents)",
        ])
    }
    return rows
  }
}

/// What retention deleted, or would delete.
public struct ExpiredData: Sendable, Equatable {
  public struct Partition: Sendable, Equatable {
    public var name: String
    /// The planner's estimate of its rows.
    public var knownRows: Int
  }

  /// Of one customer, row by row.
  public struct Rows: Sendable, Equatable {
    public var customer: CustomerID
    public var sendouts = 0
    /// Pushes that were deleted row by row; those of dropped partitions are not counted.
    public var pushes = 0
    /// Always 0 in a trial.
    public var deviceEvents = 0
  }

  public var partitions: [Partition] = []
  public var customers: [Rows] = []
  /// Customers of whom not everything could be deleted; the log says why.
  public var failures = 0
  public var isEmpty: Bool { partitions.isEmpty && customers.isEmpty }
}
