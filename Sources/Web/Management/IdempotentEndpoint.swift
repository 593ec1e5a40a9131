import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Registry
import Locking
import Wire

/// Makes the changes of management requests, and executes a POST once for each `Idempotency-Key`.
struct IdempotentEndpoint: Sendable {
  let replies: IdempotentReplies

  /// Makes the change of a PATCH, PUT or DELETE, which can be repeated without an `Idempotency-Key`.
  func change(
    _ access: Access, _ context: WebRequestContext,
    _ action: @escaping @Sendable (ManagementChange) async throws -> any Encodable & Sendable
  ) async throws -> Response {
    let reply = try await replies.change(access.customer, by: author(access, context), action)
    return try JSONReply.make(.ok, reply)
  }

  /// Whether a request with the same `Idempotency-Key` was answered before.
  func isRepetition(_ request: Request, _ access: Access) async throws -> Bool {
    guard let key = request.headers[.idempotencyKey] else { return false }
    return try await replies.knows(access.customer, key: key)
  }

  /// Executes `action` once for an `Idempotency-Key`. A repetition gets the same reply with `Idempotent-Replayed: true`.
  /// - Parameters:
  ///   - body: of the request; a repetition must have the same.
  ///   - status: of the reply.
  ///   - statementTimeout: of each statement in `action`; `nil` for the pool's own.
  ///   - action: runs in the transaction that also stores the reply. The key is checked again before it is committed.
  func respondOnce(
    to request: Request, _ context: WebRequestContext, _ body: ByteBuffer, _ access: Access,
    status: HTTPResponse.Status, statementTimeout: Duration? = nil,
    _ action: @escaping @Sendable (ManagementChange) async throws -> any Encodable & Sendable
  ) async throws -> Response {
    let isExecuted = Atomic(false)
    let stored = try await replies.once(
      access.customer, by: author(access, context), key: request.headers[.idempotencyKey],
      fingerprint: Self.fingerprint(request, body), limit: statementTimeout
    ) { change in
      let reply = try await action(change)
      isExecuted.store(true, ordering: .releasing)
      return StoredReply(status: status.code, body: Array(try JSONReply.encode(reply)))
    }
    return JSONReply.make(
      HTTPResponse.Status(code: stored.status), bytes: ByteBuffer(bytes: stored.body),
      headers: isExecuted.load(ordering: .acquiring) ? [:] : [.idempotentReplayed: "true"])
  }

  /// Who makes the change.
  func author(_ access: Access, _ context: WebRequestContext) -> ChangeAuthor {
    .key(access.key, address: context.clientAddress.description)
  }

  /// SHA-256 over method, path with query, and body.
  private static func fingerprint(_ request: Request, _ bytes: ByteBuffer) -> [UInt8] {
    var hash = SHA256()
    hash.update(data: Data("\(request.method.rawValue) \(request.uri.string)\n".utf8))
    hash.update(data: Data(bytes.readableBytesView))
    return Array(hash.finalize())
  }
}
