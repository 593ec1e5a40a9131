import CLibpq

extension ServerError {
  /// What a failed result says. The result stays the caller's.
  init(result: OpaquePointer, statement: String) {
    // The codes are characters of PostgreSQL's protocol, section "Error and Notice Message Fields".
    func field(_ code: Character) -> String? {
      code.asciiValue.flatMap { PQresultErrorField(result, Int32($0)) }.map { String(cString: $0) }
    }
    self.init(
      sqlState: field("C") ?? "", message: field("M") ?? String(cString: PQresultErrorMessage(result)),
      detail: field("D"), hint: field("H"), schema: field("s"), table: field("t"), column: field("c"),
      constraint: field("n"), statement: statement)
    endsConnection = ["FATAL", "PANIC"].contains(field("V")) || sqlState.isEmpty
  }
}
