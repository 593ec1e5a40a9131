import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

/// Serves the phone page and the routes for rules, over HTTP/1.1 on a port of its own.
struct PhoneServer: Sendable {
  let port: Int
  private let pushes: RequestLog<PhoneEntry>
  private let group: ServiceGroup
  private let running: Task<Void, any Error>

  /// - Parameters:
  ///   - services: get rules and orders.
  ///   - webhooks: whose posts have a page.
  ///   - pushes: what phones got.
  ///   - settings: gives the address to bind and the names to answer to.
  ///   - addresses: what to show under "Point the hub here", by the hub's setting.
  ///   - site: the app of the sample page.
  /// - Throws: if the port cannot be bound.
  init(
    _ services: [any SteerableService], _ webhooks: SimulatedWebhooks, _ pushes: RequestLog<PhoneEntry>,
    _ settings: SimulatorSettings, port: Int, addresses: [(variable: String, value: String)],
    site: @escaping @Sendable () -> SampleSite?, logger: Logger
  ) async throws {
    let router = Router(context: PhoneRequestContext.self)
    router.add(middleware: HostCheck([settings.host, settings.name] + settings.phoneNames))
    PhoneRoutes(pushes: pushes, addresses: addresses, site: site).add(to: router)
    RuleRoutes(services: services).add(to: router)
    WebhookPage(receiver: webhooks).add(to: router)
    let (bound, continuation) = AsyncStream.makeStream(of: Int.self)
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    let application = Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname(settings.host, port: port)),
      onServerRunning: { channel in
        continuation.yield(channel.localAddress?.port ?? 0)
        continuation.finish()
      }, logger: quiet)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(services: [application], logger: quiet))
    let running = Task {
      defer { continuation.finish() }
      try await group.run()
    }
    guard let boundPort = await bound.first(where: { _ in true }) else {
      try await running.value
      throw CancellationError()
    }
    self.pushes = pushes
    self.group = group
    self.running = running
    self.port = boundPort
  }

  /// Ends every stream of events, and the server.
  func stop() async {
    await group.triggerGracefulShutdown()
    pushes.finish()
    _ = try? await running.value
  }
}

/// A request of a browser, and the address at which its connection was accepted.
struct PhoneRequestContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let localAddress: String?

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    localAddress = source.channel.localAddress?.ipAddress
  }
}

/// Refuses requests whose header `Host` names another host.
///
/// A web page elsewhere can have its own name resolve to this machine (DNS rebinding). It could then read pushes and
/// set rules as if it were the phone page. Its requests still carry its name.
struct HostCheck: RouterMiddleware {
  private let names: Set<String>

  /// - Parameter names: accepted besides `localhost`, 127.0.0.1, ::1 and the address of the connection.
  init(_ names: [String]) {
    self.names = Set((["localhost", "127.0.0.1", "::1"] + names).map { $0.lowercased() })
  }

  func handle(
    _ request: Request, context: PhoneRequestContext, next: (Request, PhoneRequestContext) async throws -> Response
  ) async throws -> Response {
    guard let name = request.head.authority.flatMap(Self.name), !name.isEmpty else {
      throw HTTPError(.badRequest, message: "The request has no valid header Host.")
    }
    guard names.contains(name) || name == context.localAddress else {
      throw HTTPError(
        .misdirectedRequest,
        message:
          "The phone page does not answer to this name. Open it as localhost, or start the Simulator with --phone-name."
      )
    }
    return try await next(request, context)
  }

  /// The name or address of `name:port` in lower case, without the brackets of an IPv6 address; nil if it is malformed.
  static func name(_ authority: String) -> String? {
    let isNumeric = authority.hasPrefix("[")
    let end = isNumeric ? authority.firstIndex(of: "]") : authority.firstIndex(of: ":") ?? authority.endIndex
    guard let end else { return nil }
    let port = authority[end...].drop { $0 == "]" }
    guard port.isEmpty || (port.hasPrefix(":") && port.dropFirst().allSatisfy(\.isNumber)) else { return nil }
    return authority[..<end].drop { $0 == "[" }.lowercased()
  }
}
