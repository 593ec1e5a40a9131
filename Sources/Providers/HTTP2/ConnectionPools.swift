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
  var credentials: PushServiceCredentials
  /// What its connections sign in with, for services that take a certificate in TLS.
  var certificate: PushCertificate?
}

/// All pools of connections. They open connections when needed, and are closed when nothing was sent for an hour, as after an app
/// got other credentials.
final class ConnectionPools: Sendable {
  private struct Pools {
    var byKey: [PoolKey: BoundPool] = [:]
    var isShutDown = false
  }

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

  /// Sends all of `requests`; see `PushAccount.send`.
  /// - Parameter service: what is behind the address, for a pool that does not exist yet.
  func send(
    _ requests: [PushRequest], refused: [PushOutcome] = [], through key: PoolKey, to address: ServiceAddress,
    _ service: @autoclosure () -> any ServiceDescription, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let (stream, continuation) = AsyncStream.makeStream(of: [PushOutcome].self)
    guard !requests.isEmpty else {
      continuation.finish()
      return stream
    }
    let cancellation = Cancellation()
    continuation.onTermination = { _ in cancellation.cancel() }
    let pool = pool(key, address, service)
    pool.loop.execute {
      pool.box.value.enqueue(
        PushBatch(requests, outcomes: continuation, cancellation: cancellation, while: isWanted), refused: refused)
    }
    return stream
  }

  private func pool(
    _ key: PoolKey, _ address: ServiceAddress, _ service: () -> any ServiceDescription
  ) -> BoundPool {
    let now = now()
    return pools.withLock { pools in
      pools.byKey[key]?.lastUse = now
      if let pool = pools.byKey[key] { return pool }
      let loop = group.next()
      let pool = BoundPool(
        loop: loop, box: .makeBoxSendingValue(makePool(key, address, service(), on: loop), eventLoop: loop),
        lastUse: now)
      if pools.isShutDown {
        loop.execute { _ = pool.box.value.shutDown() }
      } else {
        pools.byKey[key] = pool
      }
      return pool
    }
  }

  private func makePool(
    _ key: PoolKey, _ address: ServiceAddress, _ service: any ServiceDescription, on loop: any EventLoop
  ) -> sending HTTP2ConnectionPool {
    var logger = logger
    logger[metadataKey: "environment"] = "\(key.environment.rawValue)"
    logger[metadataKey: "account"] = "\(key.credentials)"
    var pool = settings.pool
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
      connector: HTTP2Connector(address: address, tls: tls, connectTimeout: TimeAmount(settings.connectTimeout)),
      timeouts: settings.timeouts, settings: pool, loop: loop,
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
      return (idle.values, Set(pools.byKey.keys.map(\.credentials)))
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
  var lastUse: Date

  func shutDown() -> EventLoopFuture<Void> {
    let box = box
    return loop.flatSubmit { box.value.shutDown() }
  }

  func closeConnections() {
    let box = box
    loop.execute { box.value.closeConnections() }
  }
}
