extension Lease {
  /// Small chunks are gathered to this many bytes: one suspension for many rows.
  private static var bufferSize: Int { 64 * 1024 }
  /// Larger chunks are split: libpq keeps what the socket does not take, and counts in 32 bits.
  private static var largestWrite: Int { 1 << 20 }

  /// Runs a COPY … FROM STDIN to its end.
  /// - Returns: the count of rows.
  func copyIn<Chunks: AsyncSequence>(
    _ sql: String, _ chunks: Chunks, isWithinTransaction: Bool
  ) async throws -> Int where Chunks.Element == [UInt8] {
    let run = CopyInOperation(sql, isWithinTransaction: isWithinTransaction)
    guard try await begin(run) else { return try await close(run, nil) }
    do {
      // Not all was sent, so nothing is to be kept. The server then reports the error it had met.
      guard try await feed(chunks, to: run) else { return try await close(run, "the server refused to take more") }
      // A sequence may end when its task is cancelled; half of it must not be kept.
      try Task.checkCancellation()
    } catch {
      // The server only reports that the COPY was aborted.
      _ = try? await close(run, "\(type(of: error))")
      throw error
    }
    return try await close(run, nil)
  }

  /// Sends chunks until they end.
  /// - Returns: `false` if the server took no more before that; `close` then throws the reason.
  private func feed<Chunks: AsyncSequence>(
    _ chunks: Chunks, to run: CopyInOperation
  ) async throws -> Bool where Chunks.Element == [UInt8] {
    var buffer: [UInt8] = []
    for try await chunk in chunks {
      if buffer.isEmpty, chunk.count >= Self.bufferSize {
        guard try await putAll(chunk, run) else { return false }
      } else {
        buffer += chunk
        guard buffer.count >= Self.bufferSize else { continue }
        guard try await putAll(buffer, run) else { return false }
        buffer = []
        buffer.reserveCapacity(Self.bufferSize + min(chunk.count, Self.bufferSize))
      }
    }
    return buffer.isEmpty ? true : try await put(buffer, run)
  }

  private func putAll(_ chunk: [UInt8], _ run: CopyInOperation) async throws -> Bool {
    guard chunk.count > Self.largestWrite else { return try await put(chunk, run) }
    for start in stride(from: 0, to: chunk.count, by: Self.largestWrite) {
      guard try await put(Array(chunk[start...].prefix(Self.largestWrite)), run) else { return false }
    }
    return true
  }

  private func begin(_ run: CopyInOperation) async throws -> Bool {
    let (session, id) = (session, id)
    return try await suspend { run.begin(session, id, $0) }
  }

  private func put(_ chunk: [UInt8], _ run: CopyInOperation) async throws -> Bool {
    try Task.checkCancellation()
    let (session, id) = (session, id)
    return try await suspend { run.put(chunk, session, id, $0) }
  }

  private func close(_ run: CopyInOperation, _ problem: String?) async throws -> Int {
    let (session, id) = (session, id)
    return try await suspend { run.close(problem, session, id, $0) }
  }

  /// Has the reactor's thread run `body`, and suspends until it resumes the continuation. If the task is cancelled meanwhile,
  /// the server is asked to cancel; what it answers, success included, decides.
  private func suspend<Answer: Sendable>(
    _ body: @escaping @Sendable (UnsafeContinuation<Answer, any Error>) -> Void
  ) async throws -> Answer {
    let (session, id) = (session, id)
    do {
      return try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in
          perform { driver in
            if driver == nil { continuation.resume(throwing: PostgresError.shutDown) } else { body(continuation) }
          }
        }
      } onCancel: {
        perform { driver in if driver != nil { session.cancelOperation(id) } }
      }
    } catch PostgresError.server(let error) where error.sqlState == ServerError.queryCanceled && Task.isCancelled {
      throw CancellationError()
    }
  }
}

/// COPY … FROM STDIN.
///
/// - **opening**: the server has yet to accept it → open; closing, after an error of the server
/// - **open**: it takes data → closing
/// - **closing**: the end of the data has been sent → ended
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class CopyInOperation: UnpipelinedOperation, @unchecked Sendable {
  private enum State { case opening, open, closing }

  let name = "copy.in"
  let sql: String
  /// Whether the caller's own transaction commits what is copied, so that a lost connection means it was rolled back.
  private let isWithinTransaction: Bool
  private var state = State.opening
  private var error: ServerError?
  private var affected = 0
  private var isRefused = false
  private var outcome: Result<Int, any Error>?
  /// Waits for the server to accept the COPY, or for the socket to take a chunk.
  private var feeder: UnsafeContinuation<Bool, any Error>?
  /// Waits for the count.
  private var closer: UnsafeContinuation<Int, any Error>?

  init(_ sql: String, isWithinTransaction: Bool) {
    self.sql = Self.unlimited(sql)
    self.isWithinTransaction = isWithinTransaction
  }

  /// A COPY has no time limit: it runs at its caller's pace. The limit is lifted until the end of the transaction.
  static func unlimited(_ sql: String) -> String { "SET LOCAL statement_timeout = 0; \(sql)" }

  var wantsToRead: Bool { true }

  var lossError: PostgresError {
    state == .closing && !isWithinTransaction && error == nil
      ? .unknownOutcome(statement: name) : .connectionLost(statement: name)
  }

  // MARK: The caller's steps

  func begin(_ session: Session, _ leaseID: Int, _ feeder: UnsafeContinuation<Bool, any Error>) {
    self.feeder = feeder
    session.begin(self, leaseID)
  }

  /// Resumes `feeder` once the socket has taken the chunk: with `false` if the server refuses to take more.
  func put(_ chunk: [UInt8], _ session: Session, _ leaseID: Int, _ feeder: UnsafeContinuation<Bool, any Error>) {
    guard !session.isLost else { return feeder.resume(throwing: lossError) }
    guard leaseID == session.leaseID else { return feeder.resume(throwing: PostgresError.leaseOver(name)) }
    guard state == .open, !isRefused else { return feeder.resume(returning: false) }
    self.feeder = feeder
    guard session.connection.putCopy(chunk) else { return session.lose(session.connection.errorMessage) }
    session.flush()
  }

  /// - Parameter problem: why the server is to discard it all; `nil` when it is complete.
  func close(_ problem: String?, _ session: Session, _ leaseID: Int, _ closer: UnsafeContinuation<Int, any Error>) {
    if let outcome { return closer.resume(with: outcome) }
    guard !session.isLost else { return closer.resume(throwing: lossError) }
    guard leaseID == session.leaseID else { return closer.resume(throwing: PostgresError.leaseOver(name)) }
    self.closer = closer
    guard state == .open else { return }
    state = .closing
    guard session.connection.endCopy(problem) else { return session.lose(session.connection.errorMessage) }
    session.flush()
    advance(session)
  }

  // MARK: The server's answers

  /// libpq reads no error before the COPY is closed, but sending a million rows after a bad one is of no use. While it sends what the socket
  /// does not take, libpq reads by itself: an error that it meets then shows at the end alone.
  var watchesForError: Bool { state == .open }
  func errorIsComing() { isRefused = true }

  func advance(_ session: Session) {
    while state != .open {
      switch session.nextOperationResult() {
      case .none: return
      case .copyOut:
        failed(.misuse("\(name): not a COPY … FROM STDIN"))
        return session.lose("a COPY in the wrong direction")
      case .done(let count): affected = count
      case .copyIn:
        state = .open
        feeder.take()?.resume(returning: true)
      case .failed(let error): self.error = self.error ?? error
      case .end: return session.endOperation()
      }
    }
  }

  func flushed() {
    guard state == .open else { return }
    feeder.take()?.resume(returning: !isRefused)
  }

  func ended() {
    let outcome: Result<Int, any Error>
    if let error {
      outcome = .failure(PostgresError.server(error))
    } else if state == .opening {
      outcome = .failure(PostgresError.misuse("\(name): not a COPY … FROM STDIN"))
    } else {
      outcome = .success(affected)
    }
    finish(outcome)
  }

  func failed(_ error: PostgresError) { finish(.failure(error)) }

  private func finish(_ outcome: Result<Int, any Error>) {
    if self.outcome == nil { self.outcome = outcome }
    feeder.take()?.resume(with: outcome.map { _ in false })
    closer.take()?.resume(with: outcome)
  }
}
