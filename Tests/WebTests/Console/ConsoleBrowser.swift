import Registry
import Support
import Testing
import Wire

@testable import Web

/// Somebody who is signed in to the console of a server, without JavaScript.
struct ConsoleBrowser: Sendable {
  let server: TestWebServer
  let database: TestDatabase
  let session: String

  /// Adds a user of this role to the first customer, and signs them in.
  static func signedIn(
    to managed: ManagementServer, as role: Role = .owner, email: String = "mia@example.com"
  ) async throws -> ConsoleBrowser {
    let pool = managed.database.pool
    let user = try await Users(pool, isOperator: false).add(
      managed.customer, UserRequest(email: email, name: "Mia Jansen", role: role))
    let link = try #require(user.link?.split(separator: "/").last)
    let session = try await ConsoleSignIn(pool, vault: managed.vault, passwords: Passwords(cost: 4)).setPassword(
      "seven green bicycles", ofLink: String(link),
      from: SignInClient(address: nil, network: "test \(email)", userAgent: nil))
    return ConsoleBrowser(server: managed.server, database: managed.database, session: session.token)
  }

  func get(_ path: String) async throws -> TestReply {
    try await server.send("GET", path, headers: [("Cookie", "pushcart=\(session)")])
  }

  /// Sends a form with the token of the session.
  func post(_ path: String, _ fields: KeyValuePairs<String, String> = [:]) async throws -> TestReply {
    let user = try #require(try await Sessions(database.pool).find(session))
    let pairs = fields.map { ($0.key, $0.value) } + [("csrf", user.csrfToken)]
    let body = pairs.map { "\(PercentEncoding.encode($0.0))=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
    return try await server.send(
      "POST", path,
      headers: [
        ("Cookie", "pushcart=\(session)"), ("Content-Type", "application/x-www-form-urlencoded"),
        ("Sec-Fetch-Site", "same-origin"),
      ], body: body)
  }
}

extension TestReply {
  /// Whether the page has this text, as a template puts it there.
  func shows(_ text: String) -> Bool { self.text.contains(Markup.escaped(text)) }
}
