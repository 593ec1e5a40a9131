import Foundation
import Hybrid
import Locking
import Postgres
import Providers
import Registry
import Support
import Wire

/// The whole server over a real database with a customer, for browsers of its users.
struct ConsoleServer: Sendable {
  let server: TestWebServer
  let database: TestDatabase
  let vault: Vault
  let customer: CustomerID

  static let password = "seven lanterns over water"

  /// Adds a user.
  /// - Parameter isOperator: whether the hub's operator adds them; else the customer does.
  /// - Returns: the path of the link that sets the password.
  func add(
    _ email: String, as role: Role, of customer: CustomerID? = nil, seesPersonal: Bool? = nil, isOperator: Bool = true
  ) async throws -> String? {
    let customer = customer ?? self.customer
    let request = UserRequest(email: email, name: "Mia", role: role, seesPersonal: seesPersonal)
    return try await database.pool.transaction(of: customer.rawValue) {
      try await Users($0, isOperator: isOperator).add(customer, request).link
    }
  }

  /// A browser in which a new user has signed in.
  func browser(
    _ role: Role = .owner, _ email: String = "mia@example.com", of customer: CustomerID? = nil,
    seesPersonal: Bool? = nil, isOperator: Bool = true
  ) async throws -> ConsoleBrowser {
    let browser = ConsoleBrowser(server)
    let link =
      try await add(email, as: role, of: customer, seesPersonal: seesPersonal, isOperator: isOperator) ?? ""
    _ = try await browser.get(link)
    _ = try await browser.post(link, [("password", Self.password)])
    return browser
  }
}

/// Runs `body` on a server of its own.
func withConsole(
  publicURL: String = "http://127.0.0.1", _ body: @escaping @Sendable (ConsoleServer) async throws -> Void
) async throws {
  try await withDatabase { database in
    let vault = try Vault.fresh()
    var whole = WholeWebServer(
      database.pool, vault: vault,
      services: try PushServices(.nowhere, logger: TestServer.logger, pin: PINs.ofTests.pin))
    whole.endpoints = PushServiceSettings.nowhere.endpoints
    whole.consoleURL = publicURL
    let customer = try await Customers(database.pool).add(name: "ACME").id
    try await withTestWebServer(try whole.routes) { server in
      try await body(ConsoleServer(server: server, database: database, vault: vault, customer: customer))
    }
  }
}

/// Keeps cookies and sends forms as browsers do.
final class ConsoleBrowser: Sendable {
  private struct State {
    var cookies: [String: String] = [:]
    /// Of the last page's forms.
    var token = ""
  }

  private let server: TestWebServer
  private let state = Mutex(State())

  init(_ server: TestWebServer) { self.server = server }

  /// The session's token.
  var session: String? {
    get { state.withLock { $0.cookies["pushcart"] } }
    set { state.withLock { $0.cookies["pushcart"] = newValue } }
  }

  /// What the browser sends, by name.
  var cookies: [String: String] {
    get { state.withLock { $0.cookies } }
    set { state.withLock { $0.cookies = newValue } }
  }

  /// What forms of the last page carry.
  var token: String { state.withLock { $0.token } }

  func get(_ path: String, headers: [(String, String)] = []) async throws -> TestReply {
    try await send("GET", path, headers, nil)
  }

  /// Sends a form with the token of the last page.
  func post(
    _ path: String, _ fields: [(String, String)] = [],
    headers: [(String, String)] = [("Sec-Fetch-Site", "same-origin")],
    token: String? = nil
  ) async throws -> TestReply {
    let pairs = fields + [("csrf", token ?? self.token)]
    let body = pairs.map { "\(PercentEncoding.encode($0))=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    let type = [("Content-Type", "application/x-www-form-urlencoded")]
    return try await send("POST", path, headers + type, body)
  }

  /// Sends a form with files, as browsers do without scripts.
  func upload(_ path: String, _ fields: [(String, String)], files: [(String, String)]) async throws -> TestReply {
    let parts =
      ([("csrf", token)] + fields).map { "name=\"\($0)\"\r\n\r\n\($1)" }
      + files.map { "name=\"\($0)\"; filename=\"\($0).txt\"\r\nContent-Type: text/plain\r\n\r\n\($1)" }
    let body = parts.map { "--b\r\nContent-Disposition: form-data; \($0)\r\n" }.joined() + "--b--\r\n"
    let headers = [("Sec-Fetch-Site", "same-origin"), ("Content-Type", "multipart/form-data; boundary=b")]
    return try await send("POST", path, headers, body)
  }

  private func send(
    _ method: String, _ path: String, _ headers: [(String, String)], _ body: String?
  ) async throws -> TestReply {
    let cookies = state.withLock { $0.cookies.map { "\($0)=\($1)" } }.sorted().joined(separator: "; ")
    let reply = try await server.send(
      method, path, headers: headers + (cookies.isEmpty ? [] : [("Cookie", cookies)]), body: body)
    state.withLock { state in
      for cookie in (reply.header("Set-Cookie") ?? "").split(separator: ", ") {
        let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
        if pair.count == 2 {
          state.cookies[String(pair[0])] = String(pair[1])
        } else if let name = pair.first {
          state.cookies[String(name)] = nil
        }
      }
      if let token = reply.text.firstMatch(of: /name="csrf" value="([^"]+)"/)?.1 { state.token = String(token) }
    }
    return reply
  }
}
