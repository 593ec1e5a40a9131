extension Lease {
  /// Bytes handed to the reactor at a time: one suspension for many rows.
  private static var portion: Int { 64 * 1024 }

  /// Runs a COPY … FROM STDIN to its end.
  /// - Returns: the count of rows.
  func copyIn<Chunks: AsyncSequence>(
    _ sql: String, _ chunks: Chunks, isWithinTransaction: Bool
  ) async throws -> Int where Chunks.Element == [UInt8] {
    let run = CopyInRun(sql, isWithinTransaction: isWithinTransaction)
    guard try await begin(run) else { return try await close(run, nil) }
    do {
      try await feed(chunks, to: run)
      // A sequence may simply end when its task is cancelled; that is no reason to keep half of it.
      try Task.checkCancellation()
    } catch {
      // What the server says to the abort is that it aborted.
      _ = try? await close(run, "\(type(of: error))")
      throw error
    }
    return try await close(run, nil)
  }

  /// Feeds until the chunks end, or the server takes no more: then `close` tells why.
  private func feed<Chunks: AsyncSequence>(
    _ chunks: Chunks, to run: CopyInRun
  ) async throws where Chunks.Element == [UInt8] {
    var portion: [UInt8] = []
    for try await chunk in chunks {
      if portion.isEmpty, chunk.count >= Self.portion {
        guard try await put(chunk, run) else { return }
      } else {
        portion += chunk
        guard portion.count >= Self.portion else { continue }
        guard try await put(portion, run) else { return }
        portion = []
        portion.reserveCapacity(Self.portion + chunk.count)
      }
    }
    if !portion.isEmpty { _ = try await put(portion, run) }
  }

  private func begin(_ run: CopyInRun) async throws -> Bool {
    let session = session
    return try await suspend { core, continuation in
      if core == nil { continuation.resume(throwing: run.lossError) } else { run.begin(session, continuation) }
    }
  }

  private func put(_ chunk: [UInt8], _ run: CopyInRun) async throws -> Bool {
    try Task.checkCancellation()
    let session = session
    return try await suspend { core, continuation in
      if core == nil { continuation.resume(throwing: run.lossError) } else { run.put(chunk, session, continuation) }
    }
  }

  private func close(_ run: CopyInRun, _ problem: String?) async throws -> Int {
    let session = session
    return try await suspend { core, continuation in
      if core == nil { continuation.resume(throwing: run.lossError) } else { run.close(problem, session, continuation) }
    }
  }

  /// Suspends until the reactor resumes the continuation. If the task is cancelled meanwhile, the server is asked to cancel;
  /// what it answers, success included, decides.
  private func suspend<Answer: Sendable>(
    _ body: @escaping @Sendable (PoolCore?, UnsafeContinuation<Answer, any Error>) -> Void
  ) async throws -> Answer {
    let session = session
    do {
      return try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in perform { body($0, continuation) } }
      } onCancel: {
        perform { core in if core != nil { session.cancelExchange() } }
      }
    } catch PostgresError.server(let error) where error.sqlState == ServerError.queryCanceled && Task.isCancelled {
      throw CancellationError()
    }
  }
}
