import FoundationEssentials
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Wire

/// Whose connections, and where to. Nothing else shares them: APNs binds a connection to one team.
struct PoolKey: Hashable, Sendable {
  var service: String
  var environment: PushEnvironment
  /// Nil if all customers with these credentials share the connections.
  var customer: CustomerID?
  /// Nil where nobody signs in.
  var credentials: PushServiceCredentials?
  /// What its connections sign in with, for services that take a certificate in TLS.
  var certificate: PushCertificate?
  /// Where to, for an account whose devices have addresses of their own.
  var origin: ServiceAddress?
  /// Whether nobody but a client has named the origin, so that it may be anybody's.
  var isOfStranger = false
}

/// All pools of connections. They open connections when needed, and are closed when nothing was sent for an hour, as after an app
/// got other credentials.
final class ConnectionPools: Sendable {
  private struct Pools {
    var byKey: [PoolKey: BoundPool] = [:]
    /// How many pushes of each account are at strangers' origins, or wait for these.
    var atStrangers: [PoolKey: Int] = [:]
    var isShutDown = false
  }

  /// Most origins that an account has connections to at a time, of strangers and of others. Clients name them, so they could be any
  /// number.
  static let mostOrigins = 64
  /// Most pushes of an account that are at strangers' origins at a time. Each holds room in the hub's window until it ends, which a
  /// stranger can put off.
  static let mostAtStrangers = 64
  /// Seconds without a push after which a pool is closed: longer than any push stays in it.
  private static let idleLimit: TimeInterval = 3600

  let now: @Sendable () -> Date
  private let settings: PushServiceSettings
  private let tls: NIOSSLContext
  /// The same, offering HTTP/1.1, too.
  private let tlsOfHTTP1: NIOSSLContext
  private let logger: Logger
  private let group: any EventLoopGroup
  private let pools = Mutex(Pools())

  init(_ settings: PushServiceSettings, logger: Logger, now: @escaping @Sendable () -> Date) throws(ProviderError) {
    self.settings = settings
    self.logger = logger
    self.now = now
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
  /// An account has connections to `mostOrigins` at a time. Idle ones are closed to make room. While all of them work, requests to
  /// further origins come back as `unsent`. Strangers' origins have to answer within `strangerTimeout`, and get `mostAtStrangers` pushes at
  /// a time; others come back as `unsent`.
  /// - Parameters:
  ///   - account: the key of the pools, without an origin.
  ///   - isTrusted: whether the operator or we know whose an origin is.
  ///   - service: what is behind an origin, for a pool that does not exist yet.
  func send(
    _ requests: [PushRequest], toOriginsOf account: PoolKey, where isTrusted: (ServiceAddress) -> Bool = { _ in true },
    _ service: (ServiceAddress) -> any ServiceDescription, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let (stream, outcomes) = OutcomeStream.make(count: requests.reduce(0) { $0 + $1.outcomeCount })
    var byOrigin: [ServiceAddress: [PushRequest]] = [:]
    for (index, request) in requests.enumerated() {
      guard let origin = request.origin else { preconditionFailure("a request without an origin") }
      var request = request
      // Its index is another among those of its origin.
      if request.recipients.isEmpty { request.recipients = [.init(token: [], index: index)] }
      byOrigin[origin, default: []].append(request)
    }
    for (origin, requests) in byOrigin {
      var key = account
      key.origin = origin
      key.isOfStranger = !isTrusted(origin)
      let lease = key.isOfStranger ? lease(upTo: requests.count, of: account) : nil
      let allowed = requests.prefix(lease?.count ?? requests.count)
      outcomes.postpone(requests.dropFirst(allowed.count), Verdict.tooManyAtStrangers)
      if allowed.isEmpty { continue }
      if let pool = pool(key, origin, { service(origin) }) {
        pool.enqueue(Array(allowed), refused: [], outcomes, lease, deadline: deadline(of: key), while: isWanted)
      } else {
        outcomes.postpone(allowed, Verdict.tooManyOrigins)
      }
    }
    return stream
  }

  private func deadline(of key: PoolKey) -> NIODeadline? {
    key.isOfStranger ? .now() + TimeAmount(settings.strangerTimeout) : nil
  }

  /// Takes places for pushes at strangers' origins, which come free with the lease's end.
  private func lease(upTo count: Int, of account: PoolKey) -> StrangerLease {
    let taken = pools.withLock { pools in
      let taken = min(count, Self.mostAtStrangers - pools.atStrangers[account, default: 0])
      pools.atStrangers[account, default: 0] += taken
      return taken
    }
    return StrangerLease(count: taken) { [weak self] in
      self?.pools.withLock { pools in
        let left = pools.atStrangers[account, default: 0] - taken
        pools.atStrangers[account] = left > 0 ? left : nil
      }
    }
  }

  /// - Returns: a pool whose use has begun; nil if its account has connections to too many other origins.
  private func pool(
    _ key: PoolKey, _ address: ServiceAddress, _ service: () -> any ServiceDescription
  ) -> BoundPool? {
    let now = now()
    return pools.withLock { pools in
      if pools.byKey[key] == nil {
        guard key.origin == nil || Self.makeRoom(for: key, in: &pools) else { return nil }
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

  /// Closes the account's idle pool that was used the longest time ago, if it has as many as it can have.
  /// - Returns: whether there is room for another.
  private static func makeRoom(for key: PoolKey, in pools: inout Pools) -> Bool {
    let others = pools.byKey.filter { other, _ in
      guard other.origin != nil else { return false }
      var other = other
      other.origin = key.origin
      return other == key
    }
    guard others.count >= mostOrigins else { return true }
    let idle = others.filter(\.value.use.isIdle).min { $0.value.lastUse < $1.value.lastUse }
    guard let idle else { return false }
    pools.byKey[idle.key] = nil
    _ = idle.value.shutDown()
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
    if key.isOfStranger {
      let limit = TimeAmount(settings.strangerTimeout)
      timeouts.request = min(timeouts.request, limit)
      timeouts.settings = min(timeouts.settings, limit)
      pool.queueTimeout = min(pool.queueTimeout, limit)
    }
    if let limit = service.longestRequest { timeouts.request = min(timeouts.request, TimeAmount(limit)) }
    pool.http1Size = service.http1Connections
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
        resolver: service.mayBePrivate ? .system : key.isOfStranger ? .publicOfStrangers : .public),
      timeouts: timeouts, settings: pool, loop: loop,
      metrics: ProviderMetrics(service: service.label, environment: key.environment), logger: logger, now: now)
  }
}

// MARK: - Closing

extension ConnectionPools {
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
      return Array(pools.byKey.values)
    }
    await withDiscardingTaskGroup { group in
      for pool in open {
        group.addTask { try? await pool.shutDown().get() }
      }
    }
    // What their services have to know may lead back here.
    pools.withLock { $0.byKey = [:] }
  }

  /// Closes all connections now. Requests that wait for their responses are uncertain.
  func closeConnections() {
    for pool in pools.withLock({ Array($0.byKey.values) }) { pool.closeConnections() }
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
    _ requests: [PushRequest], refused: [PushOutcome], _ outcomes: OutcomeStream, _ lease: StrangerLease? = nil,
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
