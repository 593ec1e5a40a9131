/// The rows of a COPY … TO STDOUT, as the server formats them, newline included.
///
/// Each iterator runs the COPY again, on a connection of its own from its first `next()` until its end. Rows are read from
/// the server no faster than the reader takes them. An iterator that is released, or whose task is cancelled, before the
/// end has its COPY cancelled on the server.
public struct CopyOut: AsyncSequence, Sendable {
  /// One row.
  public typealias Element = [UInt8]

  private let pool: Pool
  private let sql: String

  init(_ pool: Pool, _ sql: String) {
    self.pool = pool
    self.sql = sql
  }

  /// Does nothing before the first `next()`.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reading: Reading(pool, sql)) }

  /// One run of the COPY.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let reading: Reading
    private var batch: [[UInt8]] = []
    private var position = 0

    fileprivate init(reading: Reading) { self.reading = reading }

    /// - Throws: `PostgresError`; `CancellationError` when the task was cancelled.
    public mutating func next() async throws -> [UInt8]? {
      if position == batch.count {
        guard let rows = try await reading.next() else { return nil }
        (batch, position) = (rows, 0)
      }
      defer { position += 1 }
      return batch[position]
    }
  }

  /// The connection behind one iterator.
  fileprivate final class Reading {
    private enum State {
      case fresh
      case reading(Lease, CopyOutOperation)
      case over
    }

    private let pool: Pool
    private let sql: String
    private var state = State.fresh

    init(_ pool: Pool, _ sql: String) {
      self.pool = pool
      self.sql = sql
    }

    deinit { end() }

    func next() async throws -> [[UInt8]]? {
      let (lease, run): (Lease, CopyOutOperation)
      switch state {
      case .over: return nil
      case .reading(let held, let running): (lease, run) = (held, running)
      case .fresh:
        (lease, run) = (try await pool.leaseConnection(), CopyOutOperation(sql))
        state = .reading(lease, run)
        let (session, id) = (lease.session, lease.id)
        lease.perform { _ in session.begin(run, id) }
      }
      do {
        if let rows = try await lease.read(run) { return rows }
        end()
        return nil
      } catch {
        end()
        throw error
      }
    }

    /// A connection in mid-COPY is closed when it is released; one whose COPY is over is used again.
    private func end() {
      if case .reading(let lease, _) = state { lease.release() }
      state = .over
    }
  }
}

extension Lease {
  /// Runs a COPY … TO STDOUT to its end.
  func copyOut(_ sql: String, _ body: ([UInt8]) -> Void) async throws {
    let run = CopyOutOperation(sql)
    let (session, id) = (session, id)
    perform { _ in session.begin(run, id) }
    while let rows = try await read(run) { for row in rows { body(row) } }
  }

  fileprivate func read(_ run: CopyOutOperation) async throws -> [[UInt8]]? {
    try Task.checkCancellation()
    let session = session
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        perform { driver in
          if driver == nil {
            continuation.resume(throwing: PostgresError.shutDown)
          } else {
            run.read(session, continuation)
          }
        }
      }
    } onCancel: {
      // A reactor that has ended fails the reader itself, on its own thread.
      perform { driver in if driver != nil { run.cancel() } }
    }
  }
}

/// COPY … TO STDOUT.
///
/// opening (the server has yet to accept it) → open (rows arrive) → closing (all have arrived) → ended.
///
/// Rows are read from the socket only while fewer than `capacity` bytes wait for the reader; then the kernel's buffers fill and
/// the server waits.
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class CopyOutOperation: UnpipelinedOperation, @unchecked Sendable {
  private enum State { case opening, open, closing, ended }

  let name = "copy.out"
  let sql: String
  static let capacity = 256 * 1024
  private var state = State.opening
  private var rows: [[UInt8]] = []
  private var bytes = 0
  private var error: PostgresError?
  private var isCancelled = false
  private var reader: UnsafeContinuation<[[UInt8]]?, any Error>?

  init(_ sql: String) { self.sql = CopyInOperation.unlimited(sql) }

  var wantsToRead: Bool { state != .open || bytes < Self.capacity }
  var lossError: PostgresError { .connectionLost(statement: name) }

  /// Resumes `reader` with the rows that have arrived, with `nil` after the last.
  func read(_ session: Session, _ reader: UnsafeContinuation<[[UInt8]]?, any Error>) {
    guard !isCancelled else { return reader.resume(throwing: CancellationError()) }
    self.reader = reader
    if rows.isEmpty, state == .open { advance(session) }
    deliver()
  }

  /// Whoever reads, or asks to read from now on, gets `CancellationError`.
  func cancel() {
    isCancelled = true
    reader.take()?.resume(throwing: CancellationError())
  }

  func advance(_ session: Session) {
    while true {
      if state == .open {
        guard takeRows(session) else { break }
      } else {
        switch session.nextOperationResult() {
        case .none: return deliver()
        case .copyIn:
          error = .misuse("\(name): not a COPY … TO STDOUT")
          return session.lose("a COPY in the wrong direction")
        case .done: break
        case .copyOut: state = .open
        case .failed(let error): self.error = self.error ?? .server(error)
        case .end: return session.endOperation()
        }
      }
    }
    deliver()
  }

  /// - Returns: whether there are no more rows, so that the server's last result is to be read.
  private func takeRows(_ session: Session) -> Bool {
    while bytes < Self.capacity {
      switch session.connection.nextCopyRow() {
      case .row(let row):
        rows.append(row)
        bytes += row.count
      case .none: return false
      case .end:
        state = .closing
        return true
      }
    }
    return false
  }

  private func deliver() {
    guard let reader else { return }
    if !rows.isEmpty {
      self.reader = nil
      let batch = rows
      rows = []
      bytes = 0
      reader.resume(returning: batch)
    } else if state == .ended {
      self.reader = nil
      if let error { reader.resume(throwing: error) } else { reader.resume(returning: nil) }
    }
  }

  func flushed() {}

  func ended() {
    if state == .opening { error = error ?? .misuse("\(name): not a COPY … TO STDOUT") }
    state = .ended
    deliver()
  }

  func failed(_ error: PostgresError) {
    self.error = self.error ?? error
    state = .ended
    deliver()
  }
}
