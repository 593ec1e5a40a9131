import FoundationEssentials
import HTTPTypes
import Hummingbird
public import Hybrid
import NIOCore
import Operations
import Registry
import Locking
import Wire
import XML

/// The gateway of CM Hybrid Messaging, which takes messages to telephone numbers by XML, JSON or a query.
///
/// A request names no customer and has no header with a key. Its product token, in the body or the query, is an access key of scope
/// gateway.
public struct GatewayRoutes: RouteSet {
  private let authenticator: Authenticator
  private let messages: HybridMessages
  private let bodies = BodyBudget()
  /// Both paths take XML and JSON.
  private static let paths = ["/gateway.ashx", "/v1.0/message"]

  public init(authenticator: Authenticator, messages: HybridMessages) {
    self.authenticator = authenticator
    self.messages = messages
  }

  public func addRoutes(to routes: RouteTable) {
    for path in Self.paths {
      routes.add(.post, RouterPath(path), bound: .refused, use: readAndSend)
      routes.fastPath(.post, path, use: send)
    }
    routes.fast(.get, Self.paths[0], bound: .refused, takesQuery: true, use: sendQuery)
    // CM's gateway answers other methods so.
    routes.refuseOtherMethods(at: Self.paths[0], with: .nothing)
  }

  /// Reads a body that is not there at once.
  private func readAndSend(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    do {
      return try await bodies.withBody(
        of: request, from: context.clientAddress.client, upTo: GatewayRequest.maximumBytes, isKnown: hasKnownToken
      ) { bytes in
        var request = FastRequest(request, context, body: bytes)
        return try await request.reply(by: send)
      }
    } catch {
      // Until the body is there, its type has to do.
      return try Form(type: request.headers[.contentType]).reply(failure: error)
    }
  }

  /// Whether the beginning of a body has a product token that opens the gateway. What is read in the end decides whose.
  private func hasKnownToken(_ beginning: ByteBuffer) async throws -> Bool {
    for token in GatewayRequest.productTokens(in: beginning.readableBytesView)
    where try await authenticator.opensGateway(token) {
      return true
    }
    return false
  }

  private func send(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let body = try request.bytes()
    let form = Form(body)
    try send(&request, form, answer) { () throws(GatewayProblem) -> GatewayRequest in try form.read(body) }
  }

  /// HEAD comes here too, from link scanners for example, and must send nothing.
  private func sendQuery(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    guard request.method == .get else { return answer { Response(status: .badRequest) } }
    let query = String(request.query)
    try send(&request, .xml, answer) { () throws(GatewayProblem) -> GatewayRequest in try GatewayRequest(query: query) }
  }

  /// Sends the messages that `read` finds, if their product token opens the gateway.
  private func send(
    _ request: inout FastRequest, _ form: Form, _ answer: @escaping FastCompletion,
    _ read: () throws(GatewayProblem) -> GatewayRequest
  ) throws {
    let gateway: GatewayRequest
    do throws(GatewayProblem) { gateway = try read() } catch { return answer { form.reply(error) } }
    let access: Access?
    do {
      access = try authenticator.gatewayAccess(gateway.productToken, &request)
    } catch {
      let reply = try form.reply(failure: error)
      return answer { reply }
    }
    guard let access else { return answer { form.refuse(gateway.productToken) } }
    completeLater(answer) {
      do { return try await accept(gateway, form, access.customer) } catch { return try form.reply(failure: error) }
    }
  }

  /// Accepts all messages of a request in one call. XML has all or none accepted, and JSON each by itself.
  private func accept(_ request: GatewayRequest, _ form: Form, _ customer: CustomerID) async throws -> Response {
    let items = GatewayCheck(now: Date()).items(request.messages)
    var results: [Result<Int, GatewayRefusal>] = items.map { $0.result.map { _ in 0 } }
    let valid = items.compactMap { try? $0.result.get() }
    if form == .json || valid.count == items.count, !valid.isEmpty {
      var accepted = try await messages.accept(customer, valid, allOrNothing: form == .xml).makeIterator()
      for index in results.indices {
        guard case .success = results[index], let acceptance = accepted.next() else { continue }
        switch acceptance {
        case .accepted(let parts): results[index] = .success(parts)
        case .refused(let refusal): results[index] = .failure(.refused(refusal))
        }
      }
    }
    return form == .json ? GatewayReply.json(items, results) : GatewayReply.xml(results)
  }

  /// How a request is written, and its reply.
  private enum Form: Sendable {
    case json, xml

    /// Everything else than XML is taken for JSON.
    init(_ body: ByteBuffer) { self = ParsedXML.isXML(body.readableBytesView) ? .xml : .json }

    init(type: String?) { self = type?.lowercasedASCII.contains("xml") == true ? .xml : .json }

    func read(_ body: ByteBuffer) throws(GatewayProblem) -> GatewayRequest {
      switch self {
      case .json: try Self.readJSON(body)
      case .xml: try GatewayRequest(xml: Array(body.readableBytesView))
      }
    }

    private static func readJSON(_ body: ByteBuffer) throws(GatewayProblem) -> GatewayRequest {
      let result = body.withUnsafeReadableBytes { bytes in
        Result { () throws(GatewayProblem) in try GatewayRequest(json: bytes) }
      }
      return try result.get()
    }

    func reply(_ problem: GatewayProblem) -> Response {
      self == .json ? GatewayReply.json(problem) : GatewayReply.xml(problem)
    }

    /// What became of a request that the hub could not carry out, with its status.
    /// - Throws: an error that nobody foresaw, and that a limit of rates was exceeded: that is answered as at every other address.
    func reply(failure error: any Error) throws -> Response {
      guard let reply = ErrorReplies.response(for: error), reply.status != .tooManyRequests else { throw error }
      return self == .json ? GatewayReply.json(reply) : GatewayReply.xml(reply)
    }

    func refuse(_ token: String?) -> Response {
      self == .json ? GatewayReply.jsonUnauthenticated : GatewayReply.xmlUnauthenticated(token)
    }
  }
}

/// How much memory bodies take, and whose are still coming. A client that sends its bodies slowly leaves room for others.
struct BodyShares {
  /// Most bytes of all bodies together, and of those that one client has begun to send.
  static let (all, one) = (256 * 1024 * 1024, 16 * 1024 * 1024)
  private var taken = 0
  private var coming: [IPAddress: Int] = [:]

  /// - Returns: whether there is room for further bytes of a client's body.
  mutating func take(_ bytes: Int, of client: IPAddress) -> Bool {
    guard taken + bytes <= Self.all, coming[client, default: 0] + bytes <= Self.one else { return false }
    taken += bytes
    coming[client, default: 0] += bytes
    return true
  }

  /// The body has come, or broken off. It takes memory until `release`.
  mutating func end(_ bytes: Int, of client: IPAddress) {
    let left = coming[client, default: 0] - bytes
    coming[client] = left > 0 ? left : nil
  }

  mutating func release(_ bytes: Int) { taken -= bytes }
}

/// Bounds the memory of bodies that are read before anybody knows whose they are.
private final class BodyBudget: Sendable {
  private let shares = Mutex(BodyShares())

  /// Reads a body, and keeps its place until `use` has ended.
  /// - Parameter isKnown: whether the first 64 KiB say whose the body is. It is asked only about a longer one.
  /// - Throws: `HTTPErrorResponse`: 413 when the body is larger than `limit`, or than 64 KiB of somebody who is not known, 400 when
  ///   it breaks off, 503 without room.
  func withBody(
    of request: Request, from client: IPAddress, upTo limit: Int, isKnown: (ByteBuffer) async throws -> Bool,
    _ use: (ByteBuffer) async throws -> Response
  ) async throws -> Response {
    try request.checkLength(upTo: limit)
    var body = ByteBuffer()
    var size = 0
    // Of a long body: whether it is known whose it is. If it is not, its rest is read and dropped, so that the client gets its reply.
    var isWanted: Bool?
    defer { shares.withLock { $0.release(size) } }
    do {
      defer { shares.withLock { $0.end(size, of: client) } }
      var dropped = 0
      for try await chunk in request.body {
        guard size + dropped + chunk.readableBytes <= limit else { throw HTTPErrorResponse.tooLarge(limit: limit) }
        guard isWanted != false else {
          dropped += chunk.readableBytes
          continue
        }
        guard shares.withLock({ $0.take(chunk.readableBytes, of: client) }) else { throw HTTPErrorResponse.busy }
        size += chunk.readableBytes
        body.writeImmutableBuffer(chunk)
        if isWanted == nil, size > Limits.body { isWanted = try await isKnown(body) }
      }
      guard isWanted != false else { throw HTTPErrorResponse.tooLargeForUnknown }
    } catch  where !(error is HTTPErrorResponse) && !(error is CancellationError) {
      throw HTTPErrorResponse.brokenBody
    }
    return try await use(body)
  }
}
