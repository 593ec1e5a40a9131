public import Postgres
public import Wire

/// What a request was answered with.
public struct StoredReply: Sendable, Equatable {
  /// HTTP status.
  public let status: Int
  public let body: [UInt8]

  public init(status: Int, body: [UInt8]) {
    self.status = status
    self.body = body
  }
}

/// Does a request once and gives its repetitions the same reply, for 24 hours.
public struct IdempotentReplies: Sendable {
  private let pool: Pool
  private let vault: Vault

  public init(_ pool: Pool, vault: Vault) {
    self.pool = pool
    self.vault = vault
  }

  /// Runs `body` in one transaction together with the note that it ran. A repetition of the request, while it runs or later, gets
  /// the same reply and runs nothing. It waits for two seconds while it runs (`LockWait.brief`). When `body` throws, nothing is noted and a repetition runs again.
  /// - Parameters:
  ///   - actor: who makes the request.
  ///   - key: the header's value, 1 to 255 characters; `nil` when there was none, so that every request runs.
  ///   - fingerprint: SHA-256 of method, path and body: the same key with another one is refused.
  ///   - limit: how long each of its statements may take; `nil` for what the pool says.
  ///   - body: all it changes must go through the change it is given.
  /// - Throws: `RegistryError.idempotencyKeyReused`, `.idempotentReplyLost`, `.invalid`, `.accessKeyRefused`, and whatever `body`
  ///   throws.
  public func once(
    _ customer: CustomerID, by actor: ChangeAuthor, key: String?, fingerprint: [UInt8], limit: Duration? = nil,
    _ body: @escaping @Sendable (ManagementChange) async throws -> StoredReply
  ) async throws -> StoredReply {
    guard let key else { return try await change(customer, by: actor, limit: limit, body) }
    let checked = try TextRule("Idempotency-Key", maximum: 255).require(key)
    return try await pool.transaction(of: customer.rawValue, limit: limit, isLong: false, locks: .brief) {
      transaction in
      let request = IdempotentRequest(customer: customer, key: checked, fingerprint: fingerprint, vault: vault)
      let change = ManagementChange(transaction, customer: customer, actor: actor)
      let reply = try await request.once(in: transaction) { try await body(change) }
      // A stored reply, too, is for a valid key alone: it may hold a token.
      try await change.holdKey()
      return reply
    }
  }

  /// Whether a request with this key was answered before, and its reply may still be there.
  public func knows(_ customer: CustomerID, key: String) async throws -> Bool {
    try await !pool.query(IdempotentReplyQueries.find, customer.rawValue, key).isEmpty
  }

  /// Runs `body` in one transaction, of which nothing is noted for repetitions.
  /// - Throws: `RegistryError.accessKeyRefused`, and whatever `body` throws.
  public func change<Answer: Sendable>(
    _ customer: CustomerID, by actor: ChangeAuthor, limit: Duration? = nil,
    _ body: @escaping @Sendable (ManagementChange) async throws -> Answer
  ) async throws -> Answer {
    try await pool.transaction(of: customer.rawValue, limit: limit, isLong: false, locks: .brief) {
      let change = ManagementChange($0, customer: customer, actor: actor)
      let answer = try await body(change)
      try await change.holdKey()
      return answer
    }
  }

  /// The place that a reply is sealed for.
  static func context(_ customer: CustomerID, _ key: String) -> String { SealedColumn.reply.place(customer, key) }

  /// Deletes a customer's replies that are older than 24 hours; returns their count.
  @discardableResult
  public func forgetExpired(_ customer: CustomerID) async throws -> Int {
    try await pool.deleteInPortions(IdempotentReplyQueries.forget, customer.rawValue)
  }
}

private struct IdempotentRequest: Sendable {
  let customer: CustomerID
  let key: String
  let fingerprint: [UInt8]
  let vault: Vault

  func once(
    in transaction: any Querying, _ body: @Sendable () async throws -> StoredReply
  ) async throws -> StoredReply {
    let unknown = ["idempotent_reply_customer_id_fkey": RegistryError.customerUnknown(customer)]
    let taken = try await transaction.mapViolations(unknown) {
      try await $0.query(IdempotentReplyQueries.take, customer.rawValue, key, Bytes(fingerprint))
    }
    guard !taken.isEmpty else { return try await earlier(in: transaction) }
    let reply = try await body()
    let sealed = try vault.seal(Secret(bytes: reply.body), context: context)
    try await transaction.query(
      IdempotentReplyQueries.settle, customer.rawValue, key, Int16(reply.status), Bytes(sealed.joined))
    return reply
  }

  private func earlier(in transaction: any Querying) async throws -> StoredReply {
    guard let row = try await transaction.query(IdempotentReplyQueries.find, customer.rawValue, key).first else {
      throw RegistryError.idempotentReplyLost
    }
    let (fingerprint, status, body) = try row.decode(Bytes.self, Int16.self, Bytes.self)
    guard fingerprint.bytes == self.fingerprint else { throw RegistryError.idempotencyKeyReused }
    guard let opened = try? vault.open(Sealed(joined: body.bytes), context: context) else {
      throw RegistryError.idempotentReplyLost
    }
    return StoredReply(status: Int(status), body: opened.bytes)
  }

  private var context: String { IdempotentReplies.context(customer, key) }
}

/// Statements on `idempotent_reply`.
enum IdempotentReplyQueries {
  /// Takes the key for this request: inserts its row, or takes over an expired one. Waits for a repetition that is under way, and
  /// returns no row once that has committed. Locks the key's row until the transaction ends.
  static let take = Statement(
    "idempotent_reply.take", .write,
    """
    INSERT INTO idempotent_reply AS reply (customer_id, idempotency_key, fingerprint, status, body, created_at)
    VALUES ($1::bigint, $2::text, $3::bytea, 0, '', now())
    ON CONFLICT (customer_id, idempotency_key) DO UPDATE
      SET fingerprint = excluded.fingerprint, status = 0, body = '', created_at = excluded.created_at
      WHERE excluded.created_at - reply.created_at > interval '24 hours'
    RETURNING 1
    """)

  static let settle = Statement(
    "idempotent_reply.settle", .write,
    """
    UPDATE idempotent_reply SET status = $3::int2, body = $4::bytea
    WHERE customer_id = $1::bigint AND idempotency_key = $2::text
    """)

  static let find = Statement(
    "idempotent_reply.find", .read,
    """
    SELECT fingerprint, status, body FROM idempotent_reply
    WHERE customer_id = $1::bigint AND idempotency_key = $2::text
    """)

  static let forget = Statement(
    "idempotent_reply.forget", .write,
    Portions.delete(from: "idempotent_reply", by: "created_at", before: "now() - interval '24 hours'"))

  static let all: [Statement] = [take, settle, find, forget]
}
