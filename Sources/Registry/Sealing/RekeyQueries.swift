import Postgres

/// Statements that `Rekey` goes over sealed values with.
enum RekeyQueries {
  static let all: [Statement] = []
}
