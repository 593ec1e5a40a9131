import Foundation
import Registry
import Support
import Testing
import Wire

@Suite struct SignInTests {
  @Test func `A link sets the password once, and signs in`() async throws {
    try await withConsole { console in
      let link = try #require(try await console.add("mia@example.com", as: .owner))
      let browser = ConsoleBrowser(console.server)
      #expect(try await browser.get(link).text.contains("mia@example.com"))
      let short = try await browser.post(link, [("password", "short")])
      #expect(short.status == 400 && short.text.contains("id=\"f-password-error\""), "\(short.text)")
      let set = try await browser.post(link, [("password", ConsoleServer.password)])
      #expect(set.status == 303 && set.header("Location") == "/console", "\(set.text)")
      #expect(try await browser.get("/console/account").status == 200)
      #expect(try await ConsoleBrowser(console.server).get(link).status == 410)
    }
  }

  @Test func `A wrong password and an unknown address are refused alike, and the address stays typed`() async throws {
    try await withConsole { console in
      _ = try await console.browser()
      var pages: [String] = []
      for email in ["mia@example.com", "noa@example.com"] {
        let browser = ConsoleBrowser(console.server)
        _ = try await browser.get("/console/sign-in")
        let reply = try await browser.post("/console/sign-in", [("email", email), ("password", "wrong password")])
        #expect(reply.status == 403)
        #expect(reply.text.contains(#"value="\#(email)""#), "\(reply.text)")
        #expect(!reply.text.contains("wrong password"))
        #expect(browser.session == nil)
        pages.append(reply.text.replacing(email, with: "").replacing(browser.token, with: ""))
      }
      #expect(pages[0] == pages[1])
    }
  }

  @Test func `Sign-in leads back to where it was asked for, and to no other site`() async throws {
    try await withConsole { console in
      _ = try await console.browser()
      let browser = ConsoleBrowser(console.server)
      let away = try await browser.get("/console/account?x=1")
      #expect(away.status == 303)
      #expect(away.header("Location") == "/console/sign-in?next=%2Fconsole%2Faccount%3Fx%3D1")
      for (next, expected) in [
        ("/console/account?x=1", "/console/account?x=1"), ("//evil.example/console", "/console"),
        ("https://evil.example", "/console"), (#"/console/\evil"#, "/console"), ("/consoles", "/console"),
      ] {
        let fresh = ConsoleBrowser(console.server)
        _ = try await fresh.get("/console/sign-in?next=\(PercentEncoding.encode(next))")
        let reply = try await fresh.post(
          "/console/sign-in",
          [("email", "MIA@example.com"), ("password", ConsoleServer.password), ("next", next)])
        #expect(reply.status == 303 && reply.header("Location") == expected, "\(next): \(reply.text)")
      }
    }
  }

  @Test func `Behind https the session's cookie is of this very host alone, and no script sees it`() async throws {
    try await withConsole(publicURL: "https://push.example.com") { console in
      let link = try #require(try await console.add("mia@example.com", as: .owner))
      for isSecure in [false, true] {
        let headers = isSecure ? [("X-Forwarded-Proto", "https")] : []
        let reply = try await ConsoleBrowser(console.server).get(link, headers: headers)
        let cookie = try #require(reply.header("Set-Cookie"))
        #expect(cookie.hasPrefix(isSecure ? "__Host-pushcart-form=" : "pushcart-form="), "\(cookie)")
        for flag in ["; Path=/", "; HttpOnly", "; SameSite=Lax"] { #expect(cookie.contains(flag), "\(cookie)") }
        #expect(cookie.contains("; Secure") == isSecure && !cookie.contains("Domain"), "\(cookie)")
      }
      let browser = ConsoleBrowser(console.server)
      _ = try await browser.get(link)
      let reply = try await browser.post(link, [("password", ConsoleServer.password)])
      let session = try #require(
        reply.header("Set-Cookie")?.split(separator: ", ").first { $0.hasPrefix("pushcart=") })
      for flag in ["; Path=/", "; HttpOnly", "; SameSite=Lax", "; Max-Age=1209600"] {
        #expect(session.contains(flag), "\(session)")
      }
    }
  }

  @Test func `Neither a page of another site nor a form without its token does anything`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      _ = try await browser.get("/console/account")
      for headers in [
        [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")], [("Origin", "https://evil.example")],
        [("Origin", "null")],
      ] {
        let reply = try await browser.post("/console/sign-out", headers: headers)
        #expect(reply.status == 403, "\(headers)")
      }
      #expect(try await browser.post("/console/sign-out", token: "x").status == 403)
      #expect(try await browser.get("/console/account").status == 200)
      let out = try await browser.post("/console/sign-out")
      #expect(out.status == 303 && browser.session == nil)

      let other = ConsoleBrowser(console.server)
      _ = try await other.get("/console/sign-in")
      let fields = [("email", "mia@example.com"), ("password", ConsoleServer.password)]
      #expect(try await other.post("/console/sign-in", fields, token: "x").status == 403)
      #expect(
        try await other.post("/console/sign-in", fields, headers: [("Origin", "https://evil.example")]).status == 403)
      #expect(other.session == nil)
    }
  }

  @Test func `A session that was ended opens nothing`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      let kept = try #require(browser.session)
      _ = try await browser.get("/console/account")
      _ = try await browser.post("/console/sign-out")
      let thief = ConsoleBrowser(console.server)
      thief.session = kept
      #expect(try await thief.get("/console/account").status == 303)
    }
  }

  @Test func `A user of two customers chooses one of them`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      let only = try await browser.get("/console/customer")
      #expect(only.status == 303 && only.header("Location") == "/console")
      let other = try await console.database.customer("Other <b>")
      let link = try #require(try await console.add("mia@example.com", as: .analyst, of: other))
      #expect(try await browser.get("/console/customer").header("Location")?.hasPrefix("/console/sign-in") == true)
      _ = try await browser.get(link)
      _ = try await browser.post(link, [("password", ConsoleServer.password)])
      let page = try await browser.get("/console/customer")
      #expect(page.text.contains("ACME") && page.text.contains("Other &lt;b&gt;"))
      let chosen = try await browser.post("/console/customer", [("customer", "\(other)")])
      #expect(chosen.status == 303)
      #expect(try await browser.get("/console/account").text.contains("Other &lt;b&gt;"))
      let foreign = try await console.database.customer("Foreign")
      #expect(try await browser.post("/console/customer", [("customer", "\(foreign)")]).status == 404)
    }
  }
}
