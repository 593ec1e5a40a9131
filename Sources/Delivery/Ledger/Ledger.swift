import FoundationEssentials
public import Postgres
package import Registry
public import Wire

/// The send ledger: one row for each sendout and device, from intent to outcome to open.
///
/// This is what starts, stops and watches sendouts; a run works through the ledger by `BatchLedger`.
public struct Ledger: Sendable {
  let database: any Querying

  /// Pushes in a batch: what a hub claims with one commit, and reads with one statement.
  public static let usualBatchSize = 1000

  /// Time limit for a transaction that freezes or cancels a sendout. Both take longer the larger it is, a few seconds for a
  /// million pushes. They lift the server's own limit themselves.
  public static let wholeSendoutLimit = Duration.seconds(30 * 60)

  /// - Parameter database: to freeze, hold, resume or cancel, the transaction that also changes the sendout itself.
  public init(_ database: any Querying) { self.database = database }

  /// Writes the audience into the ledger as it is now, a row for each valid device. The caller sees to it that nobody else does
  /// so for this sendout.
  /// - Parameters:
  ///   - audience: all of it with a plan; without one, what is left of it once some are excluded.
  ///   - excluded: which contacts of the audience are excluded. A plan counts them.
  ///   - plan: of a sendout with times, limits or variants; nil for any other.
  package func freeze(
    _ key: SendoutKey, apps: [PushAppID], audience: SelectedAudience, excluded: FilterSQL? = nil,
    plan: FreezePlan? = nil, batchSize: Int = Self.usualBatchSize
  ) async throws -> FrozenAudience {
    if let plan {
      return try await freeze(
        key, apps: apps, audience: audience, excluded: excluded, planned: plan, batchSize: batchSize)
    }
    let customer = key.customer.rawValue, sendout = key.sendout.rawValue, size = Int32(clamping: batchSize)
    let apps = apps.map(\.rawValue)
    try await database.query(FreezeQueries.unlimited)
    try await FilterSQL.shareMemory(among: audience.filter?.lookUps ?? 0, in: database)
    let count =
      switch audience {
      case .all:
        try await database.query(FreezeQueries.everyone, customer, apps, sendout, size).affected
      case .list(let list):
        try await database.query(FreezeQueries.list, customer, apps, list.rawValue, sendout, size).affected
      case .originalIds(let ids):
        try await database.query(FreezeQueries.originalIDs, customer, apps, ids, sendout, size).affected
      case .meeting(let filter):
        try await database.query(FreezeQueries.meeting(filter), customer, apps, filter.literals, sendout, size).affected
      case .originalIdsMeeting(let ids, let filter):
        try await database.query(
          FreezeQueries.originalIDsMeeting(filter), customer, apps, ids, filter.literals, sendout, size
        ).affected
      }
    try await database.query(FreezeQueries.batches, customer, sendout, Int32(count), size, apps)
    let people = try await database.query(FreezeQueries.people, customer, sendout, Int32(count))[0].decode(Int.self)
    var frozen = FrozenAudience(devices: count, people: people)
    if let contacts = try await Audiences(database).contacts(key.customer, in: audience) {
      // Contacts may have been erased since the pushes were written.
      let everyone = max(contacts, people)
      frozen.everyone = everyone
      if everyone > people {
        frozen.leftOut[.noDevice] = everyone - people
        try await database.query(FreezeQueries.noDevice, customer, sendout, Int32(everyone - people))
      }
    }
    return frozen
  }

  /// Gives the planner statistics of a large audience, once its freeze is committed. Within the freeze, ANALYZE would wait for a VACUUM, and
  /// keep the next one out until the freeze is over. Should it fail, autovacuum does the same a minute later.
  public func refreshStatistics(of key: SendoutKey, afterFreezing count: Int) async throws {
    if count >= Self.worthAnalyzing { try await database.query(FreezeQueries.analyze, key.sendout.rawValue, count) }
  }

  /// Least rows after which a freeze runs ANALYZE; with fewer, a wrong plan costs less.
  private static let worthAnalyzing = 5000

  /// Nothing more is claimed until `resume`. It does not wait for pushes in flight.
  public func hold(_ key: SendoutKey) async throws {
    try await database.query(LedgerQueries.hold, key.customer.rawValue, key.sendout.rawValue)
  }

  /// Held batches can be claimed again. What waited meanwhile is not late.
  public func resume(_ key: SendoutKey) async throws {
    try await database.query(LedgerQueries.resume, key.customer.rawValue, key.sendout.rawValue)
    try await database.query(LimitQueries.resumed, key.customer.rawValue, key.sendout.rawValue)
  }

  /// Nothing more is claimed, ever. Unclaimed pushes are cancelled now, claimed ones at release unless they have left.
  public func cancel(_ key: SendoutKey) async throws {
    try await database.query(FreezeQueries.unlimited)
    try await database.query(LedgerQueries.cancelUnclaimed, key.customer.rawValue, key.sendout.rawValue)
    try await database.query(LedgerQueries.cancel, key.customer.rawValue, key.sendout.rawValue)
  }

  /// How many pushes are in which state; all 0 before the freeze.
  public func counts(_ key: SendoutKey) async throws -> SendoutCounts {
    try await database.query(LedgerQueries.counts, key.customer.rawValue, key.sendout.rawValue).first
      .map(SendoutCounts.init) ?? SendoutCounts()
  }

  /// The sendout's pushes in the order of their numbers.
  /// - Parameter state: only those in this state; all when `nil`.
  public func pushes(
    _ key: SendoutKey, state: PushState? = nil, _ page: PageRequest<PushNumber> = PageRequest()
  ) async throws -> Page<PushReply, PushNumber> {
    let rows = try await database.query(
      LedgerQueries.pushes, key.customer.rawValue, key.sendout.rawValue, state?.rawValue, page.after?.rawValue ?? 0,
      page.limit + 1)
    return page.page(of: try rows.map(PushReply.init), cursor: \.pushNo)
  }
}

extension Ledger {
  /// How many contacts a search looks at.
  package static let mostFound = 100
  /// How many batches are read for the reasons of failures.
  static let sampledBatches: Int64 = 20

  /// How many pushes of each sendout are in which state; a sendout without pushes is left out.
  package func totals(_ customer: CustomerID, of sendouts: [SendoutID]) async throws -> [SendoutID: SendoutCounts] {
    let rows = try await database.query(LedgerQueries.totals, customer.rawValue, sendouts.map(\.rawValue))
    return Dictionary(
      try rows.map { (SendoutID(try $0.get("sendout_id") as Int64), try SendoutCounts($0)) }, uniquingKeysWith: { $1 })
  }

  /// Which of these sendouts the customer has. They stay when retention deletes their pushes.
  package func sendouts(_ customer: CustomerID, among numbers: [Int64]) async throws -> [Int64] {
    try await database.query(LedgerQueries.sendouts, customer.rawValue, numbers).map { try $0.decode(Int64.self) }
  }

  /// How many pushes have an outcome in batches that were begun within the last minute, and whether others wait for a planned moment.
  package func settledLately(_ key: SendoutKey) async throws -> (pushes: Int, othersWait: Bool) {
    try await database.query(LedgerQueries.settledLately, key.customer.rawValue, key.sendout.rawValue)[0]
      .decode(Int.self, Bool.self)
  }

  /// Why pushes did not arrive, or have not yet, the most frequent first. Of a large sendout the failures of some batches are counted, and
  /// each number is scaled to what the state's count says.
  package func reasons(_ key: SendoutKey, _ counts: SendoutCounts) async throws -> [SendoutReason] {
    let totals: [PushState: Int] = [
      .failed: counts.failed, .uncertain: counts.uncertain, .skipped: counts.skipped, .waiting: counts.waiting,
    ]
    guard totals.values.contains(where: { $0 > 0 }) else { return [] }
    let found = try await database.query(
      LedgerQueries.reasons, key.customer.rawValue, key.sendout.rawValue, Self.sampledBatches
    ).map { row in
      let (state, reason, count) = try row.decode(String.self, String.self, Int.self)
      return (state: PushState(rawValue: state) ?? .failed, reason: reason, count: count)
    }
    return found.map { line in
      let counted = found.filter { $0.state == line.state }.reduce(0) { $0 + $1.count }
      let total = totals[line.state] ?? 0
      // Some may have got another outcome between the two statements.
      let isEstimate = total > counted && counts.audience > Int(Self.sampledBatches) * Self.usualBatchSize
      let scaled = isEstimate ? line.count * total / counted : line.count
      return SendoutReason(state: line.state, reason: line.reason, pushes: scaled, isEstimate: isEstimate)
    }.sorted { ($1.pushes, $0.reason) < ($0.pushes, $1.reason) }
  }

  /// Whom the sendout went to, in the order of pushes.
  /// - Parameters:
  ///   - state: only pushes in this state; all when `nil`.
  ///   - isOpened: only pushes that were opened.
  package func recipients(
    _ key: SendoutKey, state: PushState?, isOpened: Bool, _ page: PageRequest<PushNumber>
  ) async throws -> Page<RecipientReply, PushNumber> {
    let rows = try await database.query(
      LedgerQueries.recipients, key.customer.rawValue, key.sendout.rawValue, state?.rawValue, page.after?.rawValue ?? 0,
      page.limit + 1, isOpened)
    return page.page(of: try rows.map(RecipientReply.init), cursor: \.pushNo)
  }

  /// Those of the first contacts whose original id begins with a text, and the contact whose number it is.
  package func recipients(
    _ key: SendoutKey, named prefix: String, state: PushState?, isOpened: Bool
  ) async throws -> [RecipientReply] {
    guard !prefix.utf8.contains(0) else { return [] }
    return try await database.query(
      LedgerQueries.recipientsFound, key.customer.rawValue, key.sendout.rawValue, prefix,
      ContactID(prefix)?.rawValue, state?.rawValue, isOpened
    ).map(RecipientReply.init)
  }
}

extension RecipientReply {
  init(_ row: Row) throws {
    let (original, push, contact, device, state, reason, sent, opened) = try row.decode(
      String?.self, Int64.self, Int64.self, Int64.self, String.self, String?.self, Date?.self, Date?.self)
    guard let state = PushState(rawValue: state) else {
      throw PostgresError.decoding(
        statement: LedgerQueries.recipients.name, column: "state", .format("an unknown state"))
    }
    self.init(
      pushNo: PushNumber(push), originalId: original, contactId: ContactID(contact), deviceId: DeviceID(device),
      state: state, reason: reason, sentAt: sent.map(Wire.Timestamp.init), openedAt: opened.map(Wire.Timestamp.init))
  }
}

extension Ledger {
  /// The sendout's pushes to one contact.
  public func pushes(_ key: SendoutKey, of contact: ContactID) async throws -> [PushReply] {
    try await database.query(
      LedgerQueries.pushesOfContact, key.customer.rawValue, key.sendout.rawValue, contact.rawValue
    ).map(PushReply.init)
  }
}

/// What is left to do for a sendout.
public struct RemainingWork: Sendable, Equatable {
  /// How long until a batch may be claimed; zero if one may now, `nil` if none is queued.
  public var nextClaim: Duration?
  /// How long until a lease expires; `nil` if nothing is claimed.
  public var nextLeaseEnd: Duration?
  /// Whether batches are held.
  public var isHeld: Bool

  /// Whether every push has its outcome.
  public var isDone: Bool { nextClaim == nil && nextLeaseEnd == nil && !isHeld }
}

extension Ledger {
  /// What is left to do for a sendout.
  public func remainingWork(_ key: SendoutKey) async throws -> RemainingWork {
    let (claim, lease, isHeld) = try await database.query(
      LedgerQueries.remainingWork, key.customer.rawValue, key.sendout.rawValue)[0].decode(
        Double?.self, Double?.self, Bool.self)
    return RemainingWork(
      nextClaim: claim.map { .seconds($0) }, nextLeaseEnd: lease.map { .seconds($0) }, isHeld: isHeld)
  }

  /// The lanes that have unsettled batches, and whether one of them can be claimed now.
  public func lanes(_ key: SendoutKey) async throws -> [(lane: Lane, isDue: Bool)] {
    try await database.query(LedgerQueries.lanes, key.customer.rawValue, key.sendout.rawValue).map { row in
      let (app, isSandbox, isDue) = try row.decode(Int64.self, Bool.self, Bool.self)
      return (Lane(app: PushAppID(app), isSandbox: isSandbox), isDue)
    }
  }

  /// What any hub may do now, of all customers: lanes with batches to claim. Those with messages that have expired, and with batches of hubs
  /// that are gone, are urgent: they do not wait until the lane opens.
  public func due() async throws -> [(key: SendoutKey, lane: Lane, isUrgent: Bool)] {
    try await database.query(LedgerQueries.due).map { row in
      let (customer, sendout, app, isSandbox, isUrgent) = try row.decode(
        Int64.self, Int64.self, Int64.self, Bool.self, Bool.self)
      return (
        SendoutKey(CustomerID(customer), SendoutID(sendout)), Lane(app: PushAppID(app), isSandbox: isSandbox), isUrgent
      )
    }
  }

  /// Requeues claimed batches whose lease has expired, as after a hub was killed.
  /// - Parameters:
  ///   - fallback: the app whose pushes alone the policy is about; nil for all.
  ///   - batches: stay, since outcomes of them are about to be written.
  /// - Returns: how many batches there were, and how many of their pushes may have left.
  @discardableResult
  func requeueLost(
    _ key: SendoutKey, _ policy: UncertainPolicy, of fallback: PushAppID? = nil, except batches: [Int32] = []
  ) async throws -> (batches: Int, pushes: Int) {
    try await database.query(
      LedgerQueries.requeueLost, key.customer.rawValue, key.sendout.rawValue, policy.rawValue, batches,
      fallback?.rawValue)[0]
      .decode(Int.self, Int.self)
  }
}

extension Ledger {
  /// Rows that retention deletes with one commit.
  private static let portion: Int64 = 10_000

  /// Deletes the pushes, opens and messages of a sendout that has ended, in portions. Its batches keep the counts.
  /// - Returns: how many pushes there were.
  public func deleteHistory(of key: SendoutKey) async throws -> Int {
    var pushes = 0
    for statement in HistoryQueries.deletions {
      var last: Int32? = 0
      while let after = last {
        try Task.checkCancellation()
        let deleted: Int
        (deleted, last) = try await database.query(
          statement, key.customer.rawValue, key.sendout.rawValue, after, Self.portion)[0].decode(
            Int.self, Int32?.self)
        if statement.name == HistoryQueries.deletePushes.name { pushes += deleted }
      }
    }
    return pushes
  }

  /// Replaces the batches of a sendout whose pushes are deleted by one for each lane, with the same totals, in portions. Doing it again
  /// changes nothing.
  public func foldBatches(of key: SendoutKey) async throws {
    var folded = Self.portion
    while folded >= Self.portion {
      try Task.checkCancellation()
      folded = try await database.query(
        HistoryQueries.foldBatches, key.customer.rawValue, key.sendout.rawValue, Self.portion)[0].decode(Int64.self)
    }
  }

  /// Writes for good what reports count of a sendout's contacts as long as their pushes are there. Done twice, it would count twice: the
  /// transaction marks the sendout, so that the view has nothing of it any more.
  public func foldContacts(of key: SendoutKey) async throws {
    try await database.query(FreezeQueries.unlimited)
    try await database.query(HistoryQueries.foldContacts, key.customer.rawValue, key.sendout.rawValue)
  }
}

/// A sendout of a customer: the first part of its pushes' key in the ledger.
public struct SendoutKey: Sendable, Hashable {
  public let customer: CustomerID
  public let sendout: SendoutID

  public init(_ customer: CustomerID, _ sendout: SendoutID) {
    self.customer = customer
    self.sendout = sendout
  }
}

extension SendoutKey: LosslessStringConvertible {
  /// `<customerId>/<sendoutId>`, as hubs notify each other of it.
  public var description: String { "\(customer)/\(sendout)" }

  public init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let customer = CustomerID(String(parts[0])), let sendout = SendoutID(String(parts[1]))
    else {
      return nil
    }
    self.init(customer, sendout)
  }
}

extension SendoutCounts {
  init(_ row: Row) throws {
    self.init(
      audience: try row.get("audience"), queued: try row.get("queued"), sending: try row.get("sending"),
      waiting: try row.get("waiting"), sent: try row.get("sent"), accepted: try row.get("accepted"),
      failed: try row.get("failed"), uncertain: try row.get("uncertain"), skipped: try row.get("skipped"),
      cancelled: try row.get("cancelled"), opened: try row.get("opened"))
  }
}

extension PushReply {
  init(_ row: Row) throws {
    let (
      push, device, contact, state, attempts, reason, resent, sent, settled, due, opened, delivery, whyNot, reported
    ) = try row.decode(
      Int64.self, Int64.self, Int64.self, String.self, Int32.self, String?.self, String?.self, Date?.self, Date?.self,
      Date?.self, Date?.self, String?.self, String?.self, Date?.self)
    guard let state = PushState(rawValue: state) else {
      throw PostgresError.decoding(statement: LedgerQueries.pushes.name, column: "state", .format("an unknown state"))
    }
    self.init(
      pushNo: PushNumber(push), deviceId: DeviceID(device), contactId: ContactID(contact),
      state: state,
      attempts: Int(attempts), reason: reason, resentBecause: resent, sentAt: sent.map(Wire.Timestamp.init),
      settledAt: settled.map(Wire.Timestamp.init),
      notBefore: due.map(Wire.Timestamp.init), openedAt: opened.map(Wire.Timestamp.init),
      delivery: delivery, deliveryReason: whyNot, reportedAt: reported.map(Wire.Timestamp.init))
  }
}
