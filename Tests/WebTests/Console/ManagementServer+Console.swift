import Embedded
import Registry
import Support
import Wire

@testable import Web

extension ManagementServer {
  /// A browser in which a new user of the first customer has signed in.
  func browser(_ role: Role = .owner, _ email: String = "mia@example.com") async throws -> ConsoleBrowser {
    let console = ConsoleServer(server: server, database: database, vault: vault, customer: customer)
    let browser = try await console.browser(role, email)
    // Has the token of the session's forms.
    _ = try await browser.get("/console/account")
    return browser
  }
}

extension ConsoleBrowser {
  func post(_ path: String, _ fields: KeyValuePairs<String, String>) async throws -> TestReply {
    try await post(path, fields.map { ($0.key, $0.value) })
  }
}

extension TestReply {
  /// Whether the page has this text, as a template puts it there.
  func shows(_ text: String) -> Bool { self.text.contains(Markup.escaped(text)) }
}
