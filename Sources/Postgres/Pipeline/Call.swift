/// One run of a statement: the caller's request to the reactor, and where its result goes.
///
/// `@unchecked Sendable`: the caller sets it up and hands it over through the inbox's lock. From then on only the reactor's
/// thread touches what can change.
final class Call: @unchecked Sendable {
  /// Decides what the loss of the connection means for a call in flight, and whether it shares a Sync.
  enum Role: Sendable {
    /// Alone, and only reads: shares a Sync, and may be sent again.
    case read
    /// Alone, in a transaction of its own that its Sync commits. If its result is lost, the outcome is unknown.
    case write
    /// Opens a transaction. It shares the Sync of the next statement, so that this one cannot run outside.
    case begin
    /// Within a transaction, or otherwise bound to its connection. A lost connection rolls it back, and it is never sent
    /// again.
    case within
    /// Ends a transaction. If its result is lost, the outcome is unknown.
    case commit
  }

  /// Why a call in flight is being cancelled on the server.
  enum Cancelling: Sendable {
    /// The caller's task was cancelled; the caller waits for what came of it.
    case task
    /// The caller's deadline has passed, and the caller has been answered.
    case deadline
    /// The server has not enforced the statement's time limit.
    case timeLimit
  }

  let statement: Statement
  let parameters: ParameterBuffer
  let role: Role
  /// How long it may run before the client has it cancelled, if the server has not done so by itself.
  let limit: Duration?
  /// The customer whom it serves: a tenant's statement compares `customer_id` with `$1`. 0 for any other, which serves the hub itself or
  /// several customers.
  let flow: Int64
  /// When the caller is answered at the latest, whatever has become of the call.
  let deadline: MonotonicInstant
  var continuation: UnsafeContinuation<Rows, any Error>?
  /// In place of a continuation, for calls that the reactor makes itself.
  var completion: ((Result<ResultBox, any Error>) -> Void)?

  // On the reactor's thread only:
  /// Whether the reactor has taken it from the inbox: a cancellation can overtake it there.
  var isTaken = false
  /// Records its time and its outcome.
  var meter: StatementMeter?
  /// The connection it was sent on.
  var session: Session?
  /// When the pool's own limit for waiting in the queue ends.
  var expires = MonotonicInstant.distantFuture
  var sentAt = MonotonicInstant.distantFuture
  var cancelling: Cancelling?
  /// How often the server has been asked to cancel it.
  var cancelRequests = 0
  /// When it may be asked again.
  var nextCancelRequest = MonotonicInstant(nanoseconds: .min)
  /// Whether it was sent and its result has not come.
  var isInFlight = false
  /// Whether it was sent again because the prepared statement was stale.
  var wasReprepared = false
  /// Where it waits in the pool, and which shared connection it holds.
  var place = FlowPlace()
  private(set) var isFinished = false

  init(
    _ statement: Statement, _ parameters: ParameterBuffer, role: Role, limit: Duration? = nil,
    deadline: MonotonicInstant = .distantFuture
  ) {
    self.statement = statement
    self.parameters = parameters
    self.role = role
    self.limit = limit
    self.deadline = deadline
    flow = statement.isTenants ? parameters.firstInteger : 0
  }

  func succeed(_ result: ResultBox) {
    guard !isFinished else { return }
    isFinished = true
    session = nil
    if let continuation = continuation.take() { return continuation.resume(returning: Rows(result: result)) }
    completion.take()?(.success(result))
  }

  func fail(_ error: any Error) {
    guard !isFinished else { return }
    isFinished = true
    session = nil
    if let continuation = continuation.take() { return continuation.resume(throwing: error) }
    completion.take()?(.failure(error))
  }
}

extension Call: FlowMember {
  /// A statement costs something without parameters, too.
  var cost: Int { 256 + parameters.bytes.count }
}

// MARK: - What an error means for the call that met it

extension Call {
  enum Conclusion {
    case fail(any Error)
    case resend
  }

  /// Whether it is a transaction of its own, so that it may be sent again when it had no effect.
  var standsAlone: Bool { role == .read || role == .write }

  /// The server cancelled what it ran (57014).
  /// - Parameters:
  ///   - isOurs: whether one of our own cancel requests may have hit the wrong statement.
  ///   - since: the earliest time at which the server can have begun with it.
  func conclusion(fromCancel error: ServerError, isOurs: Bool, since: MonotonicInstant, at now: MonotonicInstant)
    -> Conclusion
  {
    switch cancelling {
    case .task: .fail(CancellationError())
    case .deadline, .timeLimit: .fail(PostgresError.timedOut(statement: statement.name))
    case nil where isOurs && standsAlone: .resend
    case nil where hasOutlivedLimit(since: since, at: now): .fail(PostgresError.timedOut(statement: statement.name))
    case nil where isOurs:
      .fail(PostgresError.unavailable("\(statement.name) was hit by the cancelling of another statement"))
    case nil: .fail(PostgresError.server(error))
    }
  }

  /// Whether the server's own `statement_timeout` may have been the reason. Half of the limit is enough: the server's clock
  /// starts earlier, by as much as this side was late in reading the previous result.
  private func hasOutlivedLimit(since: MonotonicInstant, at now: MonotonicInstant) -> Bool {
    limit.map { now >= max(since, sentAt).advanced(by: $0 / 2) } ?? false
  }

  /// The caller's error when the connection is lost after this was sent and before its result came.
  var lossError: PostgresError {
    switch role {
    case .read, .begin, .within: .connectionLost(statement: statement.name)
    case .write, .commit: .unknownOutcome(statement: statement.name)
    }
  }

  /// The caller's error when the server has announced, in place of the next result, that it ends the connection. Results come
  /// in order, so it has reached no Sync behind this call. Only COMMIT, and procedures that `query` does not take, commit
  /// without a Sync.
  func lossErrorIfAnnounced(isAtHead: Bool) -> PostgresError {
    isAtHead && role == .commit ? lossError : .connectionLost(statement: statement.name)
  }

  /// The caller's error when the deadline passes after this was sent and before its result came. A connection was there, so the database is
  /// not away: it is slow, or stands still.
  var deadlineError: PostgresError {
    switch role {
    case .read, .begin, .within: .timedOut(statement: statement.name)
    case .write, .commit: .unknownOutcome(statement: statement.name)
    }
  }
}

// MARK: - How long the server is waited for

extension Call {
  /// The server enforces `statement_timeout` by itself; these are for a server that no longer answers. One second beyond
  /// the limit the call is cancelled, ten seconds beyond it the connection is closed.
  private static let (cancelAfter, closeAfter) = (Duration.seconds(1), Duration.seconds(10))

  /// When it is to be cancelled, or its connection closed, because the statement's own time limit has passed.
  /// - Parameters:
  ///   - since: when the server began with what it is at.
  ///   - isCancelled: whether cancelling has been tried, or would be in vain.
  func overdue(since: MonotonicInstant, isCancelled: Bool = false) -> MonotonicInstant {
    guard let limit else { return .distantFuture }
    let extra = isCancelled || cancelling == .timeLimit ? Self.closeAfter : Self.cancelAfter
    return max(since, sentAt).advanced(by: limit).advanced(by: extra)
  }
}
