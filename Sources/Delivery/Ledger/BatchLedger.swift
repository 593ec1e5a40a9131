import Postgres
import Wire

/// The send ledger as a run works through it: claim a batch, settle its pushes, release it.
struct BatchLedger: Sendable {
  let database: any Querying
  let key: SendoutKey
  let run: RunID
  /// How long a claim holds without being extended.
  let lease: Duration
  /// How long a push is tried again after it was first put off.
  let patience: Duration

  /// The next batch that is due, claimed and committed; `nil` if there is none now.
  func claim() async throws -> ClaimedBatch? {
    let now = ContinuousClock.now
    let rows = try await database.query(
      BatchQueries.claim, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds)
    return try ClaimedBatch(rows, claimedAt: now)
  }

  /// Holds on to everything claimed.
  func extend() async throws {
    try await database.query(
      BatchQueries.extend, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds)
  }

  /// Writes outcomes. Doing it again changes nothing.
  func settle(_ settlements: [Settlement]) async throws {
    let settlements = settlements.sorted { $0.device < $1.device }
    try await database.query(
      BatchQueries.settle, key.customer.rawValue, key.sendout.rawValue, settlements.map(\.device.rawValue),
      settlements.map(\.state.rawValue), settlements.map(\.reason), settlements.map { $0.left ? Int16(1) : 0 },
      settlements.map(\.sentAt), settlements.map { $0.delay?.inSeconds }, patience.inSeconds)
  }

  /// Lets go of a batch.
  func release(_ batch: Int32, _ devices: ClosedRange<Int64>) async throws {
    try await database.query(
      BatchQueries.release, key.customer.rawValue, key.sendout.rawValue, batch, run.uuid, devices.lowerBound,
      devices.upperBound)
  }

  /// Gives back what was claimed without knowing it, when the answer to a claim was lost; nothing of that has left.
  /// - Parameter known: the batches that this run does know it has.
  func disown(except known: Set<Int32>) async throws {
    let rows = try await database.query(
      BatchQueries.claimedBy, key.customer.rawValue, key.sendout.rawValue, run.uuid)
    for row in rows {
      let (batch, from, to) = try row.decode(Int32.self, Int64.self, Int64.self)
      if !known.contains(batch) { try await release(batch, from...to) }
    }
  }
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
