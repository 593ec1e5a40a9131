import Foundation
import Hybrid
import Logging
import Postgres
import Providers
import Registry
import Support
import Testing
import Wire

/// The whole server over a real database with two customers, each with an admin key.
struct ManagementServer: Sendable {
  let server: TestWebServer
  let database: TestDatabase
  let vault: Vault
  let customer: CustomerID
  let key: String
  let other: CustomerID
  let otherKey: String
  /// What every reply is held against.
  let contract: APIContract

  /// Sends a request, with the first customer's admin key unless told otherwise; the reply must be as it is described.
  func send(
    _ method: String, _ path: String, key: String? = nil, headers: [(String, String)] = [], json: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestReply {
    let reply = try await server.send(method, path, key: key ?? self.key, headers: headers, json: json)
    #expect(contract.problems(method, path, reply) == [], sourceLocation: sourceLocation)
    return reply
  }

  /// Adds an import whose file is here, and which waits to be started.
  func addImportInReview() async throws {
    let new = try await send("POST", "/api/v1/imports", json: #"{"review":true}"#)
    let number = try new.json.integer("importId") ?? -1
    let sent = try await server.send(
      "PUT", "/api/v1/imports/\(number)/file", key: key, headers: [("Content-Type", "text/csv")],
      body: "originalId\r\nimported@example.com\r\n")
    #expect(try sent.json["state"] == "review", "\(sent.text)")
  }

  /// Every row that the first customer has: to see that nothing changed.
  func rows() async throws -> [String] { try await database.rows(of: customer) }

  /// The request for an iOS app.
  static func app(_ appID: String, _ credentials: APNsCredentials?) -> String {
    let apple = credentials.map { credentials in
      #","teamId":"\#(credentials.teamID)","keyId":"\#(credentials.keyID)","signingKey":\#(quoted(credentials.signingKey))"#
    }
    return #"{"name":"Acme","appId":"\#(appID)","appType":1\#(apple ?? "")}"#
  }

  /// Adds an iOS app; gives its number.
  @discardableResult
  func addApp(_ appID: String = "com.acme.app", credentials: APNsCredentials? = .sample) async throws -> Int64 {
    let reply = try await send("POST", "/api/v1/apps", json: Self.app(appID, credentials))
    return try reply.json.integer("pushAppId") ?? -1
  }
}

/// Runs `body` on a server of its own.
func withManagementServer(
  logger: Logger = TestServer.logger, apns: PushServiceSettings = .nowhere,
  database configure: (inout PoolConfiguration) -> Void = { _ in },
  _ body: @escaping @Sendable (ManagementServer) async throws -> Void
) async throws {
  try await withDatabase(configure) { database in
    let vault = try Vault.fresh()
    let pool = database.pool
    var whole = WholeWebServer(
      pool, vault: vault, services: try PushServices(apns, logger: logger, pin: PINs.ofTests.pin))
    whole.logger = logger
    whole.endpoints = apns.endpoints
    let customers = Customers(pool)
    let keys = AccessKeys(pool)
    let first = try await customers.add(name: "ACME").id
    let second = try await customers.add(name: "Other").id
    let key = try await keys.make(first, name: "admin", scope: .admin).token
    let otherKey = try await keys.make(second, name: "admin", scope: .admin).token
    try await withTestWebServer(try whole.routes, logger: logger) { server in
      let contract = try await APIContract()
      try await body(
        ManagementServer(
          server: server, database: database, vault: vault, customer: first, key: key, other: second,
          otherKey: otherKey,
          contract: contract))
    }
  }
}

extension PushServiceSettings {
  /// Where nothing listens.
  static var nowhere: PushServiceSettings {
    var settings = PushServiceSettings()
    settings[.apnsProductionURL] = "https://127.0.0.1:1"
    settings[.apnsSandboxURL] = "https://127.0.0.1:1"
    settings.endpoints.sms.listed = HostList("127.0.0.1:1, gw.messaging.cm.com")
    settings.queueTimeout = .milliseconds(10)
    settings.caFile = try? unusedCAFile.get()
    return settings
  }
}

/// The text as JSON writes it.
func quoted(_ text: String) -> String {
  (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? ""
}
