import Postgres

/// Statements on `template`.
enum TemplateQueries {
  static let all: [Statement] = []
}
