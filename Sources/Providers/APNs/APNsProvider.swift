public import FoundationEssentials
public import Logging
import NIOCore
import NIOPosix
import NIOSSL
public import ServiceLifecycle
import Synchronization

/// Sends pushes through APNs over HTTP/2 with token authentication, and returns verdicts.
///
/// Each key has, in each environment, a pool of connections. They open when needed, and close when nothing was sent for an hour,
/// as after the key was replaced. All connections of a key share one provider token, which is renewed after 50 minutes.
public final class APNsProvider: Service {
  private struct PoolKey: Hashable {
    var environment: APNsEnvironment
    var credentials: APNsCredentials
  }

  private struct Pools {
    var byKey: [PoolKey: BoundPool] = [:]
    var isShutDown = false
  }

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

  /// Seconds without a push after which a pool is closed: longer than any push stays in it.
  private static let idleLimit: TimeInterval = 3600

  private let settings: APNsSettings
  private let connectors: [APNsEnvironment: HTTP2Connector]
  private let tokens: ProviderTokens
  private let logger: Logger
  private let group: any EventLoopGroup
  private let pools = Mutex(Pools())

  /// - Parameter now: the clock by which provider tokens and pushes are dated.
  /// - Throws: `ProviderError` if an address or the file of trusted certificates is unusable.
  public init(
    _ settings: APNsSettings, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
  ) throws(ProviderError) {
    self.settings = settings
    self.logger = logger
    group = MultiThreadedEventLoopGroup.singleton
    tokens = ProviderTokens(now: now)
    guard let production = ServiceAddress(url: settings.productionURL) else {
      throw .addressUnusable(setting: "PUSHCART_APNS_PRODUCTION_URL")
    }
    guard let sandbox = ServiceAddress(url: settings.sandboxURL) else {
      throw .addressUnusable(setting: "PUSHCART_APNS_SANDBOX_URL")
    }
    let tls = try NIOSSLContext.pushService(caFile: settings.caFile)
    let timeout = TimeAmount(settings.connectTimeout)
    connectors = [
      .production: HTTP2Connector(address: production, tls: tls, connectTimeout: timeout),
      .sandbox: HTTP2Connector(address: sandbox, tls: tls, connectTimeout: timeout),
    ]
  }

  /// How long `run` waits for responses at its end. Whoever sends has ended before, so nobody waits for them.
  private static let shutdownLimit = Duration.seconds(1)

  /// Closes idle pools until graceful shutdown or cancellation, then shuts down. `send` works without it.
  public func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await gracefulShutdown() }
      group.addTask {
        while (try? await Task.sleep(for: .seconds(600))) != nil { self.closeIdle() }
      }
      await group.next()
      group.cancelAll()
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.shutDown() }
      group.addTask {
        try? await Task.sleep(for: Self.shutdownLimit)
        for pool in self.pools.withLock({ Array($0.byKey.values) }) { pool.closeConnections() }
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// Closes the pools that have sent nothing for an hour, and drops their provider tokens.
  func closeIdle() {
    let now = tokens.now()
    let idle = pools.withLock { pools in
      let idle = pools.byKey.filter { now.timeIntervalSince($0.value.lastUse) > Self.idleLimit }
      for key in idle.keys { pools.byKey[key] = nil }
      tokens.removeAll(except: Set(pools.byKey.keys.map(\.credentials)))
      return idle.values
    }
    for pool in idle { _ = pool.shutDown() }
  }

  /// Returns waiting pushes as `unsent`, waits for responses to sent ones for at most `requestTimeout`, and closes all connections.
  public func shutDown() async {
    let open = pools.withLock { pools in
      pools.isShutDown = true
      return Array(pools.byKey.values)
    }
    await withDiscardingTaskGroup { group in
      for pool in open {
        group.addTask { try? await pool.shutDown().get() }
      }
    }
  }

  /// Sends all of `pushes` and yields their outcomes in groups as they come; each push has exactly one, and then the stream ends.
  ///
  /// When the reader's task is cancelled, pushes that have not left yet do not leave any more.
  /// - Parameter isWanted: called just before each push leaves; once it returns false, the rest come back `unsent`.
  public func send(
    _ pushes: [APNsPush], to environment: APNsEnvironment, as credentials: APNsCredentials,
    while isWanted: @escaping @Sendable () -> Bool = { true }
  ) -> AsyncStream<[PushOutcome]> {
    let refused = pushes.indices.compactMap { index in
      pushes[index].refusal.map { PushOutcome(index: index, verdict: $0, sentAt: nil) }
    }
    return enqueue(pushes, refused: refused, to: environment, as: credentials, while: isWanted)
  }

  /// Asks APNs whether it accepts a key for a topic, without a push to any phone.
  ///
  /// It sends an empty payload to a well-formed token that no device has. APNs checks the provider token before the push, so the
  /// response tells about the key:
  /// - 400 PayloadEmpty, BadDeviceToken, DeviceTokenNotForTopic, or 410: the key was accepted, and then the push refused.
  /// - 403, BadTopic, TopicDisallowed: the key, its team, its environment or the topic is refused.
  /// - anything else, and no response: nothing is known about the key.
  public func check(topic: String, environment: APNsEnvironment, credentials: APNsCredentials) async -> APNsCheck {
    let probe = APNsPush(token: String(repeating: "0", count: 64), topic: topic, id: UUID(), payload: [])
    if case .credentialsRefused(let reason) = probe.refusal { return .refused(reason: reason) }
    for await outcomes in enqueue([probe], refused: [], to: environment, as: credentials) {
      for outcome in outcomes { return APNsCheck(outcome.verdict) }
    }
    return .unreachable(reason: "Cancelled")
  }

  private func enqueue(
    _ pushes: [APNsPush], refused: [PushOutcome], to environment: APNsEnvironment, as credentials: APNsCredentials,
    while isWanted: @escaping @Sendable () -> Bool = { true }
  ) -> AsyncStream<[PushOutcome]> {
    let (stream, continuation) = AsyncStream.makeStream(of: [PushOutcome].self)
    guard !pushes.isEmpty else {
      continuation.finish()
      return stream
    }
    let cancellation = Cancellation()
    continuation.onTermination = { _ in cancellation.cancel() }
    let pool = pool(environment, credentials)
    pool.loop.execute {
      pool.box.value.enqueue(
        PushBatch(pushes, outcomes: continuation, cancellation: cancellation, while: isWanted), refused: refused)
    }
    return stream
  }

  private func pool(_ environment: APNsEnvironment, _ credentials: APNsCredentials) -> BoundPool {
    let now = tokens.now()
    return pools.withLock { pools in
      let key = PoolKey(environment: environment, credentials: credentials)
      pools.byKey[key]?.lastUse = now
      if let pool = pools.byKey[key] { return pool }
      let loop = group.next()
      let pool = BoundPool(
        loop: loop, box: .makeBoxSendingValue(makePool(environment, credentials, on: loop), eventLoop: loop),
        lastUse: now)
      if pools.isShutDown { loop.execute { _ = pool.box.value.shutDown() } }
      pools.byKey[key] = pool
      return pool
    }
  }

  private func makePool(
    _ environment: APNsEnvironment, _ credentials: APNsCredentials, on loop: any EventLoop
  ) -> sending HTTP2ConnectionPool {
    var logger = logger
    logger[metadataKey: "environment"] = "\(environment.rawValue)"
    logger[metadataKey: "team"] = "\(credentials.teamID)"
    guard let connector = connectors[environment] else { preconditionFailure("an environment without a connector") }
    return HTTP2ConnectionPool(
      credentials, tokens: tokens, connector: connector, timeouts: settings.timeouts, settings: settings.pool,
      loop: loop,
      metrics: APNsMetrics(environment), logger: logger)
  }
}

/// Whether APNs accepts a key, as `APNsProvider.check` found without a push to any phone.
public enum APNsCheck: Sendable, Hashable {
  /// The key, its team and the topic are accepted.
  case accepted
  /// APNs refused them, for this reason.
  case refused(reason: String)
  /// APNs could not be asked, or said nothing about the key.
  case unreachable(reason: String)
}

extension APNsCheck {
  /// What the verdict on the push of `APNsProvider.check` says about the key.
  init(_ verdict: Verdict) {
    switch verdict {
    case .accepted, .tokenInvalid: self = .accepted
    case .payloadRefused(let reason) where reason == APNsReason.payloadEmpty.rawValue: self = .accepted
    case .credentialsRefused(let reason): self = .refused(reason: reason)
    case .payloadRefused(let reason), .retry(_, let reason), .unsent(let reason), .uncertain(let reason):
      self = .unreachable(reason: reason)
    }
  }
}
