internal import CLibpq

/// Everything that can go wrong between a caller and PostgreSQL; each case says whether the statement can have taken effect.
public enum PostgresError: Error, Sendable {
  /// PostgreSQL refused the statement: it had no effect.
  case server(ServerError)
  /// There was no connection in time, or the pool was shut down. Reads, and statements within a transaction, also fail
  /// with it if they were cancelled in place of another. It had no effect.
  case unavailable(String)
  /// The statement was never sent, as too many are waiting already, or others kept all connections busy for too long. It had no effect.
  case busy(String)
  /// The connection was lost, and nothing took effect. The statement only reads, or its transaction was not committed.
  /// Or the server announced that it ends the connection before it reached the statement.
  case connectionLost(statement: String)
  /// The connection was lost, or the deadline passed, after a write was sent and before its answer: it may have been committed
  /// or not.
  case unknownOutcome(statement: String)
  /// The time limit passed, and the server confirmed that the statement was cancelled. Or the deadline passed on a connection, of a
  /// read or within a transaction. It had no effect. A statement that another client cancelled before that time is `server` with
  /// SQLSTATE 57014.
  case timedOut(statement: String)
  /// A column does not have the expected type. The statement took effect; the code that reads it is wrong.
  case decoding(statement: String, column: String, DecodingProblem)
  /// The caller used this module wrongly, or the server sent something unknown.
  case misuse(String)
}

/// PostgreSQL's report of a statement it refused.
public struct ServerError: Error, Sendable, Equatable {
  /// Five characters, of appendix A of PostgreSQL's manual.
  public var sqlState: String
  /// PostgreSQL's sentence. It may quote a value, if that is of the wrong form (class 22).
  public var message: String
  /// Details, which often quote values: not for logs.
  public var detail: String?
  /// What PostgreSQL proposes.
  public var hint: String?
  /// The schema concerned, for violated constraints and a few others.
  public var schema: String?
  /// The table concerned.
  public var table: String?
  /// The column concerned.
  public var column: String?
  /// The constraint that was violated; modules map it to their own errors.
  public var constraint: String?
  /// Name of the statement that failed.
  public var statement: String
  /// Whether the server ended the connection with it.
  var endsConnection = false
  /// Whether the prepared statement no longer fits its tables, or is unknown to the server. It did not run; preparing it
  /// again solves the problem.
  var meansStalePlan = false

  /// Makes an error for tests of error handling.
  public init(
    sqlState: String, message: String, detail: String? = nil, hint: String? = nil, schema: String? = nil,
    table: String? = nil, column: String? = nil, constraint: String? = nil, statement: String
  ) {
    self.sqlState = sqlState
    self.message = message
    self.detail = detail
    self.hint = hint
    self.schema = schema
    self.table = table
    self.column = column
    self.constraint = constraint
    self.statement = statement
  }
}

/// SQLSTATEs that code refers to by name.
extension ServerError {
  public static let uniqueViolation = "23505"
  public static let checkViolation = "23514"
  public static let serializationFailure = "40001"
  public static let deadlockDetected = "40P01"
  public static let lockNotAvailable = "55P03"
  /// The answer to a write on a standby, as after a failover.
  public static let readOnlyTransaction = "25006"
  public static let queryCanceled = "57014"
  public static let inFailedTransaction = "25P02"
}

extension PostgresError {
  /// The violated constraint, if that is the reason.
  public var constraint: String? {
    if case .server(let error) = self { error.constraint } else { nil }
  }

  /// Whether the error is transient: the same call may succeed soon, and had no effect now.
  public var isPassing: Bool {
    switch self {
    case .unavailable, .busy, .connectionLost: true
    case .server(let error): error.isPassing
    default: false
    }
  }
}

extension PostgresError {
  /// Whether PostgreSQL refused the statement for what was in it: classes 22, data exceptions, 23, violated constraints, and 54,
  /// exceeded limits. Of several items in it, only some may be at fault.
  package var isOfData: Bool {
    if case .server(let error) = self { ["22", "23", "54"].contains(error.sqlState.prefix(2)) } else { false }
  }
}

extension ServerError {
  /// Whether the reason is the server's state and not the statement.
  fileprivate var isPassing: Bool {
    let state = [
      Self.serializationFailure, Self.deadlockDetected, Self.lockNotAvailable, Self.readOnlyTransaction,
    ].contains(sqlState)
    // Connection exceptions, insufficient resources, operator intervention (a cancel too), system errors.
    return state || ["08", "53", "57", "58"].contains(sqlState.prefix(2))
  }
}

extension PostgresError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .server(let error): error.description
    case .unavailable(let why): "the database is not available: \(why)"
    case .busy(let why): "the database has too much to do: \(why)"
    case .connectionLost(let statement): "\(statement): the connection to the database was lost; nothing was changed"
    case .unknownOutcome(let statement): "\(statement): the database did not confirm the write; its outcome is unknown"
    case .timedOut(let statement): "\(statement): took longer than its limit and was cancelled; nothing was changed"
    case .decoding(let statement, let column, let problem): "\(statement): column \(column): \(problem)"
    case .misuse(let what): what
    }
  }
}

extension ServerError: CustomStringConvertible {
  /// Without `detail`, and for data exceptions (class 22) without `message`: PostgreSQL quotes the offending values there, and
  /// those may be personal.
  public var description: String {
    let message = sqlState.hasPrefix("22") ? "a value does not fit its type or function" : message
    return "\(statement): \(message) [\(sqlState)]" + (constraint.map { " constraint \($0)" } ?? "")
  }
}

extension ServerError {
  /// Citus names a shard's constraint after the shard: `trigger_name_key_102809`. No constraint of ours ends with a number.
  static func withoutShard(_ constraint: String) -> String {
    guard let underscore = constraint.lastIndex(of: "_") else { return constraint }
    let suffix = constraint[underscore...].dropFirst()
    return suffix.count > 5 && suffix.allSatisfy(\.isWholeNumber) ? String(constraint[..<underscore]) : constraint
  }

  /// Reads a failed result, which remains the caller's.
  init(result: OpaquePointer, statement: String) {
    // The codes are characters of PostgreSQL's protocol, section "Error and Notice Message Fields".
    func field(_ code: Character) -> String? {
      code.asciiValue.flatMap { PQresultErrorField(result, Int32($0)) }.map { String(cString: $0) }
    }
    self.init(
      sqlState: field("C") ?? "", message: field("M") ?? String(cString: PQresultErrorMessage(result)),
      detail: field("D"), hint: field("H"), schema: field("s"), table: field("t"), column: field("c"),
      constraint: field("n").map(Self.withoutShard), statement: statement)
    // "Cached plan must not change result type" shares its SQLSTATE with every unsupported feature.
    meansStalePlan = sqlState == "26000" || (sqlState == "0A000" && field("R") == "RevalidateCachedQuery")
    endsConnection = ["FATAL", "PANIC"].contains(field("V")) || sqlState.isEmpty
  }
}
