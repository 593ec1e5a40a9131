import FoundationEssentials
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Locking
import Wire

/// Whose connections, and where to. Nothing else shares them: APNs binds a connection to one team.
struct PoolKey: Hashable, Sendable {
  var service: String
  var environment: PushEnvironment
  /// Nil for what belongs to no customer alone.
  var customer: CustomerID?
  /// Nil where nobody signs in.
  var credentials: PushServiceCredentials?
  /// What its connections sign in with, for services that take a certificate in TLS.
  var certificate: PushCertificate?
  /// Where to, if a customer, an app or a device has named it.
  var origin: ServiceAddress?
  /// Identifies the connections of a single question, which are closed once it is answered.
  var question: UUID?

  /// Whose share of places, connections and look-ups it takes.
  var holder: QuotaHolder { QuotaHolder(customer: customer, service: service) }
}

/// All pools of connections. They open connections when needed. They are closed when nothing was sent for an hour, when their customer's
/// apps change, and those of a single question once it is answered.
final class ConnectionPools: Sendable {
  private struct Pools {
    var byKey: [PoolKey: BoundPool] = [:]
    /// Pools that are closed once their last request has ended.
    var closing: [UUID: BoundPool] = [:]
    var isShutDown = false
  }

  /// Most connections of HTTP/2 to an origin whose receivers are not all to be trusted to answer.
  private static let mostWhenFull = 8
  /// Seconds without a push after which a pool is closed: longer than any push stays in it.
  private static let idleLimit: TimeInterval = 3600

  let now: @Sendable () -> Date
  let quotas: Quotas
  private let settings: PushServiceSettings
  private let tls: NIOSSLContext
  /// TLS that offers HTTP/1.1, too.
  private let tlsOfHTTP1: NIOSSLContext
  private let logger: Logger
  private let group: any EventLoopGroup
  private let pools = Mutex(Pools())

  init(_ settings: PushServiceSettings, logger: Logger, now: @escaping @Sendable () -> Date) throws(ProviderError) {
    self.settings = settings
    self.logger = logger
    self.now = now
    quotas = Quotas(settings.quotas)
    group = MultiThreadedEventLoopGroup.singleton
    tls = try NIOSSLContext.pushService(caFile: settings.caFile)
    tlsOfHTTP1 = try NIOSSLContext.pushService(caFile: settings.caFile, allowsHTTP1: true)
  }

  /// Sends all of `requests` to one address; see `PushAccount.send`.
  /// - Parameter service: what is behind the address, for a pool that does not exist yet.
  func send(
    _ requests: [PushRequest], refused: [PushOutcome] = [], through key: PoolKey, to address: ServiceAddress,
    _ service: @autoclosure () -> any ServiceDescription, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let (stream, outcomes) = OutcomeStream.make(count: requests.reduce(0) { $0 + $1.outcomeCount })
    if !requests.isEmpty, let pool = pool(key, address, service) {
      pool.enqueue(requests, refused: refused, outcomes, while: isWanted)
    }
    return stream
  }

  /// Sends each of `requests` to its own origin, by connections that the account shares with nobody; see `PushAccount.send`.
  ///
  /// A service of a customer has connections to `Quotas.Limits.origins` at a time. Idle ones are closed to make room. While all of them work, requests
  /// to further origins come back as `unsent`. An origin has to answer within `untrustedTimeout`. Where places are bounded, requests wait
  /// for these for `placeTimeout`, and come back as `unsent` if none comes free. So do at once all but one to an address that is silent.
  /// - Parameters:
  ///   - account: the key of the pools, without an origin.
  ///   - need: at which of the customer's addresses requests need places.
  ///   - service: what is behind an origin, for a pool that does not exist yet.
  func send(
    _ requests: [PushRequest], toOriginsOf account: PoolKey, places need: PlaceNeed = .none,
    _ service: @escaping @Sendable (ServiceAddress) -> any ServiceDescription,
    while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let (stream, outcomes) = OutcomeStream.make(count: requests.reduce(0) { $0 + $1.outcomeCount })
    var groups: [Destination: [PushRequest]] = [:]
    for (index, request) in requests.enumerated() {
      guard let origin = request.origin else { preconditionFailure("a request without an origin") }
      var request = request
      // Its index is another among those of its origin.
      if request.recipients.isEmpty { request.recipients = [.init(token: [], index: index)] }
      groups[Destination(origin: origin, place: need.place(of: request, at: origin)), default: []].append(request)
    }
    for (destination, requests) in groups {
      let origin = destination.origin
      var key = account
      key.origin = origin
      let enqueue = { @Sendable [key] (requests: [PushRequest], lease: PlaceLease?) in
        // Nobody waits for them any more.
        if outcomes.isCancelled { return }
        guard let pool = self.pool(key, origin, { service(origin) }) else {
          return outcomes.postpone(requests, .hub(.tooManyOrigins))
        }
        let deadline = lease.map { _ in NIODeadline.now() + TimeAmount(self.settings.untrustedTimeout) }
        pool.enqueue(requests, refused: [], outcomes, lease, deadline: deadline, while: isWanted)
      }
      guard let place = destination.place else {
        enqueue(requests, nil)
        continue
      }
      // Whoever gets places takes the next requests.
      let next = Mutex(0)
      let take = { @Sendable (count: Int) in
        next.withLock { next in
          defer { next += count }
          return Array(requests[next..<next + count])
        }
      }
      quotas.take(
        requests.count, of: account.holder, at: place.address, place.kind,
        timeout: TimeAmount(settings.placeTimeout), on: group.next()
      ) { lease in
        enqueue(take(lease.count), lease)
      } giveUp: { count, reason in
        outcomes.postpone(take(count), reason)
      }
    }
    return stream
  }

  /// The requests of a call that share connections, and an address whose places they take.
  private struct Destination: Hashable {
    let origin: ServiceAddress
    /// Nil if they need no places.
    let place: PlaceNeed.Place?
  }

  /// The verdict on a single request, by connections that are closed afterwards.
  /// - Parameter send: is given the `PoolKey.question` of these connections.
  /// - Returns: nil if the task was cancelled.
  func answer(_ send: (UUID) -> AsyncStream<[PushOutcome]>) async -> Verdict? {
    let question = UUID()
    defer {
      for pool in pools.withLock({ pools in Self.remove(from: &pools) { $0.question == question } }) {
        _ = pool.shutDown()
        pool.closeConnections()
      }
    }
    for await outcomes in send(question) {
      for outcome in outcomes { return outcome.verdict }
    }
    return nil
  }

  /// - Returns: a pool whose use has begun; nil if its customer has connections to too many other origins.
  private func pool(
    _ key: PoolKey, _ address: ServiceAddress, _ service: () -> any ServiceDescription
  ) -> BoundPool? {
    let now = now()
    return pools.withLock { pools in
      if pools.byKey[key] == nil {
        guard key.origin == nil || closeIdlePool(for: key, in: &pools) else { return nil }
        let loop = group.next()
        let pool = BoundPool(
          loop: loop, box: .makeBoxSendingValue(makePool(key, address, service(), on: loop), eventLoop: loop),
          lastUse: now)
        if pools.isShutDown {
          pool.use.begin()
          _ = pool.shutDown()
          return pool
        }
        pools.byKey[key] = pool
      }
      pools.byKey[key]?.lastUse = now
      pools.byKey[key]?.use.begin()
      return pools.byKey[key]
    }
  }

  /// Closes the holder's idle pool that was used the longest time ago, if it has as many as it can have; or one of another holder, if all
  /// have.
  /// - Returns: whether another one may be added.
  private func closeIdlePool(for key: PoolKey, in pools: inout Pools) -> Bool {
    let named = pools.byKey.filter { $0.key.origin != nil }
    let own = named.filter { $0.key.holder == key.holder }
    let most = quotas.limits.origins
    if own.count < most, own.count < quotas.limits.allOrigins - named.count { return true }
    func idle(_ pools: [PoolKey: BoundPool]) -> PoolKey? {
      pools.filter(\.value.use.isIdle).min { $0.value.lastUse < $1.value.lastUse }?.key
    }
    guard let longest = idle(own) ?? (own.count < most ? idle(named) : nil) else { return false }
    _ = pools.byKey.removeValue(forKey: longest)?.shutDown()
    return true
  }

  private func makePool(
    _ key: PoolKey, _ address: ServiceAddress, _ service: any ServiceDescription, on loop: any EventLoop
  ) -> sending HTTP2ConnectionPool {
    var logger = logger
    logger[metadataKey: "environment"] = "\(key.environment.rawValue)"
    if let credentials = key.credentials { logger[metadataKey: "account"] = "\(credentials)" }
    // Clients name the origins: what happens there must not fill the log.
    if key.origin != nil, logger.logLevel > .debug { logger.logLevel = max(logger.logLevel, .error) }
    var pool = settings.pool
    var timeouts = settings.timeouts
    if key.origin != nil {
      let limit = TimeAmount(settings.untrustedTimeout)
      timeouts.request = min(timeouts.request, limit)
      timeouts.settings = min(timeouts.settings, limit)
      pool.queueTimeout = min(pool.queueTimeout, limit)
    }
    pool.http1Size = service.http1Connections
    if service.opensAnotherWhenFull {
      pool.opensAnotherWhenFull = true
      pool.size = max(pool.size, Self.mostWhenFull)
    }
    var tls = service.http1Connections > 0 ? tlsOfHTTP1 : tls
    if let certificate = key.certificate {
      do {
        tls = try .pushService(caFile: settings.caFile, certificate: certificate)
      } catch {
        // Without a certificate the service refuses all pushes, and says so.
        logger.error("cannot use a push certificate, store it again", metadata: ["error": "\(error)"])
      }
    }
    return HTTP2ConnectionPool(
      service,
      connector: HTTP2Connector(
        address: address, tls: tls, connectTimeout: TimeAmount(settings.connectTimeout),
        resolver: key.origin == nil ? .system : .named(by: key.holder, mayBePrivate: service.mayBePrivate)),
      quotas: key.origin == nil ? nil : (quotas, key.holder), timeouts: timeouts, settings: pool, loop: loop,
      metrics: ProviderMetrics(service: service.label, environment: key.environment), logger: logger, now: now)
  }
}

// MARK: - Closing

extension ConnectionPools {
  private static func remove(from pools: inout Pools, where isMeant: (PoolKey) -> Bool) -> [BoundPool] {
    let removed = pools.byKey.filter { isMeant($0.key) }
    for key in removed.keys { pools.byKey[key] = nil }
    return Array(removed.values)
  }

  /// Closes the connections of a customer, whose apps may have got other credentials. Requests that they work on go on.
  func close(of customer: CustomerID) {
    let closing = pools.withLock { pools in
      let closing = Self.remove(from: &pools) { $0.customer == customer && $0.question == nil }.map { (UUID(), $0) }
      for (id, pool) in closing { pools.closing[id] = pool }
      return closing
    }
    for (id, pool) in closing {
      pool.use.onceIdle { [weak self] in
        _ = pool.shutDown()
        self?.pools.withLock { _ = $0.closing.removeValue(forKey: id) }
      }
    }
  }

  /// Closes the pools that have sent nothing for an hour.
  /// - Returns: the credentials of the others.
  func closeIdle() -> Set<PushServiceCredentials> {
    let now = now()
    let (idle, used) = pools.withLock { pools in
      let idle = pools.byKey.filter { now.timeIntervalSince($0.value.lastUse) > Self.idleLimit }
      for key in idle.keys { pools.byKey[key] = nil }
      return (idle.values, Set(pools.byKey.keys.compactMap(\.credentials)))
    }
    for pool in idle { _ = pool.shutDown() }
    return used
  }

  /// Returns waiting requests as `unsent`, waits for responses to sent ones, and closes all connections.
  func shutDown() async {
    let open = pools.withLock { pools in
      pools.isShutDown = true
      return Array(pools.byKey.values) + pools.closing.values
    }
    await withDiscardingTaskGroup { group in
      for pool in open {
        group.addTask { try? await pool.shutDown().get() }
      }
    }
    // Their descriptions may hold a reference to this.
    pools.withLock { $0.byKey = [:] }
  }

  /// Closes all connections now. Requests that wait for their responses are uncertain.
  func closeConnections() {
    for pool in pools.withLock({ Array($0.byKey.values) + $0.closing.values }) { pool.closeConnections() }
  }
}

/// Where requests need places, and which of a customer's addresses these are counted at.
enum PlaceNeed: Sendable {
  case none
  /// At each origin, which devices have named.
  case origins(trusted: @Sendable (ServiceAddress) -> Bool)
  /// At the one origin that a customer has named for all.
  case provider
  /// Everywhere: each path of an origin is another receiver.
  case paths

  struct Place: Hashable {
    let address: String
    let kind: AddressKind
  }

  fileprivate func place(of request: PushRequest, at origin: ServiceAddress) -> Place? {
    switch self {
    case .none: nil
    case .origins(let isTrusted): Place(address: origin.origin, kind: isTrusted(origin) ? .trusted : .untrusted)
    case .provider: Place(address: origin.origin, kind: .provider)
    case .paths: Place(address: origin.origin + (request.headers[":path"] ?? "/"), kind: .untrusted)
    }
  }
}

/// A pool and its event loop.
private struct BoundPool {
  let loop: any EventLoop
  let box: NIOLoopBoundBox<HTTP2ConnectionPool>
  let use = PoolUse()
  var lastUse: Date

  /// - Parameter outcomes: where those of all requests go. The pool's use ends with the last of them.
  func enqueue(
    _ requests: [PushRequest], refused: [PushOutcome], _ outcomes: OutcomeStream, _ lease: PlaceLease? = nil,
    deadline: NIODeadline? = nil, while isWanted: @escaping @Sendable () -> Bool
  ) {
    let (box, use) = (box, use)
    loop.execute {
      box.value.enqueue(
        PushBatch(requests, outcomes: outcomes, use: use, lease: lease, deadline: deadline, while: isWanted),
        refused: refused)
    }
  }

  func shutDown() -> EventLoopFuture<Void> {
    let box = box
    return loop.flatSubmit { box.value.shutDown() }
  }

  func closeConnections() {
    let box = box
    loop.execute { box.value.closeConnections() }
  }
}
