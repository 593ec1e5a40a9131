import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

/// Serves the phone page and the by-hand rules, over HTTP/1.1 on a port of its own.
struct PhoneServer: Sendable {
  let port: Int
  private let apns: SimulatedAPNs
  private let services: ServiceGroup
  private let running: Task<Void, any Error>

  /// - Parameter addresses: what to show under "Point the hub here", by the hub's setting.
  /// - Throws: if the port cannot be bound.
  init(
    _ apns: SimulatedAPNs, host: String, port: Int, addresses: [(String, String)], logger: Logger
  ) async throws {
    let router = Router()
    PhoneRoutes(apns: apns, addresses: addresses).add(to: router)
    RuleRoutes(apns: apns).add(to: router)
    let (bound, continuation) = AsyncStream.makeStream(of: Int.self)
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    let application = Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
      onServerRunning: { channel in
        continuation.yield(channel.localAddress?.port ?? 0)
        continuation.finish()
      }, logger: quiet)
    let services = ServiceGroup(
      configuration: ServiceGroupConfiguration(services: [application], logger: quiet))
    let running = Task {
      defer { continuation.finish() }
      try await services.run()
    }
    guard let boundPort = await bound.first(where: { _ in true }) else {
      try await running.value
      throw CancellationError()
    }
    self.apns = apns
    self.services = services
    self.running = running
    self.port = boundPort
  }

  /// Ends all watching, and the server.
  func stop() async {
    await services.triggerGracefulShutdown()
    apns.log.finish()
    _ = try? await running.value
  }
}
