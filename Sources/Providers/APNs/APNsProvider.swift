public import FoundationEssentials
public import Logging
public import ServiceLifecycle

/// Sends pushes through APNs over HTTP/2 with token authentication; returns verdicts and decides nothing.
///
/// Each key has, in each environment, a pool of connections that open when first needed and stay. One provider token a
/// key is shared by all of them and renewed after 50 minutes.
public final class APNsProvider: Service {
  /// - Parameter now: the clock that provider tokens are dated by.
  /// - Throws: `ProviderError` if an address or the file of trusted certificates is unusable.
  public init(
    _ settings: APNsSettings, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
  ) throws(ProviderError) {}

  /// Waits for graceful shutdown or cancellation, then lets the requests in flight be answered, for at most
  /// `requestTimeout`, and closes all connections. `send` works without it.
  public func run() async throws {}

  /// Sends all of `pushes` and yields their outcomes in groups, in the order they arrive; each push has exactly one, and
  /// then the stream ends.
  ///
  /// When the reader gives up (its task is cancelled), pushes that have not left yet do not leave any more.
  public func send(
    _ pushes: [APNsPush], to environment: APNsEnvironment, as credentials: APNsCredentials
  ) -> AsyncStream<[PushOutcome]> {
    AsyncStream { continuation in
      continuation.yield(
        pushes.indices.map { PushOutcome(index: $0, verdict: .unsent(reason: "NoConnection"), sentAt: Date()) })
      continuation.finish()
    }
  }

  /// Asks APNs whether it accepts a key for a topic, without a push to any phone.
  public func check(topic: String, environment: APNsEnvironment, credentials: APNsCredentials) async -> APNsCheck {
    .unreachable(reason: "NoConnection")
  }
}
