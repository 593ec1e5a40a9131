/// What an error means for the call that met it.
extension Call {
  enum Conclusion {
    case fail(any Error)
    case resend
  }

  /// Whether it is a transaction of its own, and so may be sent again when it had no effect.
  var standsAlone: Bool { role == .read || role == .write }

  /// The server cancelled what it ran (57014).
  /// - Parameters:
  ///   - isOurs: whether a request of this side may have hit the wrong statement.
  ///   - since: when the server can have begun with it, at the earliest.
  func conclusion(fromCancel error: ServerError, isOurs: Bool, since: MonotonicInstant, at now: MonotonicInstant)
    -> Conclusion
  {
    switch cancelling {
    case .task: .fail(CancellationError())
    case .deadline: .fail(PostgresError.timedOut(statement: statement.name))
    case nil where isOurs && standsAlone: .resend
    case nil where hasOutlivedLimit(since: since, at: now): .fail(PostgresError.timedOut(statement: statement.name))
    case nil where isOurs:
      .fail(PostgresError.unavailable("\(statement.name) was hit by the cancelling of its transaction's neighbour"))
    case nil: .fail(PostgresError.server(error))
    }
  }

  /// Whether it may have been the server's own `statement_timeout`. Half of the limit is enough: the server's clock starts
  /// earlier, by as much as this side was late in reading the answer before.
  private func hasOutlivedLimit(since: MonotonicInstant, at now: MonotonicInstant) -> Bool {
    limit.map { now >= max(since, sentAt).advanced(by: $0 / 2) } ?? false
  }

  /// What to tell the caller when the connection is lost after this was sent and before its answer came.
  var lossError: PostgresError {
    switch role {
    case .read, .begin, .within: .connectionLost(statement: statement.name)
    case .write, .commit: .unknownOutcome(statement: statement.name)
    }
  }

  /// The same when the server has said, in the place of the next answer, that it ends the connection. Answers come in order, so
  /// it has reached no Sync behind this call; only COMMIT commits without one, and procedures that do so, which are not for `query`.
  func lossErrorIfToldSo(isAtHead: Bool) -> PostgresError {
    isAtHead && role == .commit ? lossError : .connectionLost(statement: statement.name)
  }
}
