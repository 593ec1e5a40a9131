public import Postgres
import Registry
public import Wire

/// The send ledger as whoever starts, stops and watches sendouts sees it: one row for each sendout and device, from intent
/// to outcome to open. How a hub works through it is `BatchLedger`.
public struct Ledger: Sendable {
  let database: any Querying

  /// How many pushes travel in one batch. A claim is committed for each, and so many are uncertain when a hub dies.
  public static let usualBatchSize = 1000

  /// Time limit for a transaction that freezes or cancels a sendout: both take longer the larger it is, a few seconds for a
  /// million pushes. On the server's side they lift the limit themselves.
  public static let wholeSendoutLimit = Duration.seconds(30 * 60)

  /// What freezes, holds, resumes or cancels has to be given a transaction, together with the change of the sendout itself.
  public init(_ database: any Querying) { self.database = database }

  /// Writes the audience into the ledger, a row for each of its valid devices, as it is now. The sendout's row has to be
  /// locked by the caller.
  /// - Returns: the count of devices.
  public func freeze(
    _ key: SendoutKey, app: PushAppID, audience: Audience, batchSize: Int = Self.usualBatchSize
  ) async throws -> Int {
    let customer = key.customer.rawValue, sendout = key.sendout.rawValue, size = Int32(clamping: batchSize)
    try await database.query(FreezeQueries.unlimited)
    let count =
      switch audience {
      case .all:
        try await database.query(FreezeQueries.everyone, customer, app.rawValue, sendout, size).affected
      case .list(let list):
        try await database.query(FreezeQueries.list, customer, app.rawValue, list.rawValue, sendout, size).affected
      case .originalIds(let ids):
        try await database.query(FreezeQueries.originalIDs, customer, app.rawValue, ids, sendout, size).affected
      }
    try await database.query(FreezeQueries.batches, customer, sendout)
    if count >= Self.worthAnalyzing { try await database.query(FreezeQueries.analyze) }
    return count
  }

  /// Rows from which on a freeze is followed by an ANALYZE; for fewer a wrong plan costs less than it.
  private static let worthAnalyzing = 5000

  /// Nothing more is claimed until `resume`. Hubs that have pushes in hand are not waited for.
  public func hold(_ key: SendoutKey) async throws {
    try await database.query(LedgerQueries.hold, key.customer.rawValue, key.sendout.rawValue)
  }

  /// What was held can be claimed again.
  public func resume(_ key: SendoutKey) async throws {
    try await database.query(LedgerQueries.resume, key.customer.rawValue, key.sendout.rawValue)
  }

  /// Nothing more is claimed, ever. Pushes in no hub's hand are cancelled now, the others unless they leave.
  public func cancel(_ key: SendoutKey) async throws {
    try await database.query(FreezeQueries.unlimited)
    try await database.query(LedgerQueries.cancel, key.customer.rawValue, key.sendout.rawValue)
  }

  /// How many pushes stand where; all 0 before the freeze.
  public func counts(_ key: SendoutKey) async throws -> SendoutCounts {
    try await database.query(LedgerQueries.counts, key.customer.rawValue, key.sendout.rawValue).first
      .map(SendoutCounts.init) ?? SendoutCounts()
  }

  /// The sendout's pushes in the order of their devices.
  /// - Parameter state: only those in this state; all when `nil`.
  public func pushes(
    _ key: SendoutKey, state: PushState? = nil, _ page: PageRequest<DeviceID> = PageRequest()
  ) async throws -> Page<PushReply, DeviceID> {
    let rows = try await database.query(
      LedgerQueries.pushes, key.customer.rawValue, key.sendout.rawValue, state?.rawValue, page.after?.rawValue ?? 0,
      page.limit + 1)
    return page.page(of: try rows.map(PushReply.init), cursor: \.deviceId)
  }
}
