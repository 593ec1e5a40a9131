import Content
import Foundation
import Postgres
import Registry
import Support
import Testing
import Web
import Wire

@Suite struct UnsubscribeTests {
  /// The page on a server, of a customer with contact 1, `lars`.
  private struct Unsubscribing: Sendable {
    let server: TestWebServer
    let database: TestDatabase
    let customer: CustomerID
    let signer: LinkSigner
    let suppressions: Suppressions

    var path: String { "/u/\(token)" }
    var token: String { signer.token(for: ContactLink(customer: customer, contact: ContactID(1))) }

    func post(
      _ body: String, type: String = "application/x-www-form-urlencoded", to path: String? = nil
    ) async throws -> TestReply {
      try await server.send("POST", path ?? self.path, headers: [("Content-Type", type)], body: body)
    }

    /// How many suppressions there are.
    func count() async throws -> Int {
      try await database.query("SELECT count(*) FROM suppression")[0].decode(Int.self)
    }
  }

  private static let unsubscribe = "List-Unsubscribe=One-Click"
  private static let subscribe = "subscribe=again"

  private func withPage(
    settings: PageSettings = PageSettings(), _ body: @escaping @Sendable (Unsubscribing) async throws -> Void
  ) async throws {
    try await withDatabase { database in
      let customer = try await Customers(database.pool).add(name: "Acme <b>\"& Co").id
      try await database.query(
        "INSERT INTO contact (customer_id, contact_id, original_id) VALUES ($1::bigint, 1, 'lars'), ($1, 2, 'mia')",
        customer.rawValue)
      let signer = LinkSigner(keys: [1: (0..<32).map { UInt8($0) }])
      let suppressions = Suppressions(database.pool, key: .ofTests)
      let routes = UnsubscribeRoutes(
        suppressions, customers: Customers(database.pool), signer: signer, settings: settings)
      try await withTestWebServer([routes]) { server in
        try await body(
          Unsubscribing(
            server: server, database: database, customer: customer, signer: signer, suppressions: suppressions))
      }
    }
  }

  @Test func `A GET changes nothing, however often it is made, and offers a button`() async throws {
    try await withPage { page in
      for method in ["GET", "HEAD", "GET"] {
        let reply = try await page.server.send(method, page.path)
        #expect(reply.status == 200)
        if method == "GET" {
          #expect(reply.text.contains(#"name="List-Unsubscribe" value="One-Click""#))
          #expect(reply.text.contains("Acme &lt;b&gt;&quot;&amp; Co") && !reply.text.contains("lars"))
        }
      }
      #expect(try await page.count() == 0)
    }
  }

  @Test func `The button ends marketing for this contact alone, and can be taken back there`() async throws {
    try await withPage { page in
      for _ in 0..<2 {
        let reply = try await page.post(Self.unsubscribe)
        #expect(reply.status == 200 && reply.text.contains("You are unsubscribed"))
        #expect(reply.text.contains(#"name="subscribe" value="again""#) && !reply.text.contains("One-Click"))
      }
      #expect(try await page.count() == 1)
      let list = try await page.database.query("SELECT kind, scope, by_page, reason, until FROM suppression")[0]
      let (kind, scope, byPage, reason, until) = try list.decode(
        String.self, String.self, Bool.self, String.self, Date?.self)
      #expect(kind == "contact" && scope == "marketing" && byPage && reason == "unsubscribed" && until == nil)
      #expect(try await page.suppressions.subscription(of: ContactID(2), page.customer) == .subscribed)
      for _ in 0..<2 {
        let reply = try await page.post(Self.subscribe)
        #expect(reply.status == 200 && reply.text.contains("One-Click"))
      }
      #expect(try await page.count() == 0)
    }
  }

  @Test func `A program unsubscribes with one click, by either form of RFC 8058, and is not redirected`() async throws {
    try await withPage { page in
      let parts = "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n"
      let reply = try await page.post(parts, type: "multipart/form-data; boundary=b")
      #expect(reply.status == 200)
      #expect(try await page.count() == 1)
      _ = try await page.post(Self.subscribe)
      #expect(try await page.post("List%2DUnsubscribe=One%2DClick").status == 200)
      #expect(try await page.count() == 1)
    }
  }

  @Test(arguments: [
    "", "x", "List-Unsubscribe=One-click", "list-unsubscribe=One-Click", "subscribe=", "subscribe=again%00",
    "unsubscribe=1",
  ])
  func `A POST that asks for neither changes nothing`(body: String) async throws {
    try await withPage { page in
      for reply in [
        try await page.post(body), try await page.post(Self.unsubscribe, type: "text/plain"),
        try await page.post(Self.unsubscribe, type: "application/json"),
      ] { #expect(reply.status == 400) }
      #expect(try await page.count() == 0)
    }
  }

  @Test func `A body that is too long is refused`() async throws {
    try await withPage { page in
      let body = "\(Self.unsubscribe)&x=\(String(repeating: "x", count: 17 * 1024))"
      let reply = try await page.post(body)
      #expect(reply.status == 413)
      #expect(try await page.count() == 0)
    }
  }

  @Test func `A forged address is a plain 404 and changes nothing`() async throws {
    try await withPage { page in
      let token = page.token
      let push = PushLink(customer: page.customer, sendout: SendoutID(1), push: PushNumber(1), device: DeviceID(1))
      let otherHub = LinkSigner(keys: [1: [UInt8](repeating: 7, count: 32)])
      let last = try #require(token.last)
      let tokens = [
        String(token.dropLast() + (last == "A" ? "B" : "A")), String(token.dropLast()), token + "A", "x", "1",
        otherHub.token(for: ContactLink(customer: page.customer, contact: ContactID(1))),
        page.signer.token(for: push, .page), page.signer.token(for: push, .read), String(repeating: "A", count: 5000),
      ]
      for token in tokens {
        let shown = try await page.server.send("GET", "/u/\(token)")
        let changed = try await page.post(Self.unsubscribe, to: "/u/\(token)")
        for reply in [shown, changed] {
          #expect(reply.status == 404 && reply.text.contains("There is nothing here"), "\(token)")
          #expect(reply.header("Content-Type") == "text/html; charset=utf-8")
        }
        // Whether an address is good is not told by what its body is.
        #expect(try await page.post("x", to: "/u/\(token)").status == 404)
      }
      #expect(try await page.count() == 0)
    }
  }

  @Test func `The page of a contact that is gone is a 410, and one of another customer's says nothing`() async throws {
    try await withPage { page in
      _ = try await page.post(Self.unsubscribe)
      try await page.database.query("DELETE FROM contact WHERE contact_id = 1")
      let shown = try await page.server.send("GET", page.path)
      let (again, back) = (try await page.post(Self.unsubscribe), try await page.post(Self.subscribe))
      #expect(shown.status == 410 && again.status == 410 && back.status == 410)
      #expect(!shown.text.contains("<form"))
      #expect(try await page.count() == 1)
      let other = page.signer.token(for: ContactLink(customer: CustomerID(99), contact: ContactID(2)))
      #expect(try await page.post(Self.unsubscribe, to: "/u/\(other)").status == 410)
      #expect(try await page.count() == 1)
    }
  }

  @Test func `What the customer has suppressed is not lifted there, and no button says so`() async throws {
    try await withPage { page in
      try await page.database.query(
        "INSERT INTO contact (customer_id, contact_id, original_id) VALUES ($1::bigint, 3, '0031612345678')",
        page.customer.rawValue)
      _ = try await page.suppressions.add(page.customer, .contact(originalID: "lars"), .marketing)
      _ = try await page.suppressions.add(
        page.customer, .number(try #require(PhoneNumber("0031612345678"))), .marketing)
      for contact in [1, 3] {
        let path =
          "/u/\(page.signer.token(for: ContactLink(customer: page.customer, contact: ContactID(Int64(contact)))))"
        #expect(try await !page.server.send("GET", path).text.contains("<form"))
        let reply = try await page.post(Self.subscribe, to: path)
        #expect(reply.status == 200 && reply.text.contains("You are unsubscribed") && !reply.text.contains("<form"))
      }
      #expect(try await page.count() == 2)
    }
  }

  @Test func `The page keeps to itself: no script, no cookie, no frame, no referrer, forms to itself alone`()
    async throws
  {
    var settings = PageSettings()
    settings.frameAncestors = "https://example.com"
    try await withPage(settings: settings) { page in
      for reply in [try await page.server.send("GET", page.path), try await page.post(Self.unsubscribe)] {
        #expect(
          reply.header("Content-Security-Policy")
            == "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "
            + "frame-ancestors 'none'")
        #expect(reply.header("Cache-Control") == "no-store" && reply.header("Referrer-Policy") == "no-referrer")
        #expect(reply.header("Set-Cookie") == nil && reply.header("X-Content-Type-Options") == "nosniff")
        #expect(!reply.text.contains("<script") && !reply.text.contains("onclick"))
        #expect(reply.text.contains(#"<html lang="en">"#) && reply.text.contains("prefers-color-scheme: dark"))
        #expect(reply.text.components(separatedBy: "<h1>").count == 2)
      }
    }
  }

  @Test func `An address is used only as often as the hub's settings allow`() async throws {
    var settings = PageSettings()
    settings.requestsPerLink = 1
    try await withPage(settings: settings) { page in
      let replies = [try await page.server.send("GET", page.path), try await page.server.send("GET", page.path)]
      // The second may come a second later on a slow machine.
      #expect(replies[0].status == 200 && [200, 429].contains(replies[1].status))
      if replies[1].status == 429 { #expect(replies[1].header("Retry-After") != nil) }
    }
  }
}
