import CLibpq

/// What a session does outside pipeline mode.
extension Session {
  /// Leaves pipeline mode for an operation; `endExchange` comes back to it.
  func begin(_ operation: any UnpipelinedOperation, _ ticket: Int) {
    guard !isLost else { return operation.failed(operation.lossError) }
    guard ticket == self.ticket else { return operation.failed(.leaseOver(operation.name)) }
    guard case .pipeline = mode, pipeline.isIdle else {
      return operation.failed(.misuse("\(operation.name): the connection is in use by another statement"))
    }
    // From here on the loss of the connection is the operation's to hear of.
    mode = .operation(operation)
    guard connection.exitPipeline(), connection.sendScript(operation.sql) else { return lose(connection.errorMessage) }
    flush()
  }

  /// What the server says next; an error with which it ends the connection counts as the loss of it.
  func nextExchangeResult() -> UnpipelinedResult {
    guard !isLost, !connection.isBusy else { return .none }
    guard let result = connection.nextResult() else { return .end }
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_COPY_IN: return .copyIn
    case PGRES_COPY_OUT: return .copyOut
    case PGRES_FATAL_ERROR:
      let error = ServerError(result: result, statement: exchangeName)
      if error.endsConnection { lose(error.description) }
      return error.endsConnection ? .none : .failed(error)
    default: return .done(affected: PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0)
    }
  }

  func endExchange() {
    guard case .operation(let operation) = mode else { return }
    guard connection.enterPipeline() else { return lose(connection.errorMessage) }
    mode = .pipeline
    prove()
    operation.ended()
  }

  func cancelExchange(_ ticket: Int) {
    guard !isLost, ticket == self.ticket, case .operation = mode else { return }
    pipeline.cancelExchange(&actions)
    perform()
  }

  private var exchangeName: String { if case .operation(let operation) = mode { operation.name } else { "" } }
}
