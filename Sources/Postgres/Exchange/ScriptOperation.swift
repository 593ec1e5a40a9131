/// A text of many statements, run by the simple protocol: a migration, or what cannot be prepared.
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class ScriptOperation: UnpipelinedOperation, @unchecked Sendable {
  let name: String
  let sql: String
  var continuation: UnsafeContinuation<Void, any Error>?
  /// The first error; the server skips what is behind it.
  private var error: ServerError?

  init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }

  var wantsToRead: Bool { true }
  var lossError: PostgresError { .connectionLost(statement: name) }

  func advance(_ session: Session) {
    while true {
      switch session.nextExchangeResult() {
      case .none: return
      case .done: break
      case .failed(let error): self.error = self.error ?? error
      case .copyIn, .copyOut: return session.lose("\(name): COPY has a method of its own")
      case .end: return session.endExchange()
      }
    }
  }

  func flushed() {}

  func ended() {
    if let error { failed(.server(error)) } else { continuation.take()?.resume() }
  }

  func failed(_ error: PostgresError) { continuation.take()?.resume(throwing: error) }
}
