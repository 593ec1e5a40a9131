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
    // "Cached plan must not change result type" shares its SQLSTATE with all that PostgreSQL cannot do.
    meansStalePlan = sqlState == "26000" || (sqlState == "0A000" && field("R") == "RevalidateCachedQuery")
    endsConnection = ["FATAL", "PANIC"].contains(field("V")) || sqlState.isEmpty
  }
}
