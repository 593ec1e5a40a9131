internal import CLibpq

/// The answer to one statement: its rows, decoded only when read, on the reader's own thread.
public struct Rows: Sendable, RandomAccessCollection {
  let result: ResultBox

  /// Rows that an INSERT, UPDATE, DELETE, SELECT or COPY changed or returned.
  public var affected: Int { result.affected }
  /// The server's command tag, as in `INSERT 0 1`.
  var commandTag: String { result.commandTag }
  /// Names of the columns, from left to right.
  public var columns: [String] { result.columns }
  public var startIndex: Int { 0 }
  public var endIndex: Int { result.count }
  /// One row, counted from 0.
  public subscript(position: Int) -> Row {
    precondition(position < endIndex)
    return Row(result: result, index: position)
  }
}

/// One row of an answer.
public struct Row: Sendable {
  @usableFromInline let result: ResultBox
  @usableFromInline let index: Int

  /// The row's columns from left to right, as the given types.
  /// - Throws: `PostgresError.decoding`, naming statement and column.
  @inlinable public func decode<each Value: PostgresDecodable>(
    _: repeat (each Value).Type
  ) throws(PostgresError) -> (repeat each Value) {
    var column = -1
    func next<Next: PostgresDecodable>(_: Next.Type) throws(PostgresError) -> Next {
      column += 1
      return try result.value(row: index, column: column)
    }
    return (repeat try next((each Value).self))
  }

  /// The row's first column, as the given type.
  public func decode<Value: PostgresDecodable>(_: Value.Type) throws(PostgresError) -> Value {
    try result.value(row: index, column: 0)
  }

  /// The column of that number, counted from 0.
  @inlinable public func column<Value: PostgresDecodable>(_ number: Int, as _: Value.Type = Value.self)
    throws(PostgresError) -> Value
  {
    try result.value(row: index, column: number)
  }

  /// The column of that name, as the type that the context requires.
  public func get<Value: PostgresDecodable>(_ name: String, as _: Value.Type = Value.self) throws(PostgresError)
    -> Value
  {
    try result.value(row: index, column: try result.column(named: name))
  }

  /// Names and types of the columns, from left to right.
  public var columns: [(name: String, type: PostgresType)] {
    result.columns.enumerated().map { ($1, result.type(ofColumn: $0)) }
  }

  /// Whether the column of that name is NULL in this row.
  public func isNull(_ name: String) throws(PostgresError) -> Bool {
    result.isNull(row: index, column: try result.column(named: name))
  }
}

/// Owns a `PGresult`.
///
/// `@unchecked Sendable`: libpq documents a finished result as read-only, and nothing here changes it before `deinit`.
@usableFromInline
final class ResultBox: @unchecked Sendable {
  private let pointer: OpaquePointer
  let statement: String
  let count: Int
  let width: Int

  init(_ pointer: OpaquePointer, statement: String) {
    self.pointer = pointer
    self.statement = statement
    count = Int(PQntuples(pointer))
    width = Int(PQnfields(pointer))
  }

  deinit { PQclear(pointer) }

  var affected: Int { PQcmdTuples(pointer).flatMap { Int(String(cString: $0)) } ?? 0 }
  var commandTag: String { String(cString: PQcmdStatus(pointer)) }
  var columns: [String] { (0..<width).map { String(cString: PQfname(pointer, Int32($0))) } }

  func column(named name: String) throws(PostgresError) -> Int {
    let column = Int(PQfnumber(pointer, name))
    guard column >= 0 else { throw .decoding(statement: statement, column: name, .noSuchColumn(name)) }
    return column
  }

  func type(ofColumn column: Int) -> PostgresType { PostgresType(rawValue: PQftype(pointer, Int32(column))) }

  func isNull(row: Int, column: Int) -> Bool { PQgetisnull(pointer, Int32(row), Int32(column)) == 1 }

  /// One value in binary.
  @usableFromInline
  struct Cell {
    @usableFromInline let type: PostgresType
    /// `nil` for NULL. They are there as long as the result is.
    @usableFromInline let bytes: UnsafeRawBufferPointer?
  }

  /// Reading is inlined into other rooms, since generic code that is not costs more than the reading itself.
  @inlinable
  func value<Value: PostgresDecodable>(row: Int, column: Int) throws(PostgresError) -> Value {
    let cell = try cell(row: row, column: column)
    do throws(DecodingProblem) {
      guard cell.bytes == nil || Value.accepts(cell.type) else { throw .type(found: cell.type) }
      let value = try Value(postgres: cell.bytes, type: cell.type)
      withExtendedLifetime(self) {}
      return value
    } catch {
      throw decodingError(error, column: column)
    }
  }

  @usableFromInline
  func cell(row: Int, column: Int) throws(PostgresError) -> Cell {
    guard column < width else {
      throw .decoding(statement: statement, column: "#\(column + 1)", .noSuchColumn("#\(column + 1)"))
    }
    let type = type(ofColumn: column)
    guard !isNull(row: row, column: column) else { return Cell(type: type, bytes: nil) }
    let length = Int(PQgetlength(pointer, Int32(row), Int32(column)))
    return Cell(
      type: type, bytes: UnsafeRawBufferPointer(start: PQgetvalue(pointer, Int32(row), Int32(column)), count: length))
  }

  @usableFromInline
  func decodingError(_ problem: DecodingProblem, column: Int) -> PostgresError {
    .decoding(statement: statement, column: String(cString: PQfname(pointer, Int32(column))), problem)
  }
}
