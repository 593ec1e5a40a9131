import Crypto
import Foundation
import Postgres
import Registry
import Support
import Locking
import Wire

extension TestDatabase {
  /// Everything there is in every table, as psql would print it.
  func dump() async throws -> String {
    let tables = try await query(
      "SELECT quote_ident(relname) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace")
    var text = ""
    for table in tables {
      let name = try table.decode(String.self)
      for row in try await query("SELECT t::text FROM \(name) AS t") { text += try row.decode(String.self) + "\n" }
    }
    return text
  }
}

extension NewPushApp {
  /// An iOS app with a signing key of its own.
  static func ios(_ appID: String = "com.acme.app", key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()) -> Self {
    NewPushApp(
      appID: appID, type: .ios, name: "Acme",
      service: PushServiceFields([
        .teamID: Secret("M4DK7XT124"), .keyID: Secret("F5HAL12345"), .signingKey: Secret(key.pemRepresentation),
      ]))
  }
}

/// Counts how often something happened.
final class Tally: Sendable {
  private let value = Mutex(0)

  var count: Int { value.withLock { $0 } }

  @discardableResult
  func next() -> Int {
    value.withLock { value in
      value += 1
      return value
    }
  }
}

/// For what must be refused before any database is asked.
struct NoDatabase: Querying {
  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    throw PostgresError.unavailable("no statement was expected: \(statement.name)")
  }
}
