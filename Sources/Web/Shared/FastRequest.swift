public import HTTPTypes
public import Hummingbird
import Hybrid
public import NIOCore
import NIOHTTP1
public import Operations
import Registry
import Wire

/// A request to a route that is answered on the event loop, if nothing has to be waited for.
public struct FastRequest: Sendable {
  public let method: HTTPRequest.Method
  /// Path and query as they were sent.
  public let target: String
  /// The path's values for each `{name}` of the pattern, in their order and as they came.
  public let parameters: [Substring]
  /// Where it came from.
  let address: IPAddress
  /// Whose request it is.
  var client: IPAddress { address.client }
  /// What earlier attempts have waited for.
  var found = Found()
  private let origin: Origin

  /// Where the request's headers and its body are.
  private enum Origin {
    /// As the connection has read them.
    case connection(HTTPHeaders)
    case router(Request)
  }

  /// What was looked up for a request, so that no attempt asks twice. A request has one key, and names one app.
  struct Found: Sendable {
    typealias Answer<Value> = Result<Value, any Error>

    var body: Answer<ByteBuffer>?
    /// nil if the key opens nothing.
    var access: Answer<Access?>?
    /// Whether the request counts for the rate of its key already.
    var isCounted = false
    /// The push apps of the appId.
    var apps: Answer<[PushApp]>?
    /// All push apps of the customer.
    var allApps: Answer<[PushApp]>?
    /// Success once the identity has been verified.
    var identity: Answer<Void>?
    /// The app that signed the request; nil if none did.
    var signer: Answer<HybridApp?>?
  }

  /// A request that is short and whole.
  init(
    _ method: HTTPRequest.Method, _ target: String, _ headers: HTTPHeaders, parameters: [Substring], body: ByteBuffer,
    from address: IPAddress
  ) {
    self.method = method
    self.target = target
    self.parameters = parameters
    self.address = address
    origin = .connection(headers)
    found.body = .success(body)
  }

  /// A request that goes through the router.
  /// - Parameter body: nil if it is to be read once an attempt asks for it.
  init(_ request: Request, from address: IPAddress, parameters: [Substring] = [], body: ByteBuffer? = nil) {
    method = request.method
    target = request.uri.string
    self.parameters = parameters
    self.address = address
    origin = .router(request)
    found.body = body.map { .success($0) }
  }

  init(_ request: Request, _ context: WebRequestContext, parameters: [Substring] = [], body: ByteBuffer? = nil) {
    self.init(request, from: context.clientAddress, parameters: parameters, body: body)
  }
}

// MARK: - What it says

extension FastRequest {
  /// A header; the values of a repeated one joined by commas.
  public func header(_ name: HTTPField.Name) -> String? {
    switch origin {
    case .router(let request): return request.headers[name]
    case .connection(let headers):
      let values = headers[name.rawName]
      return values.count > 1 ? values.joined(separator: ", ") : values.first
    }
  }

  /// The Host header.
  var host: String? {
    if case .router(let request) = origin { return request.head.authority }
    return header(.host)
  }

  /// What follows the question mark; empty if there is none.
  var query: Substring {
    guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return "" }
    return target[mark...].dropFirst().prefix { $0 != "#" }
  }

  /// The path's value of that place, percent-decoded: `+` stands for itself, `%2F` is a slash inside the value.
  /// - Throws: `HTTPErrorResponse` (400) when it is not percent-encoded UTF-8 without U+0000.
  func part(_ place: Int, _ name: String) throws -> String {
    guard let text = PercentEncoding.decode(parameters[place].utf8) else {
      throw HTTPErrorResponse.badRequest("\(name): the path is not percent-encoded UTF-8.")
    }
    return text
  }

  /// The body, whatever it is; empty if there is none.
  /// - Throws: `MustWait`; `HTTPErrorResponse`: as of `Request.bytes`.
  public func bytes(upTo limit: Int = Limits.body) throws -> ByteBuffer {
    if let body = found.body { return try body.get() }
    guard case .router(let request) = origin else { return ByteBuffer() }
    throw MustWait(\.body) { try await request.bytes(upTo: limit) }
  }

  /// The JSON body as bytes.
  /// - Throws: `MustWait`; `HTTPErrorResponse`: 415 when the content type is absent or another; as `bytes`.
  public func jsonBytes(upTo limit: Int = Limits.body) throws -> ByteBuffer {
    guard let type = header(.contentType), JSONBody.isType(type) else { throw HTTPErrorResponse.notJSON }
    return try bytes(upTo: limit)
  }

  /// The customer's apps of that appId, one per platform; empty if there is none.
  /// - Throws: `MustWait`.
  func apps(of customer: CustomerID, appID: String, in cache: PushAppCache) throws -> [PushApp] {
    if let apps = try found.apps?.get() ?? cache.cached(customer, appID: appID) { return apps }
    throw MustWait(\.apps) { try await cache.apps(customer, appID: appID) }
  }
}

// MARK: - Attempts

/// Makes the reply to a fast request, on its connection's event loop. Its body must be there already.
public typealias FastReply = @Sendable () throws -> Response

/// Takes the reply to a fast request, now or later, from any thread, exactly once.
public typealias FastCompletion = @Sendable (@escaping FastReply) -> Void

/// Checks a request and answers it, from what the request and the caches have. It must not block its thread.
///
/// Whatever is not there is asked for by throwing `MustWait`, before anything is done. A task then waits for it, and the attempt is repeated.
/// So a route's checks are written once, whether they have to wait or not.
/// - Throws: `MustWait`; any other error is the reply, if the completion was not handed on.
public typealias FastAttempt = @Sendable (inout FastRequest, @escaping FastCompletion) throws -> Void

/// Says what an attempt has to wait for, such as the database, or a body that is still coming.
struct MustWait: Error {
  /// Waits for it and notes it in the request.
  let fetch: @Sendable (inout FastRequest) async -> Void

  init<Value: Sendable>(
    _ place: any WritableKeyPath<FastRequest.Found, FastRequest.Found.Answer<Value>?> & Sendable,
    _ ask: @escaping @Sendable () async throws -> Value
  ) {
    fetch = { request in
      do { request.found[keyPath: place] = .success(try await ask()) } catch {
        request.found[keyPath: place] = .failure(error)
      }
    }
  }
}

extension FastRequest {
  /// Answers at once if the attempt has to wait for nothing, else by a task.
  mutating func answer(by attempt: @escaping FastAttempt, _ answer: @escaping FastCompletion) {
    do {
      try attempt(&self, answer)
    } catch let wait as MustWait {
      let waiting = self
      completeLater(answer) {
        var request = waiting
        await wait.fetch(&request)
        return try await request.reply(by: attempt)
      }
    } catch {
      answer { throw error }
    }
  }

  /// Repeats an attempt to answer until it has to wait for nothing.
  /// - Throws: `CancellationError` if the task is cancelled before there is a reply; what the attempt has begun goes on.
  mutating func reply(by attempt: FastAttempt) async throws -> Response {
    try await complete { request in
      let (replies, reply) = AsyncStream.makeStream(of: Result<Response, any Error>.self)
      try attempt(&request) {
        reply.yield(Result(catching: $0))
        reply.finish()
      }
      for await result in replies { return try result.get() }
      throw CancellationError()
    }
  }

  /// Repeats a part of an attempt until it has to wait for nothing.
  mutating func complete<Value>(_ part: (inout FastRequest) async throws -> Value) async throws -> Value {
    while true {
      do { return try await part(&self) } catch let wait as MustWait { await wait.fetch(&self) }
    }
  }
}

/// Completes a fast request once a task has made its reply.
func completeLater(_ answer: @escaping FastCompletion, _ reply: @escaping @Sendable () async throws -> Response) {
  Task {
    let result: Result<Response, any Error>
    do { result = .success(try await reply()) } catch { result = .failure(error) }
    answer { try result.get() }
  }
}
