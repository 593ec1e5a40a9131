import CLibpq

/// What a session does outside pipeline mode.
extension Session {
  /// Leaves pipeline mode for an exchange; `endExchange` comes back to it.
  func begin(_ exchange: any Exchange, _ ticket: Int) {
    guard !isLost else { return exchange.failed(exchange.lossError) }
    guard ticket == self.ticket else { return exchange.failed(.leaseOver(exchange.name)) }
    guard case .pipeline = mode, pipeline.isIdle else {
      return exchange.failed(.misuse("\(exchange.name): the connection is in use by another statement"))
    }
    // From here on the loss of the connection is the exchange's to hear of.
    mode = .exchange(exchange)
    guard connection.exitPipeline(), connection.sendScript(exchange.sql) else { return lose(connection.errorMessage) }
    flush()
  }

  /// What the server says next; an error with which it ends the connection counts as the loss of it.
  func nextExchangeResult() -> ExchangeResult {
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
    guard case .exchange(let exchange) = mode else { return }
    guard connection.enterPipeline() else { return lose(connection.errorMessage) }
    mode = .pipeline
    prove()
    exchange.ended()
  }

  func cancelExchange(_ ticket: Int) {
    guard !isLost, ticket == self.ticket, case .exchange = mode else { return }
    pipeline.cancelExchange(&actions)
    perform()
  }

  private var exchangeName: String { if case .exchange(let exchange) = mode { exchange.name } else { "" } }
}
