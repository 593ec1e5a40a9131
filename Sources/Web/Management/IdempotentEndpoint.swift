import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Registry
import Synchronization
import Wire

/// Where the management routes ask who is calling, read bodies, and keep replies for repetitions.
struct IdempotentEndpoint: Sendable {
  let authenticator: Authenticator
  let replies: IdempotentReplies

  /// A status and a body that a POST ends in.
  struct Answer: Sendable {
    var status: HTTPResponse.Status = .ok
    var body: any Encodable & Sendable
  }

  /// Who is calling, with a key of scope `admin`.
  func access(_ request: Request) async throws -> Access {
    try await authenticator.access(request, needs: .admin)
  }

  /// Answers a POST that has a body. Authenticates before it reads.
  /// - Parameters:
  ///   - limit: bytes that the body may have.
  ///   - work: does it, in the transaction that also keeps the reply.
  func post<Body: Decodable & Sendable>(
    _ request: Request, _: Body.Type, upTo limit: Int = Limits.body,
    _ work: @escaping @Sendable (Access, Body, Database) async throws -> Answer
  ) async throws -> Response {
    let access = try await access(request)
    let bytes = try await request.jsonBytes(upTo: limit)
    let body = try JSONBody.decode(Body.self, from: bytes)
    return try await once(request, access, bytes) { transaction in try await work(access, body, transaction) }
  }

  /// Answers a POST that needs no body.
  /// - Parameter time: as `once` has it.
  func post(
    _ request: Request, within time: Duration? = nil,
    _ work: @escaping @Sendable (Access, Database) async throws -> Answer
  ) async throws -> Response {
    let access = try await access(request)
    let bytes = try await request.bytes()
    return try await once(request, access, bytes, within: time) { transaction in try await work(access, transaction) }
  }

  /// Does `work` once for an `Idempotency-Key`; a repetition gets the same reply, marked by `Idempotent-Replayed`.
  /// - Parameter time: how long each of its statements may take; `nil` for what the pool says.
  func once(
    _ request: Request, _ access: Access, _ bytes: ByteBuffer, within time: Duration? = nil,
    _ work: @escaping @Sendable (Database) async throws -> Answer
  ) async throws -> Response {
    let worked = Flag()
    let reply = try await replies.once(
      access.customer, key: request.headers[.idempotencyKey], fingerprint: Self.fingerprint(request, bytes),
      limit: time
    ) { transaction in
      let answer = try await work(transaction)
      worked.raise()
      return StoredReply(status: answer.status.code, body: Array(try JSONReply.encode(answer.body)))
    }
    return JSONReply.make(
      HTTPResponse.Status(code: reply.status), bytes: ByteBuffer(bytes: reply.body),
      headers: worked.isRaised ? [:] : [.idempotentReplayed: "true"])
  }

  private static func fingerprint(_ request: Request, _ bytes: ByteBuffer) -> [UInt8] {
    var hash = SHA256()
    hash.update(data: Data("\(request.method.rawValue) \(request.uri.string)\n".utf8))
    hash.update(data: Data(bytes.readableBytesView))
    return Array(hash.finalize())
  }
}

/// Whether something happened.
private final class Flag: Sendable {
  private let raised = Atomic(false)
  var isRaised: Bool { raised.load(ordering: .acquiring) }
  func raise() { raised.store(true, ordering: .releasing) }
}
