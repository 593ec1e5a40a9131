public import FoundationEssentials
public import Logging
import NIOCore
import NIOPosix
import NIOSSL
public import ServiceLifecycle
import Synchronization

/// Sends pushes through APNs over HTTP/2 with token authentication; returns verdicts and decides nothing.
///
/// Each key has, in each environment, a pool of connections that open when first needed and stay until nothing was sent for
/// an hour, as when the key was replaced. One provider token a key is shared by all of them and renewed after 50 minutes.
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
  }

  /// Time without a push after which a pool is closed: longer than any push stays in it.
  private static let idleLimit: TimeInterval = 3600

  private let settings: APNsSettings
  private let dialers: [APNsEnvironment: HTTP2Connector]
  private let tokens: ProviderTokens
  private let logger: Logger
  private let group: any EventLoopGroup
  private let pools = Mutex(Pools())

  /// - Parameter now: the clock that provider tokens and pushes are dated by.
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
    let trust = try TLSTrust.context(caFile: settings.caFile)
    let timeout = TimeAmount(settings.connectTimeout)
    dialers = [
      .production: HTTP2Connector(address: production, trust: trust, connectTimeout: timeout),
      .sandbox: HTTP2Connector(address: sandbox, trust: trust, connectTimeout: timeout),
    ]
  }

  /// Closes what is idle until graceful shutdown or cancellation, then shuts down. `send` works without it.
  public func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await gracefulShutdown() }
      group.addTask {
        while (try? await Task.sleep(for: .seconds(600))) != nil { self.closeIdle() }
      }
      await group.next()
      group.cancelAll()
    }
    await shutDown()
  }

  /// Closes the pools that have had nothing to send for an hour, and forgets their provider tokens.
  func closeIdle() {
    let now = tokens.now()
    let idle = pools.withLock { pools in
      let idle = pools.byKey.filter { now.timeIntervalSince($0.value.lastUse) > Self.idleLimit }
      for key in idle.keys { pools.byKey[key] = nil }
      tokens.forget(except: Set(pools.byKey.keys.map(\.credentials)))
      return idle.values
    }
    for pool in idle { _ = pool.shutDown() }
  }

  /// Takes no more pushes, hands back what has not left, awaits the answers to what has, for at most `requestTimeout`, and
  /// closes all connections.
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

  /// Sends all of `pushes` and yields their outcomes in groups, in the order they arrive; each push has exactly one, and
  /// then the stream ends.
  ///
  /// When the reader gives up (its task is cancelled), pushes that have not left yet do not leave any more.
  /// - Parameter isWanted: asked just before each push leaves; once it says no, the rest come back `unsent`.
  public func send(
    _ pushes: [APNsPush], to environment: APNsEnvironment, as credentials: APNsCredentials,
    while isWanted: @escaping @Sendable () -> Bool = { true }
  ) -> AsyncStream<[PushOutcome]> {
    let refused = pushes.indices.compactMap { index in
      APNsPreflight.refusal(of: pushes[index]).map { PushOutcome(index: index, verdict: $0, sentAt: nil) }
    }
    return enqueue(pushes, refused: refused, to: environment, as: credentials, while: isWanted)
  }

  /// Asks APNs whether it accepts a key for a topic, without a push to any phone.
  ///
  /// It sends an empty payload to a well-formed token that no device has. APNs looks at the provider token before it looks
  /// at what the push is about, so each answer tells on which side of that it was given:
  /// - 400 PayloadEmpty, BadDeviceToken, DeviceTokenNotForTopic, or 410: the key was accepted, and then the push was not.
  /// - 403, BadTopic, TopicDisallowed: the key, its team, its environment or the topic is refused.
  /// - anything else, and no answer: APNs said nothing about the key.
  public func check(topic: String, environment: APNsEnvironment, credentials: APNsCredentials) async -> APNsCheck {
    let probe = APNsPush(token: String(repeating: "0", count: 64), topic: topic, id: UUID(), payload: [])
    if case .credentialsRefused(let reason) = APNsPreflight.refusal(of: probe) { return .refused(reason: reason) }
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
    let withdrawal = Cancellation()
    continuation.onTermination = { _ in withdrawal.withdraw() }
    let pool = pool(environment, credentials)
    pool.loop.execute {
      pool.box.value.enqueue(
        PushBatch(pushes, outcomes: continuation, withdrawal: withdrawal, while: isWanted), refused: refused)
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
    guard let connector = dialers[environment] else { preconditionFailure("an environment without a dialer") }
    return HTTP2ConnectionPool(
      credentials, tokens: tokens, connector: connector, timeouts: settings.timeouts, settings: settings.pool,
      loop: loop,
      metrics: APNsMetrics(environment), logger: logger)
  }
}
