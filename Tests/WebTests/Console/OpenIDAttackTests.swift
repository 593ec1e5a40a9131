import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

/// What must not sign anybody in by an OpenID provider.
@Suite struct OpenIDAttackTests {
  @Test func `An answer counts in the browser where its sign-in began, and once`() async throws {
    try await withOpenID { openID in
      let (victim, attacker) = (openID.browser(), openID.browser())
      let back = try openID.provider.signIn("user|1", at: try await openID.begin(attacker))
      // Without any cookie, and with the cookie of another sign-in.
      #expect(try await openID.come(back: victim, to: back).status == 400)
      _ = try await openID.begin(victim)
      let refused = try await openID.come(back: victim, to: back)
      #expect(refused.status == 400 && refused.text.contains("Begin again"), "\(refused.text)")
      #expect(victim.session == nil)

      let kept = attacker.cookies
      #expect(try await openID.come(back: attacker, to: back).status == 303)
      #expect(attacker.cookies["pushcart-openid"] == nil)
      let replay = openID.browser()
      replay.cookies = kept
      #expect(try await openID.come(back: replay, to: back).status == 400)
      // Another code does not make it another sign-in.
      let code = try #require(back.firstMatch(of: /code=([^&]+)/)?.1)
      #expect(try await openID.come(back: replay, to: back.replacing(code, with: "another")).status == 400)
      #expect(replay.session == nil)
    }
  }

  @Test(arguments: ["state", "code"])
  func `A changed answer is refused`(name: String) async throws {
    try await withOpenID { openID in
      let browser = openID.browser()
      let back = try openID.provider.signIn("user|1", at: try await openID.begin(browser))
      let pattern = try Regex("\(name)=[^&]+")
      for changed in [back.replacing(pattern, with: "\(name)=x"), back.replacing(pattern, with: "")] {
        #expect(try await openID.come(back: browser, to: changed).status >= 400)
        #expect(browser.session == nil)
      }
    }
  }

  @Test func `A cookie that nobody sealed, or that is older than ten minutes, opens nothing`() async throws {
    try await withOpenID { openID in
      let browser = openID.browser()
      let back = try openID.provider.signIn("user|1", at: try await openID.begin(browser))
      let cookie = try #require(browser.cookies["pushcart-openid"])
      #expect(cookie.utf8.count < 1500)
      for changed in ["x", String(cookie.dropLast(4)) + "AAAA", String(cookie.dropFirst())] {
        browser.cookies["pushcart-openid"] = changed
        #expect(try await openID.come(back: browser, to: back).status == 400)
      }
      browser.cookies["pushcart-openid"] = cookie
      openID.date.now.addTimeInterval(601)
      #expect(try await openID.come(back: browser, to: back).status == 400)
      #expect(browser.session == nil && openID.provider.keyReads == 1)
    }
  }

  static let claims: [(String, [UTF8String: JSONValue])] = [
    ("of another nonce", ["nonce": "Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oTiU"]), ("without a nonce", ["nonce": nil]),
    ("for another client", ["aud": "other"]), ("for nobody", ["aud": nil]), ("for no list", ["aud": []]),
    ("for several, and nobody asked", ["aud": ["push hub", "other"]]),
    ("for several, and another asked", ["aud": ["push hub", "other"], "azp": "other"]),
    ("that another asked for", ["azp": "other"]), ("of another issuer", ["iss": "https://localhost:1"]),
    ("without an issuer", ["iss": nil]), ("without an end", ["exp": nil]), ("with an end that is a text", ["exp": "9"]),
    ("that has ended", ["exp": 1_000_000_000]), ("of long ago", ["iat": 1_000_000_000]),
    ("of the future", ["iat": 99_999_999_999]), ("without a date", ["iat": nil]),
    ("that does not count yet", ["nbf": 99_999_999_999]), ("of nobody", ["sub": nil]),
    ("of an empty name", ["sub": ""]),
    ("of a long name", ["sub": .string(String(repeating: "x", count: 256))]), ("of a number", ["sub": 7]),
  ]

  @Test func `An ID token that is not for this sign-in is refused`() async throws {
    try await withOpenID { openID in
      for (what, changed) in Self.claims {
        openID.provider.forge(.claims(changed))
        try await openID.expectRefusal(403, "a token \(what)")
      }
      openID.provider.forge(.claims(["aud": ["push hub", "other"], "azp": "push hub"]))
      #expect(try await openID.signIn(openID.browser()).status == 303)
    }
  }

  @Test(arguments: OpenIDKey.Algorithm.allCases)
  func `An ID token that the provider did not sign is refused`(algorithm: OpenIDKey.Algorithm) async throws {
    try await withOpenID(algorithm: algorithm) { openID in
      for forgery in [
        .unsigned, .keyedByPublicKey, .otherKey, .unknownKey, .header(["alg": "HS256"]), .header(["alg": "none"]),
        .header(["alg": algorithm == .es256 ? "RS256" : "ES256"]), .header(["alg": nil]), .header(["kid": 7]),
        .header(["crit": ["exp"]]),
      ] as [OpenIDForgery] {
        openID.provider.forge(forgery)
        try await openID.expectRefusal(403, "\(forgery)")
      }
      // Nor do the keys that a token brings along count.
      openID.provider.forge(.header(["jku": "https://evil.example/keys", "jwk": ["kty": "oct", "k": "AQAB"]]))
      #expect(try await openID.signIn(openID.browser()).status == 303)
    }
  }

  @Test func `A token's end counts to a minute`() async throws {
    try await withOpenID { openID in
      for (seconds, status) in [(-61, 403), (-50, 303)] as [(Int64, Int)] {
        let end = Int64(openID.date.now.timeIntervalSince1970) + seconds
        openID.provider.forge(.claims(["exp": .integer(end)]))
        let reply = try await openID.signIn(openID.browser())
        #expect(reply.status == status, "\(seconds)")
      }
    }
  }

  @Test func `An unverified address opens no account, neither an owner's nor a new one`() async throws {
    try await withOpenID { openID in
      _ = try await openID.console.add("owner@example.com", as: .owner)
      for email in ["owner@example.com", "OWNER@example.com", "new@example.com"] {
        for isVerified in [false, nil] as [Bool?] {
          openID.provider.know(
            .init("user|1", email: email, isVerified: isVerified, name: "Eve", roles: ["push-admins"]))
          try await openID.expectRefusal(403, "\(email) \(String(describing: isVerified))")
        }
      }
      #expect(try await openID.users() == 1)
    }
  }

  @Test func `An account with a password is not taken over by its address`() async throws {
    try await withOpenID { openID in
      _ = try await openID.console.browser(.owner, "mia@example.com")
      let refused = try await openID.signIn(openID.browser())
      #expect(refused.status == 403 && refused.text.contains("has a password"), "\(refused.text)")
      let linked = try await openID.database.query("SELECT count(*) FROM console_user WHERE oidc_subject IS NOT NULL")
      #expect(try linked[0].decode(Int64.self) == 0)
      let users = Users(openID.database.pool, isOperator: false)
      let user = try #require(try await users.list(openID.console.customer, PageRequest()).items.first)
      _ = try await openID.database.pool.transaction(of: openID.console.customer.rawValue) {
        try await Users($0, isOperator: false).reset(openID.console.customer, user.userId)
      }
      #expect(try await openID.signIn(openID.browser()).status == 303)
    }
  }

  @Test func `An invitation that nobody has used keeps nobody out, whoever made it`() async throws {
    for isOperator in [false, true] {
      try await withOpenID { openID in
        let other = try await openID.database.customer("Other")
        let link = try #require(
          try await openID.console.add("mia@example.com", as: .analyst, of: other, isOperator: isOperator))
        #expect(try await openID.signIn(openID.browser()).status == 303)
        #expect(try await openID.role() == "owner")
        #expect(try await openID.role(of: other) == "analyst")
        #expect(try await openID.browser().get(link).status == 410)
      }
    }
  }

  @Test func `A customer that uses its own invitation keeps nobody out`() async throws {
    try await withOpenID { openID in
      let other = try await openID.database.customer("Other")
      // The owner of the other customer has the link, and so the account.
      let squatter = try await openID.console.browser(.owner, "Mia@example.com", of: other, isOperator: false)
      #expect(try await squatter.get("/console/account").status == 200)
      let changed = try await squatter.post(
        "/console/account/password", [("current", ConsoleServer.password), ("password", "eight lanterns over sand")])
      #expect(changed.status == 303, "\(changed.text)")

      let browser = openID.browser()
      let reply = try await openID.signIn(browser)
      #expect(reply.status == 303, "\(reply.text)")
      let page = try await browser.get("/console/customer").text
      #expect(page.contains("ACME") && page.contains("Other"), "\(page)")
      #expect(try await openID.role("Mia@example.com") == "owner")
      #expect(try await openID.users() == 1)
      // Nothing that the owner of the other customer knows opens it any more, and that customer is told.
      #expect(try await squatter.get("/console/account").status == 303)
      for password in [ConsoleServer.password, "eight lanterns over sand"] {
        let fresh = openID.browser()
        _ = try await fresh.get("/console/sign-in")
        let refused = try await fresh.post("/console/sign-in", [("email", "mia@example.com"), ("password", password)])
        #expect(refused.status == 403 && fresh.session == nil)
      }
      let lines = try await openID.database.query(
        "SELECT action FROM audit_log WHERE customer_id = \(other) ORDER BY audit_log_id")
      #expect(try lines.last?.decode(String.self) == "user.reset")
      #expect(try await openID.signIn(openID.browser()).status == 303)
    }
  }

  @Test func `Neither without a role by the claim nor by an unverified address does the provider end a password`()
    async throws
  {
    try await withOpenID { openID in
      let other = try await openID.database.customer("Other")
      let browser = try await openID.console.browser(.owner, "mia@example.com", of: other, isOperator: false)
      openID.provider.know(.init("user|1", email: "mia@example.com", name: "Mia", roles: []))
      let refused = try await openID.signIn(openID.browser())
      #expect(refused.status == 403 && refused.text.contains("has a password"), "\(refused.text)")
      openID.provider.know(
        .init("user|1", email: "mia@example.com", isVerified: false, name: "Mia", roles: ["push-admins"]))
      #expect(try await openID.signIn(openID.browser()).status == 403)
      #expect(try await browser.get("/console/account").status == 200)
    }
  }

  @Test func `An account of one person at the provider is not another's, though both have its address`() async throws {
    try await withOpenID { openID in
      #expect(try await openID.signIn(openID.browser()).status == 303)
      let eve = SimulatedOpenID.Person("user|2", email: "mia@example.com", name: "Eve", roles: ["push-admins"])
      openID.provider.know(eve)
      let refused = try await openID.signIn(openID.browser(), as: eve)
      #expect(refused.status == 403 && refused.text.contains("somebody else"), "\(refused.text)")
    }
  }

  @Test func `Who has no role by the claim gets no account`() async throws {
    try await withOpenID { openID in
      for roles in [[], ["push-admin"], ["Push-Admins"], ["push-admins "], ["push-admins,push-sales"]] {
        openID.provider.know(.init("user|1", email: "eve@example.com", name: "Eve", roles: roles))
        try await openID.expectRefusal(403, "\(roles)")
      }
      #expect(try await openID.users() == 0)
    }
  }

  @Test func `A disabled user stays out, whatever the claim says and however often it comes and goes`() async throws {
    try await withOpenID { openID in
      #expect(try await openID.signIn(openID.browser()).status == 303)
      try await openID.database.query("UPDATE membership SET disabled_at = now()")
      for roles in [["push-admins"], ["push-sales"], [], ["push-admins"]] {
        var mia = OpenIDServer.mia
        mia.roles = roles
        openID.provider.know(mia)
        try await openID.expectRefusal(403, "\(roles)")
      }
    }
  }

  @Test func `Neither the way there nor the way back leads to another site`() async throws {
    try await withOpenID { openID in
      for next in [
        "//evil.example/console", "https://evil.example", #"/console/\evil"#, "/consoles", "/console\r\nX: y",
        "/console/" + String(repeating: "x", count: 2000),
      ] {
        let browser = openID.browser()
        let reply = try await openID.signIn(browser, next: next)
        #expect(reply.status == 303 && reply.header("Location") == "/console", "\(next)")
      }
      let browser = openID.browser()
      let url = try await openID.begin(browser)
      #expect(url.hasPrefix(openID.provider.issuer + "/authorize?"))
      let back = try openID.provider.signIn("user|1", at: url)
      let reply = try await openID.come(back: browser, to: back + "&next=https%3A%2F%2Fevil.example")
      #expect(reply.header("Location") == "/console")
    }
  }

  @Test func `The answer of another provider is refused`() async throws {
    try await withOpenID { openID in
      for issuer in ["iss=https%3A%2F%2Fevil.example", ""] {
        let browser = openID.browser()
        let back = try openID.provider.signIn("user|1", at: try await openID.begin(browser))
        let reply = try await openID.come(back: browser, to: back.replacing(/iss=[^&]+/, with: issuer))
        #expect(reply.status == 403 && browser.session == nil, "\(issuer)")
      }
    }
  }

  @Test func `A provider's refusal says what to do, and nothing that others wrote`() async throws {
    try await withOpenID { openID in
      let browser = openID.browser()
      let refusal = try openID.provider.deny(at: try await openID.begin(browser))
      let denied = try await openID.come(back: browser, to: refusal)
      #expect(denied.status == 403 && denied.text.contains("You did not sign in"), "\(denied.text)")
      let back = try openID.provider.deny(at: try await openID.begin(browser))
      let other = try await openID.come(
        back: browser, to: back.replacing("access_denied", with: "canary&error_description=canary"))
      #expect(other.status == 403 && !other.text.contains("canary"), "\(other.text)")
      #expect(browser.session == nil)
    }
  }

  static let documents: [(String, [UTF8String: JSONValue])] = [
    ("another issuer", ["issuer": "https://localhost"]), ("no issuer", ["issuer": nil]),
    ("a page without TLS", ["authorization_endpoint": "http://localhost/authorize"]),
    ("a page that ends a header", ["authorization_endpoint": "https://localhost/\r\nSet-Cookie: x=y"]),
    ("a page of scripts", ["authorization_endpoint": "javascript:alert(1)"]),
    ("tokens without TLS", ["token_endpoint": "http://localhost/token"]),
    ("keys without TLS", ["jwks_uri": "http://localhost/keys"]), ("no keys", ["jwks_uri": nil]),
    ("keys that are none", ["jwks_uri": "https://localhost:1/keys"]),
  ]

  @Test func `A provider that says something odd of itself is not used`() async throws {
    try await withOpenID { openID in
      for (what, said) in Self.documents {
        openID.provider.say(said)
        openID.clock.advance(by: .seconds(11))
        let reply = try await openID.browser().get("/console/sign-in/openid")
        #expect(reply.status == 503 && reply.header("Location") == nil, "\(what)")
      }
      openID.provider.say([:])
      // The last failure is remembered for ten seconds.
      #expect(try await openID.browser().get("/console/sign-in/openid").status == 503)
      openID.clock.advance(by: .seconds(11))
      #expect(try await openID.signIn(openID.browser()).status == 303)
    }
  }

  @Test func `While the provider is away, the sign-in page says so, and passwords still work`() async throws {
    try await withOpenID { openID in
      await openID.provider.stop()
      let reply = try await openID.browser().get("/console/sign-in/openid?next=%2Fconsole%2Faccount")
      #expect(reply.status == 503 && reply.text.contains("does not answer"), "\(reply.text)")
      #expect(reply.text.contains(#"action="/console/sign-in""#) && reply.text.contains(#"value="/console/account""#))
      #expect(reply.text.contains("/console/sign-in/openid?next=%2Fconsole%2Faccount"))
      let browser = try await openID.console.browser(.owner, "noa@example.com")
      #expect(try await browser.get("/console/account").status == 200)
    }
  }

  @Test func `A network that fails thirty times is refused for a while`() async throws {
    try await withOpenID { openID in
      openID.provider.forge(.unsigned)
      for _ in 0..<30 { try await openID.expectRefusal(403, "an attempt") }
      openID.provider.forge(.none)
      let reply = try await openID.signIn(openID.browser())
      #expect(reply.status == 429 && reply.header("Retry-After") != nil, "\(reply.text)")
    }
  }

  @Test func `Behind https the cookie of a sign-in is of this very host alone`() async throws {
    try await withOpenID { openID in
      for isSecure in [false, true] {
        let headers = isSecure ? [("X-Forwarded-Proto", "https")] : []
        let reply = try await openID.browser().get("/console/sign-in/openid", headers: headers)
        let cookie = try #require(reply.header("Set-Cookie"))
        #expect(cookie.hasPrefix(isSecure ? "__Host-pushcart-openid=" : "pushcart-openid="), "\(cookie)")
        for flag in ["; Path=/", "; HttpOnly", "; SameSite=Lax", "; Max-Age=600"] {
          #expect(cookie.contains(flag), "\(cookie)")
        }
        #expect(cookie.contains("; Secure") == isSecure)
      }
    }
  }
}

extension OpenIDServer {
  /// Expects that nobody is signed in.
  fileprivate func expectRefusal(_ status: Int, _ what: String) async throws {
    let browser = browser()
    let reply = try await signIn(browser)
    #expect(reply.status == status && browser.session == nil, "\(what): \(reply.status) \(reply.text)")
    // The limit of a network is another test's.
    if status != 429, !what.hasPrefix("an attempt") { try await database.query("DELETE FROM sign_in_attempt") }
  }
}
