/// COPY … FROM STDIN.
///
/// opening (the server has yet to agree) → open (it takes data) → closing (it has been told that this was all) → ended; an
/// error of the server while opening leads to closing at once.
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class CopyInOperation: UnpipelinedOperation, @unchecked Sendable {
  private enum State { case opening, open, closing }

  let name = "copy.in"
  let sql: String
  /// Whether a transaction of the caller's decides over what is copied, so that a lost connection means it is not there.
  private let isWithinTransaction: Bool
  private var state = State.opening
  private var error: ServerError?
  private var affected = 0
  private var isRefused = false
  private var outcome: Result<Int, any Error>?
  /// Who waits for the server to agree, or for the socket to take a chunk.
  private var feeder: UnsafeContinuation<Bool, any Error>?
  /// Who waits for the count.
  private var closer: UnsafeContinuation<Int, any Error>?

  init(_ sql: String, isWithinTransaction: Bool) {
    self.sql = Self.unlimited(sql)
    self.isWithinTransaction = isWithinTransaction
  }

  /// A COPY goes at its caller's pace. The server takes the time limit for each statement of a text by itself, so lifting it
  /// in front of the COPY does not last beyond the transaction.
  static func unlimited(_ sql: String) -> String { "SET LOCAL statement_timeout = 0; \(sql)" }

  var wantsToRead: Bool { true }

  var lossError: PostgresError {
    state == .closing && !isWithinTransaction && error == nil
      ? .unknownOutcome(statement: name) : .connectionLost(statement: name)
  }

  // MARK: The caller's steps

  func begin(_ session: Session, _ ticket: Int, _ feeder: UnsafeContinuation<Bool, any Error>) {
    self.feeder = feeder
    session.begin(self, ticket)
  }

  /// Resumes `feeder` once the socket has taken the chunk: with `false` if the server refuses to take more.
  func put(_ chunk: [UInt8], _ session: Session, _ ticket: Int, _ feeder: UnsafeContinuation<Bool, any Error>) {
    guard !session.isLost else { return feeder.resume(throwing: lossError) }
    guard ticket == session.ticket else { return feeder.resume(throwing: PostgresError.leaseOver(name)) }
    guard state == .open, !isRefused else { return feeder.resume(returning: false) }
    self.feeder = feeder
    guard session.connection.putCopy(chunk) else { return session.lose(session.connection.errorMessage) }
    session.flush()
  }

  /// - Parameter problem: why the server shall forget it all; `nil` when it is complete.
  func close(_ problem: String?, _ session: Session, _ ticket: Int, _ closer: UnsafeContinuation<Int, any Error>) {
    if let outcome { return closer.resume(with: outcome) }
    guard !session.isLost else { return closer.resume(throwing: lossError) }
    guard ticket == session.ticket else { return closer.resume(throwing: PostgresError.leaseOver(name)) }
    self.closer = closer
    guard state == .open else { return }
    state = .closing
    guard session.connection.endCopy(problem) else { return session.lose(session.connection.errorMessage) }
    session.flush()
    advance(session)
  }

  // MARK: What the server says

  /// libpq reads no error before the COPY is closed, but there is no use in sending a million rows after a bad one.
  var watchesForError: Bool { state == .open }
  func errorIsComing() { isRefused = true }

  func advance(_ session: Session) {
    while state != .open {
      switch session.nextExchangeResult() {
      case .none: return
      case .copyOut:
        failed(.misuse("\(name): not a COPY … FROM STDIN"))
        return session.lose("a COPY in the wrong direction")
      case .done(let count): affected = count
      case .copyIn:
        state = .open
        feeder.take()?.resume(returning: true)
      case .failed(let error): self.error = self.error ?? error
      case .end: return session.endExchange()
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
