import Embedded
import Support
import Testing
import Wire

@testable import Operations
@testable import Web

@Suite struct ConsoleFrameTests {
  @Test func `Every page keeps scripts, frames, caches and referrers of others out`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      for path in ["/console/sign-in", "/console/account", "/console/account/totp", "/console/nowhere/at/all"] {
        let reply = try await (path == "/console/sign-in" ? ConsoleBrowser(console.server) : browser).get(path)
        let policy = try #require(reply.header("Content-Security-Policy"), "\(path)")
        #expect(policy.hasPrefix("default-src 'self';") && policy.contains("frame-ancestors 'none'"), "\(path)")
        #expect(!policy.contains("unsafe"), "\(path)")
        #expect(reply.header("Cache-Control") == "no-store", "\(path)")
        #expect(reply.header("X-Content-Type-Options") == "nosniff", "\(path)")
        #expect(reply.header("Referrer-Policy") == "same-origin", "\(path)")
        #expect(!reply.text.contains(" style=") && !reply.text.contains("<script>"), "\(path)")
        #expect(reply.text.contains("<h1>") && reply.text.contains(#"<html lang="en""#), "\(path)")
      }
      #expect(try await browser.get("/console/nowhere/at/all").status == 404)
      let post = try await browser.post("/console/account")
      #expect(post.status == 405 && post.text.contains("<h1>"), "\(post.text)")
    }
  }

  @Test func `Style sheet and script are small, and kept for a year under the hash of what they hold`() async throws {
    try await withConsole { console in
      let page = try await ConsoleBrowser(console.server).get("/console/sign-in").text
      for (name, most) in [("console.css", 30 * 1024), ("console.js", 25 * 1024)] {
        let path = ConsoleAssets.shared.path(of: name)
        #expect(page.contains("\"\(path)\""), "\(name)")
        let reply = try await console.server.send("GET", path)
        #expect(reply.status == 200 && reply.body.count <= most, "\(name): \(reply.body.count)")
        #expect(reply.header("Cache-Control") == "public, max-age=31536000, immutable")
        let plain = try await console.server.send("GET", "/console/assets/\(name)?v=old")
        #expect(plain.header("Cache-Control") == "no-cache")
      }
    }
  }

  @Test func `Every page and every action is open to the roles of its operations, and to no other`() async throws {
    try await withConsole { console in
      for role in Role.allCases {
        let browser = try await console.browser(role, "\(role.rawValue)@example.com")
        let seesPersonal = role != .analyst
        for page in ConsolePages.all {
          let reply = try await browser.get(page.path.replacing(#/\{\w+\}/#, with: "1"))
          let isOpen = page.isOpen(to: role, seesPersonal: seesPersonal)
          #expect(reply.status < 500 && (reply.status != 403) == isOpen, "\(role) \(page.path): \(reply.status)")
        }
        for action in ConsolePages.actions {
          let path = action.path.replacing(#/\{\w+\}/#, with: "1")
          _ = try await browser.get("/console/account")
          let reply = try await browser.post(path)
          let isOpen = action.operation.isOpen(to: role, seesPersonal: seesPersonal)
          #expect(reply.status < 500 && (reply.status != 403) == isOpen, "\(role) \(path): \(reply.status)")
          if !isOpen { #expect(reply.text.contains("role") || reply.text.contains("personal"), "\(reply.text)") }
        }
      }
    }
  }

  @Test func `Without a session every page leads to sign-in, and what a form had can be sent again`() async throws {
    try await withConsole { console in
      for page in ConsolePages.all {
        let reply = try await console.server.send("GET", page.path.replacing(#/\{\w+\}/#, with: "1"))
        #expect(reply.status == 303 && reply.header("Location")?.hasPrefix("/console/sign-in?next=") == true, "\(page)")
      }
      for action in ConsolePages.actions {
        let browser = ConsoleBrowser(console.server)
        let reply = try await browser.post(action.path.replacing(#/\{\w+\}/#, with: "1"), [("name", "A \"text\"")])
        #expect(reply.status == 401 && reply.text.contains(#"name="name" value="A &quot;text&quot;""#), "\(reply.text)")
      }
    }
  }

  @Test func `The page of a session that has ended has no secret of a form, and sent again the form asks for it`()
    async throws
  {
    try await withConsole { console in
      var tried = 0
      for action in ConsolePages.actions {
        for field in action.fields where field.isSecret {
          tried += 1
          let path = action.path.replacing(#/\{\w+\}/#, with: "1")
          let ended = try await ConsoleBrowser(console.server).post(
            path, [(field.name, "hush-hush"), ("name", "Acme")])
          #expect(ended.status == 401 && !ended.text.contains("hush-hush"), "\(path) \(field.name)")
          #expect(ended.text.contains("asks for them again"), "\(path) \(field.name)")
        }
      }
      #expect(tried > 5)
      let browser = try await console.browser()
      _ = try await browser.get("/console/account")
      let path = "/console/new-app/ios"
      let fields = [("name", "Acme"), ("appId", "com.acme.app"), ("signingKey", "hush-hush")]
      let older = try await browser.post(path, fields, token: "x")
      #expect(older.status == 403 && !older.text.contains("hush-hush"), "\(older.text)")
      #expect(older.text.contains(#"name="left" value="signingKey""#), "\(older.text)")
      let again = try await browser.post(path, [("name", "Acme"), ("appId", "com.acme.app"), ("left", "signingKey")])
      #expect(again.status == 400 && again.text.contains(#"value="com.acme.app""#), "\(again.text)")
      #expect(again.text.contains("has to be given again"), "\(again.text)")
      #expect(try await console.database.query("SELECT FROM push_app").isEmpty)
    }
  }

  @Test func `Paths of pages and of actions are unique`() {
    let pages = ConsolePages.all.map(\.path)
    #expect(Set(pages).count == pages.count)
    let actions = ConsolePages.actions.map(\.path)
    #expect(Set(actions).count == actions.count)
    let confirmed = ConsolePages.actions.filter { $0.confirms != nil }.map(\.path)
    #expect(Set(confirmed).isDisjoint(with: pages))
    for form in ConsolePages.actions.compactMap(\.form) { #expect(pages.contains(form), "\(form)") }
  }

  @Test func `A request's path and query are made from the operation's own description`() {
    let (path, query) = KeyOperations.revoke.written((AccessKeyID(2), true))
    #expect(path == "/api/v1/keys/2")
    #expect(query.map { "\($0)=\($1)" } == ["withCreated=true"])
    let page = KeyOperations.list.written(PageRequest(after: AccessKeyID(7), limit: 20))
    #expect(page.query.map { "\($0)=\($1)" } == ["after=7", "limit=20"])
    #expect(TemplateOperations.show.written(("a b", nil)).path == "/api/v1/templates/a%20b")
  }
}
