/// One forward step of the schema: the text of one file.
public struct Migration: Sendable, Equatable {
  /// The file's name without its extension, as in `0001_tenants`; migrations are applied in the order of their names.
  public let name: String
  /// Any number of statements. They run in one transaction, so none of them may be one that refuses to, such as
  /// CREATE INDEX CONCURRENTLY.
  public let sql: String

  public init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }
}

/// Why the schema cannot be brought, or relied upon to be, up to date. Each case names the file.
public enum MigrationError: Error, Sendable, Equatable {
  /// The file was changed after it had been applied.
  case changed(name: String)
  /// The database has a migration that this program does not know: a newer release has been here.
  case unknown(name: String)
  /// Not applied, though a later one is: two branches numbered their files at the same time.
  case outOfOrder(name: String, appliedAfter: String)
  /// Two files of one name.
  case duplicate(name: String)
  /// A statement of the file failed. The file had no effect; those before it have been applied.
  case failed(name: String, ServerError)
  /// Migrations wait to be applied.
  case pending(names: [String])
}

extension MigrationError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .changed(let name): "migration \(name) was changed after it had been applied; add a new one instead"
    case .unknown(let name):
      "the database has migration \(name), which this release does not know: it is older than the data"
    case .outOfOrder(let name, let last):
      "migration \(name) is not applied but the later \(last) is; give it a higher number"
    case .duplicate(let name): "there are two migrations named \(name)"
    case .failed(let name, let error):
      "migration \(name) failed and changed nothing: \(error.message) [\(error.sqlState)]"
    case .pending(let names): "migrations are pending: \(names.joined(separator: ", "))"
    }
  }
}
