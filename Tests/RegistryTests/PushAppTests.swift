@testable import Registry

import Crypto
import Postgres
import Support
import Testing
import Wire

@Suite struct PushAppTests {
  @Test func `An app is kept with all its fields, and its key is nowhere to be read`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let key = P256.Signing.PrivateKey()
      let apps = PushApps(database.pool, vault: try .fresh())
      let app = try await apps.add(customer, .ios(key: key))
      #expect(app.customer == customer && app.appID == "com.acme.app" && app.type == .ios && app.name == "Acme")
      #expect(app.teamID == "M4DK7XT124" && app.keyID == "F5HAL12345" && app.alarm == nil && app.warnings.isEmpty)
      #expect(app.credentials.map(\.kind) == [.apnsSigningKey])
      #expect(try await apps.find(customer, app.id) == app)
      #expect(try await apps.list(customer) == [app])

      let dump = try await database.dump()
      let pem = key.pemRepresentation.split(separator: "\n")
      for line in pem.dropFirst().dropLast() { #expect(!dump.contains(line)) }
      for bytes in [Array(key.rawRepresentation), Array(key.pemRepresentation.utf8.prefix(64))] {
        #expect(!dump.contains(bytes.hexDigits))
      }
      var shown = ""
      Swift.dump(app, to: &shown)
      for line in pem.dropFirst().dropLast() { #expect(!shown.contains(line)) }
    }
  }

  @Test func `What was uploaded signs`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let vault = try Vault.fresh()
      let key = P256.Signing.PrivateKey()
      let app = try await PushApps(database.pool, vault: vault).add(customer, .ios(key: key))
      let signing = PushCredentialVault(database.pool, vault: vault)
      let credentials = try #require(try await signing.credentials(for: app))
      guard case .apns(let teamID, let keyID, let signingKey) = credentials else { throw CancellationError() }
      #expect(teamID == "M4DK7XT124" && keyID == "F5HAL12345")
      let opened = try P256.Signing.PrivateKey(pemRepresentation: signingKey)
      #expect(opened.rawRepresentation == key.rawRepresentation)
      #expect(!"\(credentials)".contains(signingKey))
    }
  }

  @Test func `A signing key is opened once, and anew when its app has changed`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let vault = try Vault.fresh()
      let apps = PushApps(database.pool, vault: vault)
      let app = try await apps.add(customer, .ios())
      let counting = CountingDatabase(database.pool)
      let signing = PushCredentialVault(counting, vault: vault)
      let first = try await signing.credentials(for: app)
      #expect(try await signing.credentials(for: app) == first)
      #expect(counting.count() == 1)
      let changed = try await apps.update(
        customer, app.id,
        PushAppUpdate(
          service: PushServiceFields([.keyID: Secret("ABCDE12345"), .signingKey: NewPushApp.ios().service[.signingKey]])
        ))
      #expect(changed.updatedAt > app.updatedAt && changed.createdAt == app.createdAt)
      #expect(changed.credentials[0].fingerprint != app.credentials[0].fingerprint)
      let second = try #require(try await signing.credentials(for: changed))
      guard case .apns(_, "ABCDE12345", let key) = second, case .apns(_, _, let former) = first else {
        throw CancellationError()
      }
      #expect(key != former)
      #expect(counting.count() == 2)
    }
  }

  @Test func `A sealed key that is copied to another app does not open there`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let vault = try Vault.fresh()
      let apps = PushApps(database.pool, vault: vault)
      let source = try await apps.add(acme, .ios())
      let targets = [try await apps.add(acme, .ios("com.acme.two")), try await apps.add(other, .ios())]
      for target in targets {
        try await database.query(
          """
          UPDATE push_credential SET sealed = source.sealed FROM push_credential AS source
          WHERE source.customer_id = $1::bigint AND source.push_app_id = $2::bigint
            AND push_credential.customer_id = $3::bigint AND push_credential.push_app_id = $4::bigint
          """, acme.rawValue, source.id.rawValue, target.customer.rawValue, target.id.rawValue)
        await #expect(throws: RegistryError.self) {
          try await PushCredentialVault(database.pool, vault: vault).credentials(for: target)
        }
      }
    }
  }

  @Test func `An appId may exist once per platform, and then has to say which`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let apps = PushApps(database.pool, vault: try .fresh())
      let ios = try await apps.add(customer, .ios())
      #expect(try await apps.resolve(customer, appID: "com.acme.app") == ios)
      let android = try await apps.add(customer, NewPushApp(appID: "com.acme.app", type: .android, name: "Acme"))
      await #expect(throws: RegistryError.appAmbiguous(appID: "com.acme.app")) {
        try await apps.resolve(customer, appID: "com.acme.app")
      }
      #expect(try await apps.resolve(customer, appID: "com.acme.app", type: .android) == android)
      await #expect(throws: RegistryError.appUnknown(appID: "com.acme.app")) {
        try await apps.resolve(customer, appID: "com.acme.app", type: .firebase)
      }
      for unknown in ["com.acme.App", "", "\0", String(repeating: "x", count: 100_000)] {
        await #expect(throws: RegistryError.appUnknown(appID: unknown)) {
          try await apps.resolve(customer, appID: unknown)
        }
      }
      await #expect(throws: RegistryError.appTaken(appID: "com.acme.app", type: .android)) {
        try await apps.add(customer, NewPushApp(appID: "com.acme.app", type: .android, name: "Acme"))
      }
    }
  }

  @Test(arguments: ["-com.acme", "=1", "+1", "@x", ".acme", "_acme", "/acme", ":acme"])
  func `An appId begins with a letter or digit, so that no spreadsheet takes it for a formula`(appID: String)
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let apps = PushApps(database.pool, vault: try .fresh())
      let error = await #expect(throws: RegistryError.self) {
        try await apps.add(customer, NewPushApp(appID: appID, type: .windows, name: "Acme"))
      }
      guard case .invalid("appId", _)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      await #expect(throws: (any Error).self) {
        try await database.query(
          "INSERT INTO push_app (customer_id, app_id, app_type, name) VALUES ($1, $2, 3, 'Acme')", customer.rawValue,
          appID)
      }
      for plain in ["ms-app://s-1-15-2", "0acme-_.", "A"] {
        _ = try await apps.add(customer, NewPushApp(appID: plain, type: .windows, name: "Acme"))
      }
    }
  }

  @Test func `An app of another customer is out of reach`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let vault = try Vault.fresh()
      let apps = PushApps(database.pool, vault: vault)
      let app = try await apps.add(acme, .ios())
      #expect(try await apps.find(other, app.id) == nil)
      #expect(try await apps.list(other) == [])
      await #expect(throws: RegistryError.numberUnknown("push app")) {
        try await apps.update(other, app.id, PushAppUpdate(name: "Mine"))
      }
      try await PushAppAlarms(database.pool).raise(other, app.id, isSandbox: false, reason: "x")
      #expect(try await apps.find(acme, app.id) == app)
      await #expect(throws: RegistryError.customerUnknown(CustomerID(4711))) {
        try await apps.add(CustomerID(4711), .ios())
      }
    }
  }

  @Test func `An alarm keeps its moment until all is well, or new credentials come`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let apps = PushApps(database.pool, vault: try .fresh())
      let alarms = PushAppAlarms(database.pool)
      let app = try await apps.add(customer, .ios())
      try await alarms.raise(customer, app.id, isSandbox: false, reason: "InvalidProviderToken")
      let raised = try #require(try await apps.find(customer, app.id)?.alarm)
      try await alarms.raise(customer, app.id, isSandbox: false, reason: "BadTopic")
      #expect(try await apps.find(customer, app.id)?.alarm == .init(reason: "BadTopic", since: raised.since))
      #expect(try await apps.update(customer, app.id, PushAppUpdate(name: "x")).alarm != nil)
      #expect(
        try await apps.update(
          customer, app.id,
          PushAppUpdate(service: PushServiceFields([.signingKey: NewPushApp.ios().service[.signingKey]]))
        ).alarm == nil)
      try await alarms.raise(customer, app.id, isSandbox: false, reason: "BadTopic")
      try await alarms.clear(customer, app.id, isSandbox: false)
      #expect(try await apps.find(customer, app.id)?.alarm == nil)
    }
  }

  @Test func `Production's success does not end the sandbox's alarm, nor the other way round`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let apps = PushApps(database.pool, vault: try .fresh())
      let alarms = PushAppAlarms(database.pool)
      let app = try await apps.add(customer, .ios())
      try await alarms.raise(customer, app.id, isSandbox: true, reason: "BadEnvironmentKeyInToken")
      let raised = try #require(try await apps.find(customer, app.id)?.sandboxAlarm)
      try await alarms.clear(customer, app.id, isSandbox: false)
      try await alarms.raise(customer, app.id, isSandbox: false, reason: "BadTopic")
      #expect(try await apps.find(customer, app.id)?.sandboxAlarm == raised)
      try await alarms.clear(customer, app.id, isSandbox: true)
      let left = try #require(try await apps.find(customer, app.id))
      #expect(left.sandboxAlarm == nil && left.alarm?.reason == "BadTopic")
      try await alarms.raise(customer, app.id, isSandbox: true, reason: "BadTopic")
      let key = PushAppUpdate(service: PushServiceFields([.signingKey: NewPushApp.ios().service[.signingKey]]))
      let renewed = try await apps.update(customer, app.id, key)
      #expect(renewed.alarm == nil && renewed.sandboxAlarm == nil)
    }
  }

  @Test func `Devices that were added to an app while it was removed are deleted, and no others`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let apps = PushApps(database.pool, vault: try .fresh())
      let kept = try await apps.add(acme, .ios())
      let gone = try await apps.add(acme, NewPushApp(appID: "com.acme.gone", type: .firebase, name: "Gone"))
      let foreign = try await apps.add(other, .ios())
      try await database.pool.transaction { transaction in
        _ = try await PushApps(transaction).remove(acme, gone.id)
      }
      // As a registration leaves them that had seen the app before.
      for (customer, app) in [(acme, kept.id), (acme, gone.id), (other, foreign.id)] {
        try await database.query(
          """
          INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
          SELECT $1::int8, $2::int8, n, n::text, sha256(n::text::bytea) FROM generate_series(1, 5) AS n
          """, customer.rawValue, app.rawValue)
      }
      #expect(try await apps.removeOrphans(of: other) == 0)
      #expect(try await apps.removeOrphans(of: acme, portion: 2) == 5)
      #expect(try await apps.removeOrphans(of: acme) == 0)
      let left = try await database.query("SELECT push_app_id, count(*) FROM device GROUP BY 1 ORDER BY 1")
        .map { try $0.decode(Int64.self, Int64.self) }
      #expect(left.map(\.0) == [kept.id.rawValue, foreign.id.rawValue] && left.allSatisfy { $0.1 == 5 })
    }
  }

  struct Refused: CustomTestStringConvertible {
    let field: String
    let app: NewPushApp
    var testDescription: String { "\(field) \(app.appID.prefix(20))" }

    init(_ field: String, _ change: (inout NewPushApp) -> Void) {
      self.field = field
      var app = NewPushApp.ios()
      change(&app)
      self.app = app
    }
  }

  @Test(arguments: [
    Refused("appId") { $0.appID = "" }, Refused("appId") { $0.appID = "com acme" },
    Refused("appId") { $0.appID = "com.å" },
    Refused("appId") { $0.appID = "a/b" }, Refused("appId") { $0.appID = String(repeating: "a", count: 201) },
    Refused("appId") { $0.appID = "a\r\nx: y" }, Refused("name") { $0.name = "" }, Refused("name") { $0.name = "a\0" },
    Refused("teamId") { $0.service[.teamID] = nil }, Refused("keyId") { $0.service[.keyID] = nil },
    Refused("signingKey") { $0.service[.signingKey] = nil },
    Refused("teamId") { $0.service[.teamID] = Secret("") },
    Refused("teamId") { $0.service[.teamID] = Secret("M4DK-7XT124") },
    Refused("keyId") { $0.service[.keyID] = Secret("F5HAL\0") },
    Refused("keyId") { $0.service[.keyID] = Secret(String(repeating: "A", count: 21)) },
    Refused("signingKey") { $0.service[.signingKey] = Secret("hello") }, Refused("teamId") { $0.type = .android },
  ])
  func `A field that cannot be so is refused by its name before anything is kept`(refused: Refused) async throws {
    let apps = PushApps(NoDatabase(), vault: try .fresh())
    let error = await #expect(throws: RegistryError.self) { try await apps.add(CustomerID(1), refused.app) }
    switch error {
    case .invalid(let field, _), .credential(let field, _): #expect(field == refused.field)
    default: Issue.record("refused otherwise: \(String(describing: error))")
    }
  }

  @Test func `An app may come without credentials, and they may come later, together`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let apps = PushApps(database.pool, vault: try .fresh())
      for type in AppType.ofApps {
        let app = try await apps.add(customer, NewPushApp(appID: "com.acme.app", type: type, name: "Acme"))
        // An app of the web gets its key at once.
        #expect(app.credentials.isEmpty == (type != .web))
        #expect(app.warnings.count == (type == .web ? 0 : 1))
      }
      let app = try await apps.resolve(customer, appID: "com.acme.app", type: .ios)
      await #expect(throws: RegistryError.self) {
        try await apps.update(
          customer, app.id, PushAppUpdate(service: PushServiceFields([.teamID: Secret("M4DK7XT124")])))
      }
      let whole = NewPushApp.ios()
      let updated = try await apps.update(
        customer, app.id,
        PushAppUpdate(
          service: PushServiceFields([
            .teamID: whole.service[.teamID], .keyID: whole.service[.keyID], .signingKey: whole.service[.signingKey],
          ])))
      #expect(updated.has(.apnsSigningKey) && updated.warnings.isEmpty)
    }
  }

  @Test func `An odd length of an id is taken with a warning, blanks around it without one`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      var app = NewPushApp.ios()
      app.service[.teamID] = Secret("M4DK7XT1245")
      app.service[.keyID] = Secret(" F5HAL12345\n")
      let added = try await PushApps(database.pool, vault: try .fresh()).add(customer, app)
      #expect(added.keyID == "F5HAL12345")
      #expect(added.warnings == ["teamId has 11 characters, and Apple's Team Ids usually 10."])
    }
  }
}
