extension Lease {
  /// Bytes handed to the reactor at a time: one suspension for many rows.
  private static var portion: Int { 64 * 1024 }
  /// Bytes of one chunk handed over at a time: libpq keeps what the socket does not take, and counts in 32 bits.
  private static var largest: Int { 1 << 20 }

  /// Runs a COPY … FROM STDIN to its end.
  /// - Returns: the count of rows.
  func copyIn<Chunks: AsyncSequence>(
    _ sql: String, _ chunks: Chunks, isWithinTransaction: Bool
  ) async throws -> Int where Chunks.Element == [UInt8] {
    let run = CopyInOperation(sql, isWithinTransaction: isWithinTransaction)
    guard try await begin(run) else { return try await close(run, nil) }
    do {
      // Not all was fed, so nothing is to be kept; what the server says to that is the error it had met.
      guard try await feed(chunks, to: run) else { return try await close(run, "the server refused to take more") }
      // A sequence may simply end when its task is cancelled; that is no reason to keep half of it.
      try Task.checkCancellation()
    } catch {
      // What the server says to the abort is that it aborted.
      _ = try? await close(run, "\(type(of: error))")
      throw error
    }
    return try await close(run, nil)
  }

  /// Feeds until the chunks end.
  /// - Returns: `false` if the server took no more before that; `close` tells why.
  private func feed<Chunks: AsyncSequence>(
    _ chunks: Chunks, to run: CopyInOperation
  ) async throws -> Bool where Chunks.Element == [UInt8] {
    var portion: [UInt8] = []
    for try await chunk in chunks {
      if portion.isEmpty, chunk.count >= Self.portion {
        guard try await putAll(chunk, run) else { return false }
      } else {
        portion += chunk
        guard portion.count >= Self.portion else { continue }
        guard try await putAll(portion, run) else { return false }
        portion = []
        portion.reserveCapacity(Self.portion + min(chunk.count, Self.portion))
      }
    }
    return portion.isEmpty ? true : try await put(portion, run)
  }

  private func putAll(_ chunk: [UInt8], _ run: CopyInOperation) async throws -> Bool {
    guard chunk.count > Self.largest else { return try await put(chunk, run) }
    for start in stride(from: 0, to: chunk.count, by: Self.largest) {
      guard try await put(Array(chunk[start...].prefix(Self.largest)), run) else { return false }
    }
    return true
  }

  private func begin(_ run: CopyInOperation) async throws -> Bool {
    let (session, ticket) = (session, ticket)
    return try await suspend { core, continuation in
      if core == nil {
        continuation.resume(throwing: PostgresError.shutDown)
      } else {
        run.begin(session, ticket, continuation)
      }
    }
  }

  private func put(_ chunk: [UInt8], _ run: CopyInOperation) async throws -> Bool {
    try Task.checkCancellation()
    let (session, ticket) = (session, ticket)
    return try await suspend { core, continuation in
      if core == nil {
        continuation.resume(throwing: PostgresError.shutDown)
      } else {
        run.put(chunk, session, ticket, continuation)
      }
    }
  }

  private func close(_ run: CopyInOperation, _ problem: String?) async throws -> Int {
    let (session, ticket) = (session, ticket)
    return try await suspend { core, continuation in
      if core == nil {
        continuation.resume(throwing: PostgresError.shutDown)
      } else {
        run.close(problem, session, ticket, continuation)
      }
    }
  }

  /// Suspends until the reactor resumes the continuation. If the task is cancelled meanwhile, the server is asked to cancel;
  /// what it answers, success included, decides.
  private func suspend<Answer: Sendable>(
    _ body: @escaping @Sendable (PoolCore?, UnsafeContinuation<Answer, any Error>) -> Void
  ) async throws -> Answer {
    let (session, ticket) = (session, ticket)
    do {
      return try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in perform { body($0, continuation) } }
      } onCancel: {
        perform { core in if core != nil { session.cancelExchange(ticket) } }
      }
    } catch PostgresError.server(let error) where error.sqlState == ServerError.queryCanceled && Task.isCancelled {
      throw CancellationError()
    }
  }
}
