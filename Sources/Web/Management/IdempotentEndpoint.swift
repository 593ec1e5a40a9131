import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Registry
import Locking
import Wire

/// Authenticates management requests, makes their changes, and executes a POST once for each `Idempotency-Key`.
struct IdempotentEndpoint: Sendable {
  let authenticator: Authenticator
  let replies: IdempotentReplies

  /// What a POST is answered with.
  struct Reply: Sendable {
    var status: HTTPResponse.Status = .ok
    var body: any Encodable & Sendable
  }

  /// The caller's access, which must have scope `admin`.
  /// - Throws: `HTTPErrorResponse` (401 or 403).
  func authenticate(_ request: Request) async throws -> Access {
    try await authenticator.access(request, needs: .admin)
  }

  /// A reply to a GET.
  func reply(_ body: some Encodable, to access: Access) throws -> Response {
    try authenticator.reply(body, to: access)
  }

  /// Answers a POST with a body. The key is checked before the body is read, and again before the change is committed.
  /// - Parameters:
  ///   - limit: the body's limit in bytes.
  ///   - action: runs in the transaction that also stores the reply.
  func respond<Body: APIRequest>(
    to request: Request, _ context: WebRequestContext, body _: Body.Type, limit: Int = Limits.body,
    _ action: @escaping @Sendable (ManagementChange, Body) async throws -> Reply
  ) async throws -> Response {
    let access = try await authenticate(request)
    let bytes = try await request.jsonBytes(upTo: limit)
    let body = try JSONBody.decode(Body.self, from: bytes)
    return try await respondOnce(to: request, context, bytes, access) { change in try await action(change, body) }
  }

  /// Answers a POST that needs no body.
  /// - Parameter statementTimeout: as of `respondOnce`.
  func respond(
    to request: Request, _ context: WebRequestContext, statementTimeout: Duration? = nil,
    _ action: @escaping @Sendable (ManagementChange) async throws -> Reply
  ) async throws -> Response {
    let access = try await authenticate(request)
    let bytes = try await request.bytes()
    return try await respondOnce(to: request, context, bytes, access, statementTimeout: statementTimeout, action)
  }

  /// Makes the change of a PATCH, PUT or DELETE, which can be repeated without an `Idempotency-Key`.
  func change<Body: Encodable & Sendable>(
    _ access: Access, _ context: WebRequestContext,
    _ action: @escaping @Sendable (ManagementChange) async throws -> Body
  ) async throws -> Response {
    try JSONReply.make(.ok, try await replies.change(access.customer, by: author(access, context), action))
  }

  /// Who makes the change.
  func author(_ access: Access, _ context: WebRequestContext) -> ChangeAuthor {
    .key(access.key, address: context.clientAddress.description)
  }

  /// Executes `action` once for an `Idempotency-Key`. A repetition gets the same reply with `Idempotent-Replayed: true`.
  /// - Parameters:
  ///   - body: of the request; a repetition must have the same.
  ///   - statementTimeout: of each statement in `action`; `nil` for the pool's own.
  func respondOnce(
    to request: Request, _ context: WebRequestContext, _ body: ByteBuffer, _ access: Access,
    statementTimeout: Duration? = nil, _ action: @escaping @Sendable (ManagementChange) async throws -> Reply
  ) async throws -> Response {
    let isExecuted = Atomic(false)
    let stored = try await replies.once(
      access.customer, by: author(access, context), key: request.headers[.idempotencyKey],
      fingerprint: Self.fingerprint(request, body), limit: statementTimeout
    ) { change in
      let reply = try await action(change)
      isExecuted.store(true, ordering: .releasing)
      return StoredReply(status: reply.status.code, body: Array(try JSONReply.encode(reply.body)))
    }
    return JSONReply.make(
      HTTPResponse.Status(code: stored.status), bytes: ByteBuffer(bytes: stored.body),
      headers: isExecuted.load(ordering: .acquiring) ? [:] : [.idempotentReplayed: "true"])
  }

  /// SHA-256 over method, path with query, and body.
  private static func fingerprint(_ request: Request, _ bytes: ByteBuffer) -> [UInt8] {
    var hash = SHA256()
    hash.update(data: Data("\(request.method.rawValue) \(request.uri.string)\n".utf8))
    hash.update(data: Data(bytes.readableBytesView))
    return Array(hash.finalize())
  }
}
