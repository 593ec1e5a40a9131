import FoundationEssentials
import Postgres
import Providers
public import Wire

/// The ledger as a run uses it: claim a batch, settle its pushes, release it.
struct BatchLedger: Sendable {
  let database: any Querying
  let key: SendoutKey
  let lane: Lane
  let run: RunID
  /// How long a claim is valid without being extended.
  let lease: Duration
  /// Whether it is a stream of tracked messages.
  var isTracked = false
  /// What claims decide about each push; nil for nothing.
  var rules: SendRules?
  /// Of a broadcast with rules: nothing leaves after it.
  var endAt: Date?
  /// Of a stream with rules.
  var places: ContactPlaces?

  /// The lane's next batch that is due, claimed and committed, without its pushes; `nil` if there is none now.
  func claim() async throws -> ClaimedBatch? {
    try await claimed { database in
      guard let rules else {
        return try await database.query(
          BatchQueries.claim, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds, lane.app.rawValue,
          lane.isSandbox)
      }
      let (quietHours, caps) = (rules.quietHours, CapSQL.Parameters(rules.caps))
      if let places {
        return try await database.query(
          RuledClaimQueries.claimMessages, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds,
          lane.app.rawValue, lane.isSandbox, quietHours?.start.description, quietHours?.end.description,
          quietHours?.policy?.rawValue, Int32(rules.holdMinutes), caps.counts, caps.hours, caps.purposes, caps.names,
          rules.purpose.rawValue, Int32(rules.keptMoments), rules.ignoresCaps, places.customerZone,
          places.countryZones.countries, places.countryZones.zones)
      }
      return try await database.query(
        RuledClaimQueries.claim, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds,
        lane.app.rawValue, lane.isSandbox, quietHours?.start.description, quietHours?.end.description,
        quietHours?.policy?.rawValue, Int32(rules.holdMinutes), caps.counts, caps.hours, caps.purposes, caps.names,
        rules.purpose.rawValue, Int32(rules.keptMoments), rules.ignoresCaps, endAt, Double(rules.lateSeconds),
        rules.ttl.map(Double.init), rules.ratePerSecond.map(Double.init))
    }
  }

  /// The lane's next batch that has an expired message, claimed as by `claim`.
  /// - Parameter batches: stay as they are.
  func claimExpired(except batches: [Int32]) async throws -> ClaimedBatch? {
    try await claimed {
      try await $0.query(
        BatchQueries.claimExpired, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds,
        lane.app.rawValue, lane.isSandbox, batches)
    }
  }

  private func claimed(_ ask: (any Querying) async throws -> Rows) async throws -> ClaimedBatch? {
    let asked = ContinuousClock.now
    guard let row = try await ask(database).first else { return nil }
    let (batch, ordinal, first, last, isRetry) = try row.decode(
      Int32.self, Int32.self, Int64.self, Int64.self, Bool.self)
    var claimed = ClaimedBatch(
      claim: Claim(batch: batch, ordinal: ordinal), range: first...last, pushes: [], isRetry: isRetry,
      leaseEnd: asked + lease)
    if rules != nil { claimed.plannedAt = try row.get("planned_at") }
    return claimed
  }

  /// The pushes of a claimed batch that are to be sent, in the order of their numbers.
  func pushes(of batch: ClaimedBatch) async throws -> [QueuedPush] {
    let asked = ContinuousClock.now
    return try await database.query(
      BatchQueries.pushes, key.customer.rawValue, key.sendout.rawValue, batch.range.lowerBound, batch.range.upperBound
    ).map { row in
      let (number, device, contact, message, variant, attempts, secondsLeft) = try row.decode(
        Int64.self, Int64.self, Int64.self, Int32?.self, Int16?.self, Int32.self, Double?.self)
      return QueuedPush(
        number: PushNumber(number), batch: batch.claim.batch, device: DeviceID(device),
        contact: ContactID(contact), message: message, variant: variant, attempts: Int(attempts),
        giveUpAt: secondsLeft.map { asked + .seconds($0) })
    }
  }

  /// Moves write-ahead marks, before bytes leave.
  /// - Returns: the batches that are still this run's; of any other nothing may leave.
  func advance(_ marks: [WriteAheadMark]) async throws -> Set<Int32> {
    let marks = marks.sorted { $0.claim.batch < $1.claim.batch }
    let rows = try await database.query(
      BatchQueries.advance, key.customer.rawValue, key.sendout.rawValue, run.uuid, marks.map(\.claim.batch),
      marks.map(\.claim.ordinal), marks.map(\.push.rawValue))
    return Set(try rows.map { try $0.decode(Int32.self) })
  }

  /// Extends claims.
  /// - Returns: the claims that are still this run's, and until when they certainly are.
  func extend(_ claims: [Claim]) async throws -> (kept: [Claim], until: ContinuousClock.Instant) {
    let asked = ContinuousClock.now
    let claims = claims.sorted { $0.batch < $1.batch }
    let rows = try await database.query(
      BatchQueries.extend, key.customer.rawValue, key.sendout.rawValue, run.uuid, lease.inSeconds, claims.map(\.batch),
      claims.map(\.ordinal))
    let kept = try rows.map { row in
      let (batch, ordinal) = try row.decode(Int32.self, Int32.self)
      return Claim(batch: batch, ordinal: ordinal)
    }
    return (kept, asked + lease)
  }

  /// Writes outcomes, and moves a batch's write-ahead mark in the same commit. Writing outcomes again changes nothing.
  ///
  /// Some may be late: after an outage that was longer than the lease, another hub has requeued their batch and counted them as
  /// uncertain. Final outcomes are written nevertheless.
  /// - Returns: the batches that are settled with them, and need no release; and whether the mark was moved. If it was not, the batch
  ///   is no longer this run's, and nothing of it may leave.
  @discardableResult
  func settle(
    _ settlements: [Settlement], marking mark: WriteAheadMark? = nil
  ) async throws -> (settled: [Int32], isMarked: Bool) {
    let settlements = settlements.sorted { $0.push < $1.push }
    let batches = Set(settlements.map(\.batch)).union(mark.map { [$0.claim.batch] } ?? [])
    let (written, settled, isMarked) = try await database.query(
      isTracked ? BatchQueries.settleTracked : BatchQueries.settle, key.customer.rawValue, key.sendout.rawValue,
      settlements.map(\.push.rawValue),
      settlements.map(\.state.rawValue), settlements.map(\.reason), settlements.map { $0.left ? Int16(1) : 0 },
      settlements.map(\.sentAt), settlements.map { $0.delay?.inSeconds }, settlements.map { $0.timeout?.inSeconds },
      run.uuid, batches.sorted(), mark?.claim.batch, mark?.claim.ordinal, mark?.push.rawValue)[0].decode(
        Int.self, [Int32].self, Bool.self)
    let final = settlements.filter { $0.left && ($0.state == .accepted || $0.state == .failed) }
    guard written < settlements.count, !final.isEmpty else { return (settled, isMarked) }
    try await database.query(
      isTracked ? BatchQueries.correctTracked : BatchQueries.correct, key.customer.rawValue, key.sendout.rawValue,
      final.map(\.push.rawValue),
      final.map(\.state.rawValue), final.map(\.reason), Set(final.map(\.batch)).sorted())
    return (settled, isMarked)
  }

  /// Counts tokens that came back as invalid without a date in the claim's batch.
  func countInvalid(_ count: Int, of claim: Claim) async throws {
    try await database.query(
      BreakerQueries.count, key.customer.rawValue, key.sendout.rawValue, claim.batch, run.uuid, claim.ordinal,
      Int32(count))
  }

  /// What the lane's last batches came back with, on all hubs, and whether its circuit breaker is open.
  func answers() async throws -> LaneAnswers {
    let (answered, invalid, isOpen) = try await database.query(
      BreakerQueries.answers, key.customer.rawValue, key.sendout.rawValue, lane.app.rawValue, lane.isSandbox)[0].decode(
        Int.self, Int.self, Bool.self)
    return LaneAnswers(answered: answered, invalid: invalid, isOpen: isOpen)
  }

  /// Opens the lane's circuit breaker for the rest of the sendout, unless a hub has.
  /// - Parameter retired: invalid tokens before, whose devices may have been retired.
  func openBreaker(_ answers: LaneAnswers, retired: Int) async throws {
    try await database.query(
      BreakerQueries.open, key.customer.rawValue, key.sendout.rawValue, lane.app.rawValue, lane.isSandbox,
      Int32(answers.answered), Int32(answers.invalid), Int32(retired))
  }

  /// How many devices of the lane may have been retired before its circuit breaker opened.
  func retiredBeforeOpening() async throws -> Int {
    try await database.query(
      BreakerQueries.retired, key.customer.rawValue, key.sendout.rawValue, lane.app.rawValue, lane.isSandbox
    ).first?.decode(Int.self) ?? 0
  }

  /// Releases a batch.
  func release(_ claim: Claim) async throws {
    try await database.query(
      BatchQueries.release, key.customer.rawValue, key.sendout.rawValue, claim.batch, run.uuid, claim.ordinal)
  }

  /// Releases batches that were claimed by a statement whose reply was lost; nothing of them has left.
  /// - Parameter known: the batches that this run knows it has claimed.
  func releaseUnknownClaims(except known: Set<Int32>) async throws {
    let rows = try await database.query(
      BatchQueries.claimedBy, key.customer.rawValue, key.sendout.rawValue, run.uuid)
    for row in rows {
      let (batch, ordinal) = try row.decode(Int32.self, Int32.self)
      if !known.contains(batch) { try await release(Claim(batch: batch, ordinal: ordinal)) }
    }
  }
}

/// An app and an environment of its push service: what a batch's pushes have in common. Credentials, outages and circuit breakers
/// concern a lane as a whole.
public struct Lane: Sendable, Hashable {
  public let app: PushAppID
  public let isSandbox: Bool

  public init(app: PushAppID, isSandbox: Bool) {
    self.app = app
    self.isSandbox = isSandbox
  }

  var environment: PushEnvironment { isSandbox ? .sandbox : .production }
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

/// How far the pushes of a claimed batch may have left.
struct WriteAheadMark: Sendable {
  let claim: Claim
  let push: PushNumber
}

/// A batch that this run has claimed, and its pushes that are to be sent now.
struct ClaimedBatch: Sendable {
  let claim: Claim
  /// The numbers of all its pushes.
  var range: ClosedRange<Int64>
  var pushes: [QueuedPush]
  /// Of a stream, what its pushes' messages say, by their numbers.
  var contents: [Int32: MessageContent] = [:]
  /// Whether some of them were tried before.
  let isRetry: Bool
  /// When the lease may expire: its length after the claim was requested, which is a little before it was granted.
  let leaseEnd: ContinuousClock.Instant
  /// From when its message's time to live counts; nil for the moment at which the sendout started, and in a stream.
  var plannedAt: Date?
  /// Whether its write-ahead mark is committed already, at its last push.
  var isMarked = false
  /// How many of its pushes may have left by that mark.
  var markedCount: Int { isMarked ? pushes.count : 0 }

  /// Adds a push, in the order of the numbers.
  mutating func add(_ push: QueuedPush) {
    pushes.append(push)
    range = range.lowerBound...push.number.rawValue
  }
}

/// A push that is to be sent.
struct QueuedPush: Sendable, Equatable {
  let number: PushNumber
  let batch: Int32
  let device: DeviceID
  /// The device's contact when the audience was frozen.
  let contact: ContactID
  /// In a stream, the number of its message.
  var message: Int32?
  /// Which of the sendout's variants it says, from 1 on, the winner's for whoever has waited for it; nil without variants.
  var variant: Int16?
  /// How often it left before.
  let attempts: Int
  /// When it expires, by the monotonic clock; `nil` if it was never delayed.
  let giveUpAt: ContinuousClock.Instant?
  /// When its message expires, which is known once the push is prepared; `nil` for never.
  var messageExpiresAt: Date?
}

/// The outcome of one push, as it is written to the ledger.
struct Settlement: Sendable, Equatable {
  var push: PushNumber
  var batch: Int32
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
  /// What kept the push service from accepting it; nil if nothing did, or if it was not sent.
  var cause: FailureCause?
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
