import Foundation
@testable import Registry
import Support
import Testing
import Wire

@Suite struct AccountTests {
  @Test func `A new password ends all other sessions`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      let other = ConsoleBrowser(console.server)
      _ = try await other.get("/console/sign-in")
      _ = try await other.post(
        "/console/sign-in", [("email", "mia@example.com"), ("password", ConsoleServer.password)])
      #expect(try await other.get("/console/account").status == 200)
      let thief = ConsoleBrowser(console.server)
      thief.session = browser.session

      _ = try await browser.get("/console/account")
      let wrong = try await browser.post(
        "/console/account/password", [("current", "wrong"), ("password", "eight lanterns over sand")])
      #expect(wrong.status == 403 && wrong.text.contains("current password is wrong"), "\(wrong.text)")
      let weak = try await browser.post(
        "/console/account/password", [("current", ConsoleServer.password), ("password", "password1234")])
      #expect(weak.status == 400 && weak.text.contains("New password "), "\(weak.text)")
      let changed = try await browser.post(
        "/console/account/password", [("current", ConsoleServer.password), ("password", "eight lanterns over sand")])
      #expect(changed.status == 303)
      #expect(try await browser.get("/console/account").text.contains("The password is changed."))
      #expect(!(try await browser.get("/console/account").text.contains("The password is changed.")))
      #expect(try await other.get("/console/account").status == 303)
      #expect(try await thief.get("/console/account").status == 303)
      // The forms go with the new cookie.
      #expect(try await browser.post("/console/account/appearance").header("Location") == "/console/account")
    }
  }

  @Test func `With an authenticator app a password alone opens nothing, and a recovery code works once`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      let page = try await browser.get("/console/account/totp").text
      #expect(page.contains("<svg class=\"qr\""))
      let secret = try #require(page.firstMatch(of: /name="secret" value="([A-Z2-7]+)"/)?.1)
      let totp = try #require(TOTP(base32: String(secret)))
      let wrong = try await browser.post(
        "/console/account/totp", [("secret", String(secret)), ("code", "12"), ("current", ConsoleServer.password)])
      #expect(wrong.status == 403 && wrong.text.contains(secret), "\(wrong.text)")
      let on = try await browser.post(
        "/console/account/totp",
        [
          ("secret", String(secret)), ("code", totp.code(in: TOTP.step(at: Date()))),
          ("current", ConsoleServer.password),
        ])
      let codes = on.text.firstMatch(of: /<pre[^>]*>([^<]+)/)?.1.split(separator: "\n") ?? []
      #expect(codes.count == 10, "\(on.text)")
      // The page that shows them has forms of the session's new token.
      #expect(try await browser.post("/console/account/appearance").status == 303)

      for isFirst in [true, false] {
        let other = ConsoleBrowser(console.server)
        _ = try await other.get("/console/sign-in")
        let entered = try await other.post(
          "/console/sign-in", [("email", "mia@example.com"), ("password", ConsoleServer.password)])
        #expect(entered.header("Location") == "/console/sign-in/code")
        #expect(try await other.get("/console/account").header("Location")?.hasPrefix("/console/sign-in/code") == true)
        _ = try await other.get("/console/sign-in/code")
        let code = try await other.post("/console/sign-in/code", [("code", String(codes[0]))])
        #expect(code.status == (isFirst ? 303 : 403))
        #expect(try await other.get("/console/account").status == (isFirst ? 200 : 303))
      }
    }
  }

  @Test func `Too many wrong passwords are told when to try again`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      _ = try await browser.get("/console/account")
      func change() async throws -> TestReply {
        try await browser.post(
          "/console/account/password", [("current", "wrong"), ("password", "eight lanterns over sand")])
      }
      for _ in 0..<10 { #expect(try await change().status == 403) }
      let refused = try await change()
      #expect(refused.status == 429)
      #expect(refused.header("Retry-After").flatMap { Int($0) }.map((800...900).contains) == true)
    }
  }

  @Test func `A user ends another session of theirs, and no other user's`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      let stranger = try await console.browser(.analyst, "noa@example.com")
      let page = try await stranger.get("/console/account").text
      let theirs = try #require(page.firstMatch(of: #/sessions/(\d+)/end/#)?.1)
      _ = try await browser.get("/console/account")
      _ = try await browser.post("/console/account/sessions/\(theirs)/end")
      #expect(try await stranger.get("/console/account").status == 200)
      let own = try #require(
        try await browser.get("/console/account").text.firstMatch(of: #/sessions/(\d+)/end/#)?.1)
      #expect(try await browser.post("/console/account/sessions/\(own)/end").status == 303)
      #expect(try await browser.get("/console/account").status == 303)
    }
  }

  @Test func `A browser remembers its colours, and whether keys do things`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      #expect(try await browser.get("/console/account").text.contains("<body data-keys>"))
      _ = try await browser.post("/console/account/appearance", [("theme", "dark")])
      let page = try await browser.get("/console/account").text
      #expect(page.contains(#"<html lang="en" class="dark">"#) && !page.contains("data-keys"))
    }
  }
}
