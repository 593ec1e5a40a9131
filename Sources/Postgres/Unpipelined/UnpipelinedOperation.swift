import CLibpq

/// What a leased connection does outside pipeline mode: libpq can pipeline neither COPY nor many statements in one text.
/// Everything here happens on the reactor's thread.
protocol UnpipelinedOperation: AnyObject {
  /// Its name in errors and logs.
  var name: String { get }
  /// The text that begins it, by the simple protocol.
  var sql: String { get }
  /// Whether there is room for more of what the server sends.
  var wantsToRead: Bool { get }
  /// Whether an error is of interest before libpq reads it.
  var watchesForError: Bool { get }
  /// The server's next message is an error.
  func errorIsComing()
  /// Data has arrived.
  func advance(_ session: Session)
  /// The kernel has taken all that was to be written.
  func flushed()
  /// The server has sent its last result, and the connection is back in pipeline mode.
  func ended()
  /// It could not begin, or the connection was lost.
  func failed(_ error: PostgresError)
  /// The caller's error if the connection were lost now.
  var lossError: PostgresError { get }
}

extension UnpipelinedOperation {
  var watchesForError: Bool { false }
  func errorIsComing() {}
}

/// One result of an operation, as `PQgetResult` gives it.
enum UnpipelinedResult {
  /// No result has come yet.
  case none
  /// A statement was carried out.
  case done(affected: Int)
  case copyIn
  case copyOut
  case failed(ServerError)
  case end
}

// MARK: - On a session

extension Session {
  /// Leaves pipeline mode for an operation; `endOperation` returns to it.
  func begin(_ operation: any UnpipelinedOperation, _ leaseID: Int) {
    guard !isLost else { return operation.failed(operation.lossError) }
    guard leaseID == self.leaseID else { return operation.failed(.leaseOver(operation.name)) }
    guard case .pipeline = mode, pipeline.isIdle else {
      return operation.failed(.misuse("\(operation.name): the connection is in use by another statement"))
    }
    // From here on the operation fails when the connection is lost.
    mode = .operation(operation)
    guard connection.exitPipeline(), connection.sendScript(operation.sql) else { return lose(connection.errorMessage) }
    flush()
  }

  /// The server's next result. An error with which it ends the connection counts as a loss of the connection.
  func nextOperationResult() -> UnpipelinedResult {
    guard !isLost, !connection.isBusy else { return .none }
    guard let result = connection.nextResult() else { return .end }
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_COPY_IN: return .copyIn
    case PGRES_COPY_OUT: return .copyOut
    case PGRES_FATAL_ERROR:
      let error = ServerError(result: result, statement: operationName)
      if error.endsConnection { lose(error.description) }
      return error.endsConnection ? .none : .failed(error)
    default: return .done(affected: PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0)
    }
  }

  func endOperation() {
    guard case .operation(let operation) = mode else { return }
    guard connection.enterPipeline() else { return lose(connection.errorMessage) }
    mode = .pipeline
    prove()
    operation.ended()
  }

  func cancelOperation(_ leaseID: Int) {
    guard !isLost, leaseID == self.leaseID, case .operation = mode else { return }
    pipeline.cancelOperation(&actions)
    perform()
  }

  private var operationName: String { if case .operation(let operation) = mode { operation.name } else { "" } }
}

// MARK: - Scripts

/// Many statements in one text, run by the simple protocol: a migration, or what cannot be prepared.
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class ScriptOperation: UnpipelinedOperation, @unchecked Sendable {
  let name: String
  let sql: String
  var continuation: UnsafeContinuation<Void, any Error>?
  /// The first error; the server skips what follows it.
  private var error: ServerError?

  init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }

  var wantsToRead: Bool { true }
  var lossError: PostgresError { .connectionLost(statement: name) }

  func advance(_ session: Session) {
    while true {
      switch session.nextOperationResult() {
      case .none: return
      case .done: break
      case .failed(let error): self.error = self.error ?? error
      case .copyIn, .copyOut: return session.lose("\(name): COPY has a method of its own")
      case .end: return session.endOperation()
      }
    }
  }

  func flushed() {}

  func ended() {
    if let error { failed(.server(error)) } else { continuation.take()?.resume() }
  }

  func failed(_ error: PostgresError) { continuation.take()?.resume(throwing: error) }
}
