/// The rows of a COPY … TO STDOUT, as the server formats them, newline included.
///
/// Each iterator runs the COPY anew, on a connection of its own from its first `next()` until its end. Rows are read from
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

  /// Begins nothing before the first `next()`.
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
        (lease, run) = (try await pool.borrow(), CopyOutOperation(sql))
        state = .reading(lease, run)
        let (session, ticket) = (lease.session, lease.ticket)
        lease.perform { _ in session.begin(run, ticket) }
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

    /// A connection in mid-COPY is closed when it is given back; one whose COPY is over goes on.
    private func end() {
      if case .reading(let lease, _) = state { lease.giveBack() }
      state = .over
    }
  }
}

extension Lease {
  fileprivate func read(_ run: CopyOutOperation) async throws -> [[UInt8]]? {
    try Task.checkCancellation()
    let session = session
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        perform { core in
          if core == nil {
            continuation.resume(throwing: PostgresError.shutDown)
          } else {
            run.read(session, continuation)
          }
        }
      }
    } onCancel: {
      // A reactor that has ended has turned the reader away, or is about to, on its own thread.
      perform { core in if core != nil { run.cancel() } }
    }
  }
}
