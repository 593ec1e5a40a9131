/// The body of every error.
public struct ErrorReply: APIObject {
  public var error: String
  public var code: String?

  public init(error: String, code: String? = nil) {
    self.error = error
    self.code = code
  }

  public static let schemaName: String? = "Error"
  public static let schemaDescription = "Why a request failed."
  public static let example = ErrorReply(error: "name is missing.")

  public static let fieldTable: FieldTable = [
    "error": "One sentence that names the field and the fix.",
    "code": "A word for programs, where the status stands for several refusals: `changed`. Absent elsewhere.",
  ]
}

/// Reply of `GET /healthz` and `GET /readyz`.
public struct HealthReply: APIObject {
  public var status = Status.ok

  public init() {}

  public enum Status: String, Codable, Sendable, CaseIterable, SchemaProviding { case ok }

  public static let schemaName: String? = "Health"
  public static let schemaDescription = "The answer of a healthy hub."
  public static let example = HealthReply()

  public static let fieldTable: FieldTable = [
    "status": "Always `ok`. Anything else is an error."
  ]
}
