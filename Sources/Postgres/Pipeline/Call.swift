/// One run of a statement: what the caller hands to the reactor, and where its answer goes.
///
/// `@unchecked Sendable`: the caller sets it up and hands it over through the inbox's lock; what can change is touched by
/// the reactor's thread alone from then on.
final class Call: @unchecked Sendable {
  /// What the loss of the connection means for a call in flight, and whether it shares a Sync.
  enum Role: Sendable {
    /// Alone and only reading: shares a Sync, may be sent again.
    case read
    /// Alone and in a transaction of its own, which its Sync commits: once sent, a lost answer leaves the outcome unknown.
    case write
    /// Opens a transaction; travels under the Sync of the statement behind it, so that this one cannot run outside.
    case begin
    /// Bound to its connection, as what is in a transaction that COMMIT has yet to end: a lost connection means that it
    /// never happened, and it is never sent again.
    case within
    /// Ends a transaction: a lost answer leaves the outcome unknown.
    case commit
  }

  /// Why a call in flight is being cancelled on the server.
  enum Cancelling: Sendable { case task, deadline }

  let statement: Statement
  let parameters: ParameterBuffer
  let role: Role
  /// How long it may run before the client has it cancelled, should the server not have done so by itself.
  let limit: Duration?
  var continuation: UnsafeContinuation<Rows, any Error>?
  /// In place of a continuation, for calls that the reactor makes itself.
  var completion: ((Result<ResultBox, any Error>) -> Void)?

  // On the reactor's thread only:
  /// Whether it has come out of the inbox: a cancellation can overtake it there.
  var isTaken = false
  /// Where it is counted.
  var meter: StatementMeter?
  /// The connection it was sent on.
  var session: Session?
  /// When it may wait for a connection no longer.
  var expires = MonotonicInstant.distantFuture
  var sentAt = MonotonicInstant.distantFuture
  var cancelling: Cancelling?
  /// How often the server has been asked to.
  var cancelRequests = 0
  /// Between being sent and being answered, as the pipeline sees it.
  var isInFlight = false
  /// Whether it was sent anew because the server had forgotten, or outgrown, the prepared statement.
  var preparedAnew = false
  private(set) var isFinished = false

  init(_ statement: Statement, _ parameters: ParameterBuffer, role: Role, limit: Duration? = nil) {
    self.statement = statement
    self.parameters = parameters
    self.role = role
    self.limit = limit
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
