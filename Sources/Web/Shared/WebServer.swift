import Hummingbird
public import Logging
public import ServiceLifecycle

/// All faces behind one listening socket.
public struct WebServer: Sendable {
  /// Every route there is.
  public let routes: [RouteTable.Entry]
  private let requestHandler: RequestHandler
  private let settings: WebServerSettings
  private let logger: Logger

  public init(faces: [any RouteSet], settings: WebServerSettings = WebServerSettings(), logger: Logger) {
    let table = RouteTable(faces)
    let errorMiddleware = ErrorMiddleware(routes: table.entries, logLevel: settings.accessLogLevel, logger: logger)
    routes = table.entries
    requestHandler = RequestHandler(
      responder: table.router(behind: errorMiddleware).buildResponder(), quickRoutes: QuickRoutes(table.quickRoutes),
      errorMiddleware: errorMiddleware, logger: logger)
    self.settings = settings
    self.logger = logger
  }

  /// The service that listens and answers until it is told to stop, then lets requests in flight finish.
  /// - Parameter onListening: called with the port once the socket accepts connections.
  public func service(onListening: @escaping @Sendable (Int) async -> Void = { _ in }) -> some Service {
    HTTPServer(requestHandler: requestHandler, settings: settings, onListening: onListening, logger: logger)
  }
}

/// Where the site listens.
public struct WebServerSettings: Sendable {
  public var host = "127.0.0.1"
  /// 0 lets the system choose.
  public var port = 8080
  /// Seconds after which a connection without a request is closed.
  public var idleSeconds: Int64 = 75
  /// Most connections at once; whoever comes then waits in the system's queue until one of them ends.
  public var connections = Int.max
  /// Level of the one line that each answered request leaves in the log; those of 5xx are warnings at least.
  public var accessLogLevel: Logger.Level = .debug

  public init() {}
}
