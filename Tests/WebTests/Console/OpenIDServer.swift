import Foundation
import Hybrid
import Postgres
import Providers
import Registry
import Simulator
import Support
import Wire

@testable import Web

/// A console whose users sign in by a provider that runs here.
struct OpenIDServer: Sendable {
  let console: ConsoleServer
  let provider: SimulatedOpenID
  let services: PushServices
  let date: SteerableDate
  let clock: SteerableClock
  /// Of the whole server.
  let routes: [RouteTable.Entry]

  static let consoleURL = "http://127.0.0.1"
  static let client = SimulatedOpenID.Client(
    id: "push hub", secret: "a secret: of the hub", redirectURL: consoleURL + OpenIDSignIn.callbackPath)

  /// Mia may do everything for the first customer.
  static let mia = SimulatedOpenID.Person(
    "user|1", email: "mia@example.com", name: "Mia Jansen", roles: ["push-admins"])

  var database: TestDatabase { console.database }

  /// Lets a browser begin to sign in.
  /// - Returns: where it is sent.
  func begin(_ browser: ConsoleBrowser, next: String? = nil) async throws -> String {
    let query = next.map { "?next=\(PercentEncoding.encode($0))" } ?? ""
    return try await browser.get("/console/sign-in/openid" + query).header("Location") ?? ""
  }

  /// Brings a browser back from the provider.
  /// - Parameter url: where the provider sends it.
  func come(back browser: ConsoleBrowser, to url: String) async throws -> TestReply {
    try await browser.get(String(url.dropFirst(Self.consoleURL.count)))
  }

  /// The whole way.
  func signIn(
    _ browser: ConsoleBrowser, as person: SimulatedOpenID.Person = mia, next: String? = nil
  ) async throws -> TestReply {
    let url = try await begin(browser, next: next)
    return try await come(back: browser, to: try provider.signIn(person.subject, at: url))
  }

  func browser() -> ConsoleBrowser { ConsoleBrowser(console.server) }

  /// Adds an owner who has signed in with a password, as of a time when that was possible.
  /// - Returns: the session's token.
  func passwordSession(_ email: String) async throws -> String {
    let link = try await console.add(email, as: .owner) ?? ""
    let signIn = ConsoleSignIn(database.pool, vault: console.vault, passwords: Passwords(cost: 1))
    let client = SignInClient(address: nil, network: "192.0.2.1", userAgent: nil)
    return try await signIn.setPassword(
      ConsoleServer.password, ofLink: String(link.split(separator: "/").last ?? ""), from: client
    ).token
  }

  /// The path of each of the console's routes of a method, with 1 for what is named there.
  func consolePaths(_ verb: String) -> [String] {
    let all = routes.filter { $0.verb == verb }.map { $0.pattern.replacing(/\{[^}]+\}/, with: "1") }
    return Set(all.filter { $0 == "/console" || $0.hasPrefix("/console/") }).sorted()
  }

  /// The role for the first customer of whoever has this e-mail address; nil for none.
  func role(_ email: String = "mia@example.com", of customer: CustomerID? = nil) async throws -> String? {
    let rows = try await database.query(
      """
      SELECT role FROM membership JOIN console_user USING (user_id)
      WHERE email = '\(email)' AND customer_id = \((customer ?? console.customer).rawValue)
      """)
    return try rows.first?.decode(String.self)
  }

  func users() async throws -> Int64 {
    try await database.query("SELECT count(*) FROM console_user")[0].decode(Int64.self)
  }
}

/// Runs `body` on a server of its own, with a provider of its own.
/// - Parameter configure: changes the settings first.
func withOpenID(
  algorithm: OpenIDKey.Algorithm = .es256, client: SimulatedOpenID.Client = OpenIDServer.client,
  _ configure: @escaping @Sendable (inout OpenIDSettings) -> Void = { _ in },
  _ body: @escaping @Sendable (OpenIDServer) async throws -> Void
) async throws {
  let (date, clock) = (SteerableDate(), SteerableClock())
  let folder = FileManager.default.temporaryDirectory.appending(path: "openid-\(UUID())")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let caFile = folder.appending(path: "ca.pem").path
  let provider = try SimulatedOpenID(client, [OpenIDServer.mia], algorithm: algorithm) { date.now }
  try await provider.start(caFile: caFile)
  var settings = OpenIDSettings(issuer: provider.issuer, clientID: client.id)
  settings.clientSecret = client.secret.map { Secret($0) }
  settings.name = "ACME <Login>"
  settings.documentsTimeout = .seconds(600)
  configure(&settings)
  do {
    try await withDatabase { [settings] database in
      let customer = try await Customers(database.pool).add(name: "ACME").id
      var settings = settings
      settings.grants = [
        OpenIDGrant(value: "push-admins", role: .owner, customer: customer),
        OpenIDGrant(value: "push-sales", role: .marketer, customer: customer),
        OpenIDGrant(value: "push-sales", role: .marketer, customer: CustomerID(999_999)),
      ]
      let vault = try Vault.fresh()
      var services = PushServiceSettings.nowhere
      services.caFile = caFile
      services.queueTimeout = .seconds(600)
      services.connectTimeout = .seconds(600)
      services.untrustedTimeout = .seconds(600)
      services.connectAttempts = 1
      let pushServices = try PushServices(services, logger: TestServer.logger, pin: PINs.ofTests.pin)
      var whole = WholeWebServer(database.pool, vault: vault, services: pushServices)
      whole.endpoints = services.endpoints
      whole.consoleURL = OpenIDServer.consoleURL
      whole.openID = settings
      whole.date = { date.now }
      whole.now = { clock.now }
      let sets = try whole.routes
      try await withTestWebServer(sets) { server in
        let console = ConsoleServer(server: server, database: database, vault: vault, customer: customer)
        try await body(
          OpenIDServer(
            console: console, provider: provider, services: pushServices, date: date, clock: clock,
            routes: RouteTable(sets).entries))
      }
    }
    await provider.stop()
  } catch {
    await provider.stop()
    throw error
  }
}
