public import Postgres
import Synchronization
public import Wire

/// Registers devices, many requests to a statement.
///
/// Requests of one customer that arrive while a statement is under way are collected into the next one, and each is
/// answered when its own statement has committed: under load a commit, a round trip and the planner's work are shared by
/// dozens, and a lone request waits for nobody. A request with data that PostgreSQL refuses fails alone. Make one for each
/// process: it is what waiting requests have in common.
public final class RegistrationBatcher: Sendable {
  /// How much may wait, and for how long.
  public struct Limits: Sendable {
    /// Statements of one customer under way at once. With one, all that arrives meanwhile shares the next: a
    /// statement has a price of its own, of several devices, so that fewer and fuller ones carry more.
    public var statements = 1
    /// Requests that wait, of all customers together; one more is refused at once.
    public var requests = 4096
    /// How long a request waits before it is told that the database is away. Half a second's accuracy.
    public var timeout: Duration = .milliseconds(4_000)

    public init() {}
  }

  private struct State {
    var customers: [CustomerID: RegistrationQueue] = [:]
    var waiters: [Int: Waiter] = [:]
    var lastID = 0
    var isWatching = false
    var growth = Growth()
  }

  /// Somebody who waits.
  private struct Waiter {
    let continuation: UnsafeContinuation<Contact?, any Error>
    var ticksLeft: Int
  }

  private static let tick: Duration = .milliseconds(500)

  private let database: any Querying
  private let limits: Limits
  private let state = Mutex(State())

  public init(_ database: any Querying, limits: Limits = Limits()) {
    self.database = database
    self.limits = limits
  }

  /// Writes the contact and its devices, all or none; once this returns, they are committed.
  ///
  /// Absent fields stay as they are, empty ones are cleared, properties are merged key by key. A token becomes this
  /// contact's, whoever had it; a device that was invalid is valid again, unless the request says that it is not.
  /// - Parameter tells: whether to return the contact with all its devices in the apps of the registration's appId.
  /// - Throws: `RegistryError`; an `DatabaseUnavailable` when the database is away, after `Limits.timeout` at the latest. Registering
  ///   again after that is always safe.
  @discardableResult
  public func register(_ customer: CustomerID, _ registration: Registration, tells: Bool = true) async throws
    -> Contact?
  {
    try await withUnsafeThrowingContinuation { continuation in
      let batch: [RegistrationQueue.Waiting]? = state.withLock { state in
        guard state.waiters.count < limits.requests else {
          continuation.resume(
            throwing: PostgresError.busy("\(limits.requests) registrations are waiting already"))
          return nil
        }
        state.lastID += 1
        let ticks = Int(limits.timeout / Self.tick) + 1
        state.waiters[state.lastID] = Waiter(continuation: continuation, ticksLeft: ticks)
        let waiting = RegistrationQueue.Waiting(id: state.lastID, registration: registration, tells: tells)
        state.customers[customer, default: RegistrationQueue(limit: limits.statements)].add(waiting)
        return next(customer, &state)
      }
      if let batch { Task { await work(customer, batch) } }
      watch()
    }
  }

  private func next(_ customer: CustomerID, _ state: inout State) -> [RegistrationQueue.Waiting]? {
    let waiters = state.waiters
    return state.customers[customer]?.next { waiters[$0] != nil }
  }

  /// Runs one statement after another until nothing waits.
  private func work(_ customer: CustomerID, _ first: [RegistrationQueue.Waiting]) async {
    var batch = first
    while true {
      await run(RegisterBatch(customer: customer, batch: batch))
      let more: [RegistrationQueue.Waiting]? = state.withLock { state in
        state.customers[customer]?.end(batch)
        let more = next(customer, &state)
        if state.customers[customer]?.isEmpty == true { state.customers[customer] = nil }
        return more
      }
      analyze(ifGrownBy: batch)
      guard let more else { return }
      batch = more
    }
  }

  /// Runs the statement until it has an outcome, and answers everybody in it.
  private func run(_ batch: RegisterBatch) async {
    do {
      let outcomes = try await persist(batch)
      answer(batch.batch.map(\.id), outcomes)
    } catch {
      guard batch.batch.count > 1, (error as? PostgresError)?.isOfData == true else {
        return answer(
          batch.batch.map(\.id),
          batch.batch.map {
            .refused(RegisterBatch.meaning(error, of: $0.registration, batch.customer))
          })
      }
      // One of them is guilty, and halving finds it: a few more statements for everybody, not one each.
      let middle = batch.batch.count / 2
      await run(RegisterBatch(customer: batch.customer, batch: Array(batch.batch[..<middle])))
      await run(RegisterBatch(customer: batch.customer, batch: Array(batch.batch[middle...])))
    }
  }

  /// Tries again what may succeed in a moment: registering twice is registering once. It pauses longer each time, and never
  /// as long as another hub that met the same failure.
  private func persist(_ batch: RegisterBatch) async throws -> [RegisterBatch.Outcome] {
    var longest = 2.0
    while true {
      do {
        return try await batch.run(on: database)
      } catch let error as PostgresError where error.isWorthAnotherTry && isWanted(batch) {
        try? await Task.sleep(for: .milliseconds(Double.random(in: 0...longest)))
        longest = min(longest * 2, 250)
      }
    }
  }

  private func isWanted(_ batch: RegisterBatch) -> Bool {
    state.withLock { state in batch.batch.contains { state.waiters[$0.id] != nil } }
  }

  private func answer(_ ids: [Int], _ outcomes: [RegisterBatch.Outcome]) {
    let waiters = state.withLock { state in ids.map { state.waiters.removeValue(forKey: $0) } }
    for (waiter, outcome) in zip(waiters, outcomes) {
      switch outcome {
      case .registered(let contact): waiter?.continuation.resume(returning: contact)
      case .refused(let error): waiter?.continuation.resume(throwing: error)
      }
    }
  }
}

// MARK: - Patience

extension RegistrationBatcher {
  /// Sees to it that nobody waits longer than `Limits.timeout`, whatever the database does: one task for all, while
  /// anybody waits.
  private func watch() {
    let starts = state.withLock { state in
      defer { state.isWatching = true }
      return !state.isWatching
    }
    guard starts else { return }
    Task {
      while true {
        try? await Task.sleep(for: Self.tick)
        guard tick() else { return }
      }
    }
  }

  /// - Returns: whether anybody still waits.
  private func tick() -> Bool {
    let (late, begun, goesOn) = state.withLock { state in
      var late: [Waiter] = []
      for (id, waiter) in state.waiters {
        if waiter.ticksLeft > 1 {
          state.waiters[id]?.ticksLeft -= 1
        } else {
          late.append(waiter)
          state.waiters[id] = nil
        }
      }
      var begun: [(CustomerID, [RegistrationQueue.Waiting])] = []
      for customer in state.customers.keys {
        state.customers[customer]?.tick()
        if let batch = next(customer, &state) { begun.append((customer, batch)) }
      }
      state.isWatching = !state.waiters.isEmpty
      return (late, begun, state.isWatching)
    }
    for (customer, batch) in begun { Task { await work(customer, batch) } }
    for waiter in late {
      waiter.continuation.resume(throwing: PostgresError.unavailable("no registration within \(limits.timeout)"))
    }
    return goesOn
  }
}

// MARK: - Statistics

extension RegistrationBatcher {
  /// How much was registered, and when that is to be looked at next.
  struct Growth {
    private var devices = 0
    private var threshold = 1_000

    /// - Returns: whether the tables have grown so much that the planner should look at them anew.
    mutating func add(_ count: Int) -> Bool {
      devices += count
      guard devices >= threshold, threshold <= 1_000_000 else { return false }
      threshold *= 10
      return true
    }
  }

  /// Plans made when the tables were all but empty read them from end to end. PostgreSQL comes to see that by itself, but
  /// up to a minute and 100,000 rows later.
  private func analyze(ifGrownBy batch: [RegistrationQueue.Waiting]) {
    let hasGrown = state.withLock { $0.growth.add(batch.reduce(0) { $0 + $1.registration.devices.count }) }
    if hasGrown { Task { _ = try? await database.query(DeviceQueries.analyze) } }
  }
}

extension PostgresError {
  /// Whether the statement may succeed in a moment; `unavailable` is told from these, as the pool has waited for that already.
  fileprivate var isWorthAnotherTry: Bool {
    switch self {
    case .unknownOutcome, .connectionLost: true
    case .server(let error): isPassing || error.constraint.map(Self.raced.contains) == true
    default: false
    }
  }

  /// The contact was erased, or the contact or a token added, between the look at it and the write.
  private static let raced: Set<String> = ["device_contact_id_fkey", "contact_original_id_key", "device_token_key"]

  /// Whether PostgreSQL refused the statement for what was in it: classes 22, data exceptions, and 23, violated constraints.
  fileprivate var isOfData: Bool {
    if case .server(let error) = self {
      error.sqlState.hasPrefix("22") || error.sqlState.hasPrefix("23")
    } else {
      false
    }
  }
}
