import Hummingbird
public import Logging
public import ServiceLifecycle

/// Serves sets of routes on one listening socket.
public struct WebServer: Sendable {
  /// Every route there is.
  public let routes: [RouteTable.Entry]
  private let requestHandler: RequestHandler
  private let settings: WebServerSettings
  private let logger: Logger

  public init(_ sets: [any RouteSet], settings: WebServerSettings = WebServerSettings(), logger: Logger) {
    let table = RouteTable(sets)
    let errorMiddleware = ErrorMiddleware(routes: table.paths, logLevel: settings.accessLogLevel, logger: logger)
    routes = table.entries
    requestHandler = RequestHandler(
      responder: table.router(behind: errorMiddleware).buildResponder(), fastRoutes: FastRoutes(table.fastRoutes),
      errorMiddleware: errorMiddleware, addressRate: RateLimit(settings.requestsPerAddress),
      trustedProxies: settings.trustedProxies, logger: logger)
    self.settings = settings
    self.logger = logger
  }

  /// The service that listens and answers until the hub stops, then lets requests in flight finish.
  /// - Parameter onListening: called with the port once the socket accepts connections.
  public func service(onListening: @escaping @Sendable (Int) async -> Void = { _ in }) -> some Service {
    HTTPServer(requestHandler: requestHandler, settings: settings, onListening: onListening, logger: logger)
  }
}

/// Where a server listens, and what it lets clients do.
public struct WebServerSettings: Sendable {
  public var host = "127.0.0.1"
  /// 0 lets the system choose.
  public var port = 8080
  /// Most connections at once; a further client waits in the system's queue until one of them ends.
  public var connections = Int.max
  public var limits = ConnectionLimits()
  /// Those whose clients are told apart by `X-Forwarded-For`.
  public var trustedProxies = TrustedProxies()
  /// Requests a second that are answered for each client address; 0 for any number.
  public var requestsPerAddress = 0
  /// Level of the log line for each request that is answered; those of 5xx are warnings at least.
  public var accessLogLevel: Logger.Level = .debug

  public init() {}
}
