public import Postgres
import Locking
public import Wire

/// Registers devices, many requests to a statement.
///
/// Requests of one customer that arrive while a statement is under way share the next one. Each is answered when its
/// own statement has committed. Under load a commit, a round trip and the planner's work are shared by dozens; a lone
/// request waits for nobody. A request with data that PostgreSQL refuses fails alone. Requests of one contact or token
/// go one after another. So no statement touches a row twice, and no two under way wait for each other's rows. Make one
/// for each process.
public final class RegistrationBatcher: Sendable {
  /// How much may wait, and for how long.
  public struct Limits: Sendable {
    /// Requests waiting or under way, of all customers. One customer's may be nearly half of them; one more is refused at once.
    public var requests = 8192
    /// How long a request waits for the database before the hub answers that it is away.
    public var timeout: Duration = .seconds(4)

    public init() {}
  }

  /// Most devices of one statement.
  static let maximumDevices = 256

  private let batcher: Batcher<RegistrationRequest, Result<Contact?, RegistryError>>

  private let endpoints: EndpointRules

  /// - Parameter endpoints: where tokens that are endpoints may lead.
  public init(
    _ database: any Querying, limits: Limits = Limits(), endpoints: EndpointRules = EndpointRules()
  ) {
    self.endpoints = endpoints
    let statistics = PlannerStatistics(database)
    let limited = database.limited(to: limits.timeout)
    // A customer's second statement begins when as many requests wait as fill it. A statement has a price of its own, of a dozen
    // devices, so fewer and fuller ones carry more.
    batcher = Batcher(
      BatchLimits(
        batchWeight: Self.maximumDevices, worthAnother: Self.maximumDevices, items: limits.requests,
        timeout: limits.timeout, stallsAfter: .milliseconds(500)),
      full: PostgresError.busy("too many registrations are waiting already"), onFailure: .ofRegistrations,
      on: database.executor
    ) { customer, requests in
      let results = try await RegisterBatch(CustomerID(customer), requests).run(on: limited)
      statistics.registered(requests.reduce(0) { $0 + $1.registration.devices.count })
      return results
    }
  }

  /// Writes the contact and its devices, all or none; once this returns, they are committed.
  ///
  /// Absent fields stay as they are, empty ones are cleared, properties are merged key by key. A token becomes this
  /// contact's, whoever had it; a device that was invalid is valid again, unless the request says that it is not.
  /// - Parameter returnsContact: whether to return the contact with all its devices in the apps of the registration's appId.
  /// - Throws: `RegistryError`; a `DatabaseUnavailable` when the database is away, after `Limits.timeout` at the latest.
  ///   Registering again after that is always safe.
  @discardableResult
  public func register(
    _ customer: CustomerID, _ registration: Registration, returnsContact: Bool = true
  ) async throws -> Contact? {
    try check(registration)
    return try await batcher.answer(
      customer.rawValue, RegistrationRequest(registration, returnsContact: returnsContact),
      weight: registration.devices.count, conflictKeys: registration.conflictKeys
    ).get()
  }

  /// As `register`, without a task that would wait.
  /// - Parameter done: called exactly once, on any thread, soon to return.
  public func register(
    _ customer: CustomerID, _ registration: Registration, returnsContact: Bool,
    then done: @escaping @Sendable (Result<Contact?, any Error>) -> Void
  ) {
    do { try check(registration) } catch { return done(.failure(error)) }
    batcher.answer(
      customer.rawValue, RegistrationRequest(registration, returnsContact: returnsContact),
      weight: registration.devices.count, conflictKeys: registration.conflictKeys
    ) { answer in done(answer.flatMap { $0.mapError { $0 } }) }
  }

  /// Refuses endpoints that the rules do not allow. Tokens of most services have none.
  private func check(_ registration: Registration) throws(RegistryError) {
    for device in registration.devices {
      guard let endpoint = device.token.endpoint else { continue }
      let isWeb = device.type == .web
      let rule = isWeb ? endpoints.webPush : endpoints.wns
      if let problem = rule.problem(with: endpoint) {
        throw .invalid(field: isWeb ? "\(device.field).endpoint" : device.field, problem: problem)
      }
    }
  }
}

extension Registration {
  /// Numbers that stand for the contact and each token. Two that are equal by chance only make one registration wait for
  /// another.
  var conflictKeys: [Int] {
    var hasher = Hasher()
    var id = originalID
    id.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    var keys = [hasher.finalize()]
    keys.reserveCapacity(1 + devices.count)
    for device in devices {
      var hasher = Hasher()
      hasher.combine(device.app)
      hasher.combine(device.token)
      keys.append(hasher.finalize())
    }
    return keys
  }
}

extension Batcher.FailurePolicy {
  /// Registering twice is registering once, so everything is tried again that may succeed in a moment.
  fileprivate static var ofRegistrations: Self {
    var policy = Self()
    policy.isWorthRetrying = { $0 is RegistrationRaced || ($0 as? PostgresError)?.isWorthRetrying == true }
    policy.concernsSomeItems = { $0 is AppUnknown || ($0 as? PostgresError)?.isOfData == true }
    return policy
  }
}

extension PostgresError {
  /// Whether the statement may succeed in a moment. `unavailable` is not among these, as the pool has waited for that already.
  fileprivate var isWorthRetrying: Bool {
    switch self {
    case .unknownOutcome, .connectionLost: true
    case .server(let error): isPassing || error.constraint.map(RegisterQueries.racedConstraints.contains) == true
    default: false
    }
  }
}

/// Has the planner look at the tables anew while they grow.
///
/// Plans made when the tables were all but empty read them from end to end. PostgreSQL comes to see that by itself, but up to a
/// minute and 100,000 rows later.
private final class PlannerStatistics: Sendable {
  private struct State {
    var devices = 0
    var threshold = 1_000
  }

  private let database: any Querying
  private let state = Mutex(State())

  init(_ database: any Querying) { self.database = database }

  func registered(_ count: Int) {
    let grownTo = state.withLock { state in
      state.devices += count
      guard state.devices >= state.threshold, state.threshold <= 1_000_000 else { return nil as Int? }
      state.threshold *= 10
      return state.devices
    }
    guard let grownTo else { return }
    Task { [database] in try? await Devices(database).refreshStatistics(atLeast: grownTo) }
  }
}
