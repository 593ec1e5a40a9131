import Postgres

/// Statements on `push_app` and `push_credential`.
enum PushAppQueries {
  static let all: [Statement] = []
}
