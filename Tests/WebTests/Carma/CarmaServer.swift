import Logging
import Postgres
import Registry
import Support
import Testing
import Web
import Wire

/// Carma's REST over a real database, with two customers that have an app each of the same appId, and one on two platforms.
struct CarmaServer: Sendable {
  /// A customer with a key of each scope.
  struct Customer: Sendable {
    let id: CustomerID
    let device: String
    let backend: String
    let admin: String
    let list: ListID
  }

  let server: TestWebServer
  let database: TestDatabase
  let acme: Customer
  let other: Customer
  /// What every reply is held against.
  let contract: APIContract

  /// `/rest/{customerId}/apps/com.acme.app`, or of another app or customer.
  func path(_ rest: String, app: String = "com.acme.app", customer: CustomerID? = nil) -> String {
    "/rest/\(customer ?? acme.id)/apps/\(app)/\(rest)"
  }

  /// PUT `…/pushdevices`, with the first customer's back-end key unless told otherwise.
  func put(_ json: String, app: String = "com.acme.app", key: String? = nil) async throws -> TestReply {
    try await send("PUT", path("pushdevices", app: app), key: key, json: json)
  }

  func put(_ originalID: String, token: String, key: String? = nil) async throws -> TestReply {
    try await put(#"{"originalId":"\#(originalID)","deviceInfo":[{"devicetoken":"\#(token)"}]}"#, key: key)
  }

  func invalidate(_ json: String, key: String? = nil) async throws -> TestReply {
    try await send("PUT", path("pushdevices/invalidation"), key: key, json: json)
  }

  /// GET `…/pushdevices/{originalId}`.
  /// - Parameter originalID: percent-encoded.
  func get(_ originalID: String, app: String = "com.acme.app", key: String? = nil) async throws -> TestReply {
    try await send("GET", path("pushdevices/\(originalID)", app: app), key: key)
  }

  func send(
    _ method: String, _ path: String, key: String? = nil, headers: [(String, String)] = [], json: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestReply {
    let reply = try await server.send(
      method, path, headers: [("X-Carma-Authentication-Token", key ?? acme.backend)] + headers, json: json)
    #expect(contract.problems(method, path, reply) == [], sourceLocation: sourceLocation)
    return reply
  }

  /// Every row of the tables that Carma's REST writes: to see that nothing changed.
  func rows() async throws -> [String] {
    try await database.query(
      """
      SELECT 'c' || c::text FROM contact c UNION ALL SELECT 'd' || d::text FROM device d
      UNION ALL SELECT 'e' || e::text FROM device_event e ORDER BY 1
      """
    ).map { try $0.decode(String.self) }
  }
}

/// Runs `body` on a server of its own.
func withCarmaServer(
  logger: Logger = TestServer.logger, requestsPerKey: Int = 0,
  _ body: @escaping @Sendable (CarmaServer) async throws -> Void
) async throws {
  try await withDatabase { database in
    let acme = try await customer("ACME", database.pool)
    let other = try await customer("Other", database.pool)
    let contract = try await APIContract()
    try await withTestWebServer(
      [CarmaRoutes(database.pool, timeout: .seconds(60), requestsPerKey: requestsPerKey)], logger: logger
    ) { server in
      try await body(CarmaServer(server: server, database: database, acme: acme, other: other, contract: contract))
    }
  }
}

/// A customer with keys, a list, and apps of two appIds, one of them on two platforms.
func customer(_ name: String, _ pool: Pool) async throws -> CarmaServer.Customer {
  let id = try await Customers(pool).add(name: name).id
  let keys = AccessKeys(pool)
  try await pool.addSampleApps(id)
  return CarmaServer.Customer(
    id: id, device: try await keys.make(id, name: "app", scope: .device).token,
    backend: try await keys.make(id, name: "back end", scope: .backend).token,
    admin: try await keys.make(id, name: "people", scope: .admin).token,
    list: try await ContactLists(pool).add(id, name: "all").listId)
}

extension CarmaRoutes {
  /// On one pool, as the hub has it.
  /// - Parameter timeout: how long a request may take; the hub's own unless given.
  init(_ pool: Pool, timeout: Duration = RegistrationBatcher.Limits().timeout, requestsPerKey: Int = 0) {
    let database = pool.limited(to: timeout)
    var limits = RegistrationBatcher.Limits()
    limits.timeout = timeout
    self.init(
      authenticator: Authenticator(
        AccessKeyCache(database), requestsPerKey: requestsPerKey, replyBudget: ReplyBudget()),
      pushApps: PushAppCache(database),
      registrations: RegistrationBatcher(pool, limits: limits), contacts: ContactLookup(database),
      devices: Devices(database), identities: IdentityVerifier(database, vault: Self.vault))
  }

  /// Of apps that require no identity, nothing is ever opened.
  private static let vault: Vault = {
    guard let keys = try? MasterKeys(current: MasterKeys.generate()) else {
      preconditionFailure("a generated key is one")
    }
    return Vault(keys)
  }()
}
