import Postgres
import Providers
import Wire

/// The send ledger as a run works through it: claim a batch, settle its pushes, release it.
struct BatchLedger: Sendable {
  let database: any Querying
  let key: SendoutKey
  let run: RunID
  /// How long a claim holds without being extended.
  let lease: Duration

  /// The next batch that is due, claimed and committed; `nil` if there is none now.
  func claim() async throws -> ClaimedBatch? {
    let asked = ContinuousClock.now
    let rows = try await database.query(
      BatchQueries.claim, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds)
    return try ClaimedBatch(rows, leaseEnd: asked + lease)
  }

  /// Holds on to what is claimed.
  /// - Returns: those that are held still, and until when for certain.
  func extend(_ claims: [Claim]) async throws -> (kept: [Claim], until: ContinuousClock.Instant) {
    let asked = ContinuousClock.now
    let rows = try await database.query(
      BatchQueries.extend, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds, claims.map(\.batch),
      claims.map(\.ordinal))
    let kept = try rows.map { row in
      let (batch, ordinal) = try row.decode(Int32.self, Int32.self)
      return Claim(batch: batch, ordinal: ordinal)
    }
    return (kept, asked + lease)
  }

  /// Writes outcomes. Doing it again changes nothing.
  func settle(_ settlements: [Settlement]) async throws {
    let settlements = settlements.sorted { $0.device < $1.device }
    try await database.query(
      BatchQueries.settle, key.customer.rawValue, key.sendout.rawValue, settlements.map(\.device.rawValue),
      settlements.map(\.state.rawValue), settlements.map(\.reason), settlements.map { $0.left ? Int16(1) : 0 },
      settlements.map(\.sentAt), settlements.map { $0.delay?.inSeconds }, settlements.map { $0.timeout?.inSeconds },
      run.uuid)
  }

  /// Lets go of a batch.
  func release(_ claim: Claim, _ devices: ClosedRange<Int64>) async throws {
    try await database.query(
      BatchQueries.release, key.customer.rawValue, key.sendout.rawValue, claim.batch, run.uuid, devices.lowerBound,
      devices.upperBound, claim.ordinal)
  }

  /// Whether there are pushes for an environment that have not been tried yet. Reads all of the sendout's pushes if there
  /// are none.
  func hasQueued(for environment: APNsEnvironment) async throws -> Bool {
    let rows = try await database.query(
      BatchQueries.hasQueued, key.customer.rawValue, key.sendout.rawValue, environment == .sandbox)
    return try rows[0].decode(Bool.self)
  }

  /// Gives back what was claimed without knowing it, when the answer to a claim was lost; nothing of that has left.
  /// - Parameter known: the batches that this run does know it has.
  func releaseUnknownClaims(except known: Set<Int32>) async throws {
    let rows = try await database.query(
      BatchQueries.claimedBy, key.customer.rawValue, key.sendout.rawValue, run.uuid)
    for row in rows {
      let (batch, ordinal, from, to) = try row.decode(Int32.self, Int32.self, Int64.self, Int64.self)
      if !known.contains(batch) { try await release(Claim(batch: batch, ordinal: ordinal), from...to) }
    }
  }
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
