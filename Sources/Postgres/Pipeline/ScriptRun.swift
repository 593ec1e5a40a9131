import CLibpq

/// A text of many statements, run by the simple protocol: a migration, or what cannot be prepared.
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class ScriptRun: @unchecked Sendable {
  /// Names it in errors and logs.
  let name: String
  let sql: String
  var continuation: UnsafeContinuation<Void, any Error>?
  /// The first error; the server skips what is behind it.
  private(set) var error: ServerError?

  init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }

  /// Takes over one result.
  func take(_ result: OpaquePointer) {
    defer { PQclear(result) }
    if error == nil, PQresultStatus(result) == PGRES_FATAL_ERROR {
      error = ServerError(result: result, statement: name)
    }
  }

  func finish(_ outcome: Result<Void, PostgresError>) {
    continuation.take()?.resume(with: outcome.mapError { $0 as any Error })
  }
}
