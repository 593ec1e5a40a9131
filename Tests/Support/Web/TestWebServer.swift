import AsyncHTTPClient
import Hummingbird
public import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
public import Web
public import Wire

/// A server that listens on a free port of the loopback, and a client for it.
public struct TestWebServer: Sendable {
  /// `http://127.0.0.1:<port>`.
  public let url: String
  /// Every route there is, as in `GET /api/v1/keys/{id}`.
  public let routes: [String]

  /// A server that listens elsewhere, such as in another process.
  public init(url: String) { self.init(url: url, routes: []) }

  init(url: String, routes: [String]) {
    self.url = url
    self.routes = routes
  }

  /// Sends one request and reads the whole reply.
  /// - Parameters:
  ///   - method: such as `POST`.
  ///   - path: with its query, percent-encoded.
  ///   - key: sent as `Authorization: Bearer`.
  ///   - json: sent with `Content-Type: application/json`.
  ///   - body: sent as it is, in place of `json`.
  public func send(
    _ method: String, _ path: String, key: String? = nil, headers: [(String, String)] = [], json: String? = nil,
    body: String? = nil
  ) async throws -> TestReply {
    var request = HTTPClientRequest(url: url + path)
    request.method = HTTPMethod(rawValue: method)
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
    if let body { request.body = .bytes(ByteBuffer(string: body)) }
    if let json {
      request.headers.add(name: "Content-Type", value: "application/json")
      request.body = .bytes(ByteBuffer(string: json))
    }
    return try await reply(to: request)
  }

  /// Sends a POST with these bytes, and reads the whole reply.
  public func post(_ path: String, _ bytes: [UInt8], type: String? = nil) async throws -> TestReply {
    var request = HTTPClientRequest(url: url + path)
    request.method = .POST
    if let type { request.headers.add(name: "Content-Type", value: type) }
    request.body = .bytes(ByteBuffer(bytes: bytes))
    return try await reply(to: request)
  }

  private func reply(to request: HTTPClientRequest) async throws -> TestReply {
    let response = try await Self.client.execute(request, timeout: .seconds(300))
    let body = try await response.body.collect(upTo: 16 * 1024 * 1024)
    let fields = response.headers.map { ($0.name.lowercased(), $0.value) }
    return TestReply(
      status: Int(response.status.code), headers: Dictionary(fields) { "\($0), \($1)" },
      body: Array(body.readableBytesView))
  }

  /// Follows no redirects, so that tests see them, and has all the time of a slow machine.
  private static let client: HTTPClient = {
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    // Waiting for one of its few connections counts, too.
    configuration.timeout.connect = .seconds(300)
    // A server that was killed is not waited for.
    configuration.connectionPool.retryConnectionEstablishment = false
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }()
}

/// What a server answered.
public struct TestReply: Sendable {
  public let status: Int
  private let headers: [String: String]
  public let body: [UInt8]

  init(status: Int, headers: [String: String], body: [UInt8]) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  public func header(_ name: String) -> String? { headers[name.lowercased()] }
  public var text: String { String(decoding: body, as: UTF8.self) }
  /// The body as JSON.
  public var json: JSONValue {
    get throws { try JSONValue(parsing: body) }
  }
  /// The sentence of a refusal.
  public var error: String? {
    if case .string(let sentence) = try? json["error"] { sentence } else { nil }
  }
}

/// Runs `body` while these routes are served.
@discardableResult
public func withTestWebServer<Answer: Sendable>(
  _ routes: [any RouteSet], settings: WebServerSettings = WebServerSettings(), logger: Logger = TestServer.logger,
  _ body: @Sendable (TestWebServer) async throws -> Answer
) async throws -> Answer {
  var settings = settings
  settings.port = 0
  let server = WebServer(routes, settings: settings, logger: logger)
  let routes = server.routes.map { "\($0.method.rawValue) \($0.path.description)" }
  let (ports, announce) = AsyncStream.makeStream(of: Int.self)
  return try await withThrowingTaskGroup(of: Void.self) { group in
    defer { group.cancelAll() }
    group.addTask {
      defer { announce.finish() }
      try await server.service { announce.yield($0) }.run()
    }
    for await port in ports { return try await body(TestWebServer(url: "http://127.0.0.1:\(port)", routes: routes)) }
    try await group.waitForAll()
    throw TestSiteError.notListening
  }
}

enum TestSiteError: Error { case notListening }
