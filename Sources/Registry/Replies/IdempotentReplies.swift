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

/// Does a request once and answers its repetitions alike, for 24 hours.
public struct IdempotentReplies: Sendable {
  private let pool: Pool
  private let vault: Vault

  public init(_ pool: Pool, vault: Vault) {
    self.pool = pool
    self.vault = vault
  }

  /// Runs `body` in one transaction together with the note that it ran. A twin of the request, in flight or done, gets the same
  /// reply and runs nothing; when `body` throws, nothing is noted and a repetition runs anew.
  /// - Parameters:
  ///   - key: the header's value, 1 to 255 characters; `nil` when there was none, so that every request runs.
  ///   - fingerprint: SHA-256 of method, path and body: the same key with another one is refused.
  ///   - limit: how long each of its statements may take; `nil` for what the pool says.
  ///   - body: all it changes must go through the transaction that it is given.
  /// - Throws: `RegistryError.idempotencyKeyReused`, `.idempotentReplyLost`, `.invalid`, and whatever `body` throws.
  public func once(
    _ customer: CustomerID, key: String?, fingerprint: [UInt8], limit: Duration? = nil,
    _ body: @escaping @Sendable (Database) async throws -> StoredReply
  ) async throws -> StoredReply {
    guard let key else { return try await pool.transaction(limit: limit) { try await body($0) } }
    let checked = try TextRule("Idempotency-Key", maximum: 255).require(key)
    return try await pool.transaction(limit: limit) { transaction in
      let request = IdempotentRequest(customer: customer, key: checked, fingerprint: fingerprint, vault: vault)
      return try await request.once(in: transaction, body)
    }
  }

  /// The place that a reply is sealed for.
  static func context(_ customer: CustomerID, _ key: String) -> String { "idempotent_reply/\(customer)/\(key)" }

  /// Removes a customer's notes that are older than 24 hours; gives their count.
  @discardableResult
  public func forgetExpired(_ customer: CustomerID) async throws -> Int {
    try await pool.query(IdempotentReplyQueries.forget, customer.rawValue).affected
  }
}

private struct IdempotentRequest: Sendable {
  let customer: CustomerID
  let key: String
  let fingerprint: [UInt8]
  let vault: Vault

  func once(
    in transaction: any Querying, _ body: @Sendable (Database) async throws -> StoredReply
  ) async throws -> StoredReply {
    let unknown = ["idempotent_reply_customer_id_fkey": RegistryError.customerUnknown(customer)]
    let taken = try await transaction.meaning(unknown) {
      try await $0.query(IdempotentReplyQueries.take, customer.rawValue, key, Bytes(fingerprint))
    }
    guard !taken.isEmpty else { return try await earlier(in: transaction) }
    let reply = try await body(transaction)
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
