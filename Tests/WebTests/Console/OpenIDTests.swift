import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Web

/// Sign-in by an OpenID provider, as it should go.
@Suite struct OpenIDTests {
  @Test(arguments: OpenIDKey.Algorithm.allCases)
  func `Who has a role by the claim gets an account, and a session`(algorithm: OpenIDKey.Algorithm) async throws {
    try await withOpenID(algorithm: algorithm) { openID in
      let browser = openID.browser()
      let page = try await browser.get("/console/sign-in?next=%2Fconsole%2Faccount")
      #expect(page.text.contains("Sign in with ACME &lt;Login&gt;"), "\(page.text)")
      #expect(page.text.contains("/console/sign-in/openid?next=%2Fconsole%2Faccount"))
      #expect(page.text.contains(#"name="password""#))
      let reply = try await openID.signIn(browser, next: "/console/account")
      #expect(reply.status == 303 && reply.header("Location") == "/console/account", "\(reply.text)")
      let account = try await browser.get("/console/account").text
      #expect(account.contains("Mia Jansen") && account.contains("mia@example.com") && account.contains("owner"))
      #expect(account.contains("have no password here"))
      #expect(try await openID.role() == "owner")
      let audit = try await openID.database.query("SELECT action, user_id IS NOT NULL, address FROM audit_log")
      #expect(audit.count == 1)
      let (action, hasUser, address) = try audit[0].decode(String.self, Bool.self, String?.self)
      #expect(action == "user.add" && hasUser && address == "127.0.0.1")
    }
  }

  @Test func `A second sign-in finds the same user, and has no line in the audit log`() async throws {
    try await withOpenID { openID in
      var mia = OpenIDServer.mia
      #expect(try await openID.signIn(openID.browser()).status == 303)
      // The subject counts, whatever the address is by now.
      mia.email = "mia.jansen@example.com"
      mia.isVerified = false
      openID.provider.know(mia)
      let browser = openID.browser()
      #expect(try await openID.signIn(browser).status == 303)
      #expect(try await browser.get("/console/account").text.contains("mia@example.com"))
      #expect(try await openID.users() == 1)
      let lines = try await openID.database.query("SELECT count(*) FROM audit_log")[0].decode(Int64.self)
      #expect(lines == 1)
      #expect(openID.provider.keyReads == 1)
    }
  }

  @Test(arguments: [nil, "a secret"] as [String?])
  func `The hub proves itself as the provider wants it`(secret: String?) async throws {
    let client = SimulatedOpenID.Client(
      id: "hub", secret: secret, redirectURL: OpenIDServer.consoleURL + OpenIDSignIn.callbackPath)
    try await withOpenID(client: client) { openID in
      openID.provider.say(["token_endpoint_auth_methods_supported": ["client_secret_post"]])
      let reply = try await openID.signIn(openID.browser())
      #expect(reply.status == 303, "\(reply.text)")
    }
  }

  @Test func `A role that the claim no longer gives is gone at the next sign-in, and one that people gave stays`()
    async throws
  {
    try await withOpenID { openID in
      let (mia, other) = (OpenIDServer.mia, try await openID.database.customer("Other"))
      #expect(try await openID.signIn(openID.browser()).status == 303)
      _ = try await openID.console.add(mia.email, as: .analyst, of: other)
      for (roles, expected) in [
        (["push-sales"], "marketer"), (["x", "push-sales", "push-admins"], "owner"), ([], nil),
        (["push-sales"], "marketer"),
      ] as [([String], String?)] {
        var changed = mia
        changed.roles = roles
        openID.provider.know(changed)
        #expect(try await openID.signIn(openID.browser()).status == 303)
        #expect(try await openID.role() == expected, "\(roles)")
        #expect(try await openID.role(of: other) == "analyst")
      }
      let actions = try await openID.database.query(
        "SELECT action FROM audit_log WHERE customer_id = \(openID.console.customer) ORDER BY audit_log_id")
      let named = try actions.map { try $0.decode(String.self) }
      #expect(
        named == [
          "user.add", "user.change", "user.change", "user.remove", "user.add",
        ])
    }
  }

  @Test func `Who loses the last role is refused, and older sessions show nothing more`() async throws {
    try await withOpenID { openID in
      let browser = openID.browser()
      #expect(try await openID.signIn(browser).status == 303)
      var mia = OpenIDServer.mia
      mia.roles = []
      openID.provider.know(mia)
      let refused = try await openID.signIn(openID.browser())
      #expect(refused.status == 403 && refused.text.contains("You have no role here"), "\(refused.text)")
      #expect(try await openID.role() == nil)
      #expect(try await browser.get("/console/account").status == 303)
    }
  }

  @Test func `Who was invited signs in by a verified address, and their link ends`() async throws {
    try await withOpenID { openID in
      let link = try #require(try await openID.console.add("MIA@example.com", as: .analyst))
      var mia = OpenIDServer.mia
      mia.roles = ["push-admins"]
      openID.provider.know(mia)
      let browser = openID.browser()
      #expect(try await openID.signIn(browser).status == 303)
      // What an owner gave stays as it is.
      #expect(try await openID.role("MIA@example.com") == "analyst")
      #expect(try await openID.browser().get(link).status == 410)
      let users = Users(openID.database.pool, isOperator: false)
      let page = try await users.list(openID.console.customer, PageRequest())
      #expect(page.items.map(\.singleSignOn) == [true])
    }
  }

  @Test func `Keys that the provider has changed are read again, once a minute at most`() async throws {
    try await withOpenID { openID in
      #expect(try await openID.signIn(openID.browser()).status == 303)
      try openID.provider.rotateKey()
      let rotated = try await openID.signIn(openID.browser())
      #expect(rotated.status == 303, "\(rotated.text)")
      #expect(openID.provider.keyReads == 2)
      try openID.provider.rotateKey()
      #expect(try await openID.signIn(openID.browser()).status == 403)
      #expect(openID.provider.keyReads == 2)
      openID.clock.advance(by: .seconds(61))
      let later = try await openID.signIn(openID.browser())
      #expect(later.status == 303, "\(later.text)")
      #expect(openID.provider.keyReads == 3)
    }
  }

  @Test func `A key that has another value under the same name is read again, too`() async throws {
    try await withOpenID { openID in
      #expect(try await openID.signIn(openID.browser()).status == 303)
      try openID.provider.replaceKey()
      let replaced = try await openID.signIn(openID.browser())
      #expect(replaced.status == 303, "\(replaced.text)")
      #expect(openID.provider.keyReads == 2)
    }
  }

  @Test func `Where the provider alone signs people in, passwords open nothing`() async throws {
    try await withOpenID({ $0.isOnly = true }) { openID in
      let link = try #require(try await openID.console.add("noa@example.com", as: .owner))
      let browser = openID.browser()
      let page = try await browser.get("/console/sign-in").text
      #expect(!page.contains(#"name="password""#) && page.contains("Sign in with ACME"))
      #expect(try await browser.get(link).status == 403)
      let set = try await browser.post(link, [("password", ConsoleServer.password)])
      #expect(set.status == 403 && browser.session == nil)
      let posted = try await browser.post(
        "/console/sign-in", [("email", "noa@example.com"), ("password", ConsoleServer.password)])
      #expect(posted.status == 403 && posted.text.contains("Passwords open nothing here"), "\(posted.text)")
      #expect(try await openID.signIn(browser).status == 303)
    }
  }

  @Test func `Where the provider alone signs people in, no route begins a session by a password`() async throws {
    try await withOpenID({ $0.isOnly = true }) { openID in
      _ = try await openID.passwordSession("noa@example.com")
      try await openID.database.query("DELETE FROM console_session")
      let link = try #require(try await openID.console.add("lars@example.com", as: .owner))
      let fields = [
        ("email", "noa@example.com"), ("password", ConsoleServer.password), ("current", ConsoleServer.password),
        ("code", "123456"),
      ]
      for path in openID.consolePaths("POST") {
        let browser = openID.browser()
        _ = try await browser.get("/console/sign-in")
        let welcome = path.hasPrefix("/console/welcome/") ? link : path
        let reply = try await browser.post(welcome, fields, token: browser.cookies["pushcart-form"])
        #expect(browser.session == nil, "\(path): \(reply.status)")
      }
      let begun = try await openID.database.query("SELECT count(*) FROM console_session")[0].decode(Int64.self)
      #expect(begun == 0)
    }
  }

  @Test(arguments: [false, true])
  func `Where the provider alone signs people in, a session that began with a password opens no page`(
    needsCode: Bool
  ) async throws {
    try await withOpenID({ $0.isOnly = true }) { openID in
      let database = openID.database
      let token = try await openID.passwordSession("noa@example.com")
      try await database.query("UPDATE console_session SET needs_code = \(needsCode)")
      try await database.query("CREATE TABLE kept AS SELECT * FROM console_session")
      for (method, paths) in [("GET", openID.consolePaths("GET")), ("POST", openID.consolePaths("POST"))] {
        #expect(paths.contains("/console/sign-in/code") && paths.count > 20)
        for path in paths {
          try await database.query("INSERT INTO console_session SELECT * FROM kept ON CONFLICT DO NOTHING")
          let browser = openID.browser()
          browser.session = token
          let reply = method == "GET" ? try await browser.get(path) : try await browser.post(path)
          let leadsToSignIn =
            reply.header("Location").map { $0.hasPrefix("/console/sign-in") || $0.hasPrefix(openID.provider.issuer) }
            ?? false
          let isOpen = path == "/console/sign-in" || path.hasPrefix("/console/assets")
          #expect(
            reply.status >= 400 || reply.status == 303 && leadsToSignIn || method == "GET" && isOpen,
            "\(method) \(path): \(reply.status)")
          #expect(!reply.text.contains("noa@example.com"), "\(path)")
        }
      }
      // Its next request has ended it.
      let browser = openID.browser()
      browser.session = token
      _ = try await browser.get("/console/account")
      let left = try await database.query("SELECT count(*) FROM console_session")[0].decode(Int64.self)
      #expect(left == 0)
    }
  }

  @Test func `A session by the provider ends after twelve hours, however much it is used`() async throws {
    try await withOpenID { openID in
      let browser = openID.browser()
      #expect(try await openID.signIn(browser).status == 303)
      for (hours, status) in [("11", 200), ("12", 303)] {
        try await openID.database.query(
          "UPDATE console_session SET created_at = now() - interval '\(hours) hours', seen_at = now()")
        #expect(try await browser.get("/console/account").status == status)
      }
    }
  }

  @Test func `The claim of roles may be in an object, or have dots in its name`() async throws {
    for (name, claims) in [
      ("realm_access.roles", ["realm_access": ["roles": ["push-sales"]], "roles": []]),
      ("https://example.com/roles", ["https://example.com/roles": "push-sales", "roles": []]),
    ] as [(String, [UTF8String: JSONValue])] {
      try await withOpenID({ $0.rolesClaim = name }) { openID in
        openID.provider.forge(.claims(claims))
        let reply = try await openID.signIn(openID.browser())
        #expect(reply.status == 303, "\(reply.text)")
        #expect(try await openID.role() == "marketer")
      }
    }
  }

  @Test func `A token without the name of its key is taken, as the provider has one key for it`() async throws {
    try await withOpenID { openID in
      openID.provider.forge(.namelessKey)
      let reply = try await openID.signIn(openID.browser())
      #expect(reply.status == 303, "\(reply.text)")
    }
  }

  @Test func `A provider that stands for nobody leaves the sign-in page as it is`() async throws {
    try await withConsole { console in
      let browser = ConsoleBrowser(console.server)
      let page = try await browser.get("/console/sign-in").text
      #expect(page.contains("E-mail address") && !page.contains("Sign in with"))
      #expect(try await browser.get("/console/sign-in/openid").status == 404)
      #expect(try await browser.get(OpenIDSignIn.callbackPath).status == 404)
    }
  }

  @Test func `The provider's own page offers everybody whom it knows`() async throws {
    try await withOpenID { openID in
      let url = try await openID.begin(openID.browser())
      let (status, body) = try #require(await openID.services.openID.answer(from: url))
      let page = String(decoding: body, as: UTF8.self)
      #expect(status == 200 && page.contains("Mia Jansen, mia@example.com"), "\(page)")
      let link = try #require(page.firstMatch(of: /href="([^"]+)"/)?.1).replacing("&amp;", with: "&")
      let chosen = try #require(await openID.services.openID.answer(from: openID.provider.issuer + link))
      #expect(chosen.status == 302)
    }
  }
}
