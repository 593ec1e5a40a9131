@testable import Registry

import Postgres
import Support
import Locking
import Testing
import Wire

@Suite struct RekeyTests {
  /// Two customers with three apps each, and a hub's secret, all sealed under `key`.
  func furnish(_ database: TestDatabase, _ key: MasterKeys) async throws -> [PushApp] {
    let vault = Vault(key)
    _ = try await HubSecrets(database.pool, vault: vault).make("links/1")
    var apps: [PushApp] = []
    for name in ["ACME", "Other"] {
      let customer = try await database.customer(name)
      for number in 1...3 {
        apps.append(try await PushApps(database.pool, vault: vault).add(customer, .ios("com.acme.app\(number)")))
      }
    }
    return apps
  }

  @Test func `After a rotation everything opens with the new key alone, and says the same`() async throws {
    try await withDatabase { database in
      let (old, new) = (MasterKeys.generate(), MasterKeys.generate())
      let apps = try await furnish(database, try MasterKeys(current: old))
      var before: [PushServiceCredentials?] = []
      let oldVault = PushCredentialVault(database.pool, vault: Vault(try MasterKeys(current: old)))
      for app in apps { before.append(try await oldVault.credentials(for: app)) }

      let both = Vault(try MasterKeys(current: new, older: [old]))
      let reports = Mutex<[Rekey.Progress]>([])
      let total = try await Rekey(database.pool, vault: both, by: "root", columns: SealedColumn.registry).run {
        progress in
        reports.withLock { $0.append(progress) }
      }
      #expect(total.resealed == 7 && total.current == 0 && total.unreadable.isEmpty)
      #expect(reports.withLock { $0.map(\.resealed) } == [1, 4, 7])

      let after = PushCredentialVault(database.pool, vault: Vault(try MasterKeys(current: new)))
      for (app, credentials) in zip(apps, before) { #expect(try await after.credentials(for: app) == credentials) }
      #expect(try await PushApps(database.pool, vault: both).list(apps[0].customer) == Array(apps.prefix(3)))
      let again = try await Rekey(database.pool, vault: both, by: "root", columns: SealedColumn.registry).run()
      #expect(again.resealed == 0 && again.current == 7)
      let log = try await AuditLog(database.pool).list(apps[0].customer).items
      #expect(log.map(\.target).sorted() == apps.prefix(3).map { "app \($0.id)" }.sorted())
      #expect(log.allSatisfy { $0.action == "rekey" && $0.osUser == "root" })
    }
  }

  @Test func `A credential of any kind, and a reply that is kept, open with the new key alone`() async throws {
    try await withDatabase { database in
      let (first, new) = (MasterKeys.generate(), MasterKeys.generate())
      let old = try MasterKeys(current: first)
      let app = try await furnish(database, old)[0]
      let kinds = PushCredential.Kind.allCases
      for kind in kinds where kind != .apnsSigningKey {
        let sealed = try Vault(old).seal(
          Secret("secret of \(kind)"), context: PushCredential.context(app.customer, app.id, kind))
        try await database.query(
          """
          INSERT INTO push_credential (customer_id, push_app_id, kind, sealed, master_key_id, fingerprint)
          VALUES ($1, $2, $3, $4, $5, 'f')
          """, app.customer.rawValue, app.id.rawValue, kind.rawValue, Bytes(sealed.bytes), sealed.masterKeyID)
      }
      func once(_ vault: Vault) async throws -> StoredReply {
        try await IdempotentReplies(database.pool, vault: vault).once(
          app.customer, by: .commandLine(user: "root"), key: "k", fingerprint: [1]
        ) { _ in
          StoredReply(status: 201, body: Array("a reply".utf8))
        }
      }
      let reply = try await once(Vault(old))
      let both = Vault(try MasterKeys(current: new, older: [first]))
      let found = try await PushApps(database.pool, vault: both).find(app.customer, app.id)
      #expect(found?.credentials.count == kinds.count)

      let total = try await Rekey(database.pool, vault: both, by: "root", columns: SealedColumn.registry).run()
      #expect(total.resealed == 7 + (kinds.count - 1) + 1 && total.unreadable.isEmpty)
      let vault = Vault(try MasterKeys(current: new))
      let rows = try await database.query(
        "SELECT kind, sealed, master_key_id FROM push_credential WHERE push_app_id = $1", app.id.rawValue)
      for row in rows {
        let (kind, sealed, key) = try row.decode(String.self, Bytes.self, String.self)
        let secret = try vault.open(
          Sealed(bytes: sealed.bytes, masterKeyID: key), context: PushCredential.context(app.customer, app.id, kind))
        if kind != "apns_signing_key" {
          #expect(PushCredential.Kind(rawValue: kind).map { "secret of \($0)" } == secret.text)
        }
      }
      #expect(rows.count == kinds.count)
      #expect(try await once(vault) == reply)
    }
  }

  @Test func `A run that is broken off is taken up where it stopped`() async throws {
    try await withDatabase { database in
      let (old, new) = (MasterKeys.generate(), MasterKeys.generate())
      let apps = try await furnish(database, try MasterKeys(current: old))
      let both = Vault(try MasterKeys(current: new, older: [old]))
      let failing = FailingDatabase(database.pool, after: 6)
      await #expect(throws: PostgresError.self) {
        try await Rekey(failing, vault: both, by: "root", columns: SealedColumn.registry).run()
      }

      let all = PushCredentialVault(database.pool, vault: both)
      for app in apps { #expect(try await all.credentials(for: app) != nil) }
      let rest = try await Rekey(database.pool, vault: both, by: "root", columns: SealedColumn.registry).run()
      #expect(rest.current > 0 && rest.resealed > 0 && rest.current + rest.resealed == 7)
    }
  }

  @Test func `What no key opens is named and left as it is`() async throws {
    try await withDatabase { database in
      let apps = try await furnish(database, try MasterKeys(current: MasterKeys.generate()))
      let total = try await Rekey(database.pool, vault: try .fresh(), by: "root", columns: SealedColumn.registry).run()
      #expect(total.resealed == 0 && total.unreadable.count == 7)
      #expect(total.unreadable.contains("hub_secret/links/1"))
      #expect(total.unreadable.contains("push_credential/\(apps[0].customer)/\(apps[0].id)/apns_signing_key"))
    }
  }

  @Test func `A key uploaded while the run goes is not put back`() async throws {
    try await withDatabase { database in
      let (old, new) = (MasterKeys.generate(), MasterKeys.generate())
      let app = try await furnish(database, try MasterKeys(current: old))[0]
      let both = Vault(try MasterKeys(current: new, older: [old]))
      let fresh = NewPushApp.ios().service[.signingKey]
      let meddling = MeddlingDatabase(database.pool, before: "rekey.replace_push_credential_sealed") {
        _ = try await PushApps(database.pool, vault: both).update(
          app.customer, app.id, PushAppUpdate(service: PushServiceFields([.signingKey: fresh])))
      }
      _ = try await Rekey(meddling, vault: both, by: "root", columns: SealedColumn.registry).run()
      let kept = try await PushApps(database.pool, vault: both).find(app.customer, app.id)
      let credentials = try await PushCredentialVault(database.pool, vault: both).credentials(for: #require(kept))
      guard case .apns(_, _, let signingKey) = credentials else { throw CancellationError() }
      #expect(Secret(signingKey) == fresh)
    }
  }
}

/// Passes statements on until it has had enough.
private final class FailingDatabase: Querying {
  private let database: any Querying
  private let left: Mutex<Int>

  init(_ database: any Querying, after calls: Int) {
    self.database = database
    left = Mutex(calls)
  }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    let isEnough = left.withLock { left in
      left -= 1
      return left < 0
    }
    guard !isEnough else { throw PostgresError.unavailable("enough") }
    return try await database.run(statement, parameters, deadline: deadline)
  }
}

/// Does something else just before a statement runs for the first time.
private final class MeddlingDatabase: Querying {
  private let database: any Querying
  private let name: String
  private let meddle: @Sendable () async throws -> Void
  private let isDone = Mutex(false)

  init(_ database: any Querying, before name: String, _ meddle: @escaping @Sendable () async throws -> Void) {
    self.database = database
    self.name = name
    self.meddle = meddle
  }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    let isDue = isDone.withLock { isDone in
      guard statement.name == name, !isDone else { return false }
      isDone = true
      return true
    }
    if isDue { try await meddle() }
    return try await database.run(statement, parameters, deadline: deadline)
  }
}
