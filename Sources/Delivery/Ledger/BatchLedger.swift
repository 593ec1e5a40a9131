import FoundationEssentials
import Postgres
import Providers
import Wire

/// The ledger as a run uses it: claim a batch, settle its pushes, release it.
struct BatchLedger: Sendable {
  let database: any Querying
  let key: SendoutKey
  let run: RunID
  /// How long a claim is valid without being extended.
  let lease: Duration

  /// The next batch that is due, claimed and committed; `nil` if there is none now.
  func claim() async throws -> ClaimedBatch? {
    let asked = ContinuousClock.now
    let rows = try await database.query(
      BatchQueries.claim, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds)
    return try ClaimedBatch(rows, leaseEnd: asked + lease)
  }

  /// Extends claims.
  /// - Returns: the claims that are still this run's, and until when they certainly are.
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

  /// Writes outcomes. Writing them again changes nothing.
  func settle(_ settlements: [Settlement]) async throws {
    let settlements = settlements.sorted { $0.device < $1.device }
    try await database.query(
      BatchQueries.settle, key.customer.rawValue, key.sendout.rawValue, settlements.map(\.device.rawValue),
      settlements.map(\.state.rawValue), settlements.map(\.reason), settlements.map { $0.left ? Int16(1) : 0 },
      settlements.map(\.sentAt), settlements.map { $0.delay?.inSeconds }, settlements.map { $0.timeout?.inSeconds },
      run.uuid)
  }

  /// Releases a batch.
  func release(_ claim: Claim, _ devices: ClosedRange<Int64>) async throws {
    try await database.query(
      BatchQueries.release, key.customer.rawValue, key.sendout.rawValue, claim.batch, run.uuid, devices.lowerBound,
      devices.upperBound, claim.ordinal)
  }

  /// Whether there are queued pushes for an environment. Reads all of the sendout's pushes if there are none.
  func hasQueued(for environment: APNsEnvironment) async throws -> Bool {
    let rows = try await database.query(
      BatchQueries.hasQueued, key.customer.rawValue, key.sendout.rawValue, environment == .sandbox)
    return try rows[0].decode(Bool.self)
  }

  /// Releases batches that were claimed by a statement whose reply was lost; nothing of them has left.
  /// - Parameter known: the batches that this run knows it has claimed.
  func releaseUnknownClaims(except known: Set<Int32>) async throws {
    let rows = try await database.query(
      BatchQueries.claimedBy, key.customer.rawValue, key.sendout.rawValue, run.uuid)
    for row in rows {
      let (batch, ordinal, from, to) = try row.decode(Int32.self, Int32.self, Int64.self, Int64.self)
      if !known.contains(batch) { try await release(Claim(batch: batch, ordinal: ordinal), from...to) }
    }
  }
}

/// One claim of a batch. A later claim of the same batch is another one, so that a run that was suspended does not take it for
/// its own.
struct Claim: Sendable, Hashable {
  let batch: Int32
  /// How often the batch had been claimed by then, this time included.
  let ordinal: Int32
}

/// One run of a sendout on a hub, from its start to its end; the owner of claims. The next run of the same hub is another one, and
/// neither extends nor releases claims that this one abandoned.
struct RunID: Sendable, Hashable {
  let uuid: UUID
  init(_ uuid: UUID = UUID()) { self.uuid = uuid }
}

/// A batch that this run has claimed, and its pushes that are to be sent now.
struct ClaimedBatch: Sendable {
  let claim: Claim
  let devices: ClosedRange<Int64>
  var pushes: [QueuedPush]
  /// Whether some of them were tried before.
  let isRetry: Bool
  /// When the lease may expire: its length after the claim was requested, which is a little before it was granted.
  let leaseEnd: ContinuousClock.Instant
}

/// A push that is to be sent.
struct QueuedPush: Sendable, Equatable {
  let device: DeviceID
  /// The device's contact when the audience was frozen.
  let contact: ContactID
  /// How often it left before.
  let attempts: Int
  /// When it expires; `nil` if it was never delayed.
  let giveUpAt: Date?
}

extension ClaimedBatch {
  /// - Returns: `nil` when there was nothing to claim.
  init?(_ rows: Rows, leaseEnd: ContinuousClock.Instant) throws {
    guard let first = rows.first else { return nil }
    let (batch, ordinal, from, to) = try first.decode(Int32.self, Int32.self, Int64.self, Int64.self)
    var isRetry = false
    let pushes = try rows.compactMap { row -> QueuedPush? in
      let (_, _, _, _, device, contact, attempts, giveUpAt, isAgain) = try row.decode(
        Int32.self, Int32.self, Int64.self, Int64.self, Int64?.self, Int64?.self, Int32?.self, Date?.self, Bool.self)
      if isAgain { isRetry = true }
      guard let device, let contact, let attempts else { return nil }
      return QueuedPush(
        device: DeviceID(device), contact: ContactID(contact), attempts: Int(attempts), giveUpAt: giveUpAt)
    }
    self.init(
      claim: Claim(batch: batch, ordinal: ordinal), devices: from...to, pushes: pushes, isRetry: isRetry,
      leaseEnd: leaseEnd)
  }
}

/// The outcome of one push, as it is written to the ledger.
struct Settlement: Sendable, Equatable {
  var device: DeviceID
  var state: PushState
  var reason: String?
  /// Whether it left, or may have left.
  var left: Bool
  /// When it left.
  var sentAt: Date?
  /// How long to wait before the next attempt; only when waiting.
  var delay: Duration?
  /// How long after its first delay it expires; never if `nil`.
  var timeout: Duration?
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
