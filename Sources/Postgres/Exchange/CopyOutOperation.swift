/// COPY … TO STDOUT.
///
/// opening (the server has yet to agree) → open (rows come) → closing (they have come) → ended. Rows are read from the socket
/// only while fewer than `room` bytes wait for the reader; then the kernel's buffers fill and the server waits.
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class CopyOutOperation: UnpipelinedOperation, @unchecked Sendable {
  private enum State { case opening, open, closing, ended }

  let name = "copy.out"
  let sql: String
  static let room = 256 * 1024
  private var state = State.opening
  private var rows: [[UInt8]] = []
  private var bytes = 0
  private var error: PostgresError?
  private var isCancelled = false
  private var reader: UnsafeContinuation<[[UInt8]]?, any Error>?

  init(_ sql: String) { self.sql = CopyInOperation.unlimited(sql) }

  var wantsToRead: Bool { state != .open || bytes < Self.room }
  var lossError: PostgresError { .connectionLost(statement: name) }

  /// Resumes `reader` with the rows that have come, with `nil` after the last.
  func read(_ session: Session, _ reader: UnsafeContinuation<[[UInt8]]?, any Error>) {
    guard !isCancelled else { return reader.resume(throwing: CancellationError()) }
    self.reader = reader
    if rows.isEmpty, state == .open { advance(session) }
    deliver()
  }

  /// Whoever reads, or asks to read from now on, is turned away.
  func cancel() {
    isCancelled = true
    reader.take()?.resume(throwing: CancellationError())
  }

  func advance(_ session: Session) {
    while true {
      if state == .open {
        guard takeRows(session) else { break }
      } else {
        switch session.nextExchangeResult() {
        case .none: return deliver()
        case .copyIn:
          error = .misuse("\(name): not a COPY … TO STDOUT")
          return session.lose("a COPY in the wrong direction")
        case .done: break
        case .copyOut: state = .open
        case .failed(let error): self.error = self.error ?? .server(error)
        case .end: return session.endExchange()
        }
      }
    }
    deliver()
  }

  /// - Returns: whether the rows are at their end, and the server's last word is to be read.
  private func takeRows(_ session: Session) -> Bool {
    while bytes < Self.room {
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
