import Content
import DataInOut
import Foundation
import Operations
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Web
import Wire

@Suite struct RichPageTests {
  @Test func `A page is rendered for its device and user, and nothing of it is let loose`() async throws {
    let template = """
      <h1>Hi {{firstName}}</h1><p>{{device.model}} {{app.name}} {{sendout.name}} {{sendout.alert}}
      {{sendout.fields.campaign}} {{food}} {{nothing}}</p><a href="{{url}}">{{pushreadurl}}</a>
      """
    try await withPages(template) { pages in
      try await pages.bench.database.query(
        "UPDATE contact SET properties = $1::json WHERE first_name = 'N2'", JSONDocument(#"{"food":"<script>\"&"}"#))
      let reply = try await pages.server.send("GET", pages.page(1))
      #expect(reply.status == 200)
      #expect(
        reply.text == """
          <h1>Hi N2</h1><p>iPhone Acme Offer Hello N2
          autumn &lt;script&gt;&quot;&amp; </p><a href="\(pages.bench.links.page(pages.link(1)))">\
          \(pages.bench.links.read(pages.link(1)))</a>
          """)
      #expect(reply.header("Content-Type") == "text/html; charset=utf-8")
      #expect(
        reply.header("Content-Security-Policy")
          == "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; base-uri 'none'; "
          + "form-action 'none'; frame-ancestors 'none'")
      #expect(reply.header("Cache-Control") == "no-store")
      #expect(reply.header("X-Content-Type-Options") == "nosniff")
      #expect(reply.header("Referrer-Policy") == "no-referrer")
    }
  }

  @Test func `Pages are of their template's own type, and keep the version they were sent with`() async throws {
    try await withPages(#"{"name":"{{firstName}}"}"#, format: .json) { pages in
      _ = try await Templates(pages.bench.pool).put(pages.bench.customer, name: "offer", format: .text, body: "new")
      let reply = try await pages.server.send("GET", pages.page(0))
      #expect(reply.header("Content-Type") == "application/json")
      #expect(reply.text == #"{"name":"N1"}"#)
    }
  }

  @Test func `Who may show a page in a frame is a setting`() async throws {
    var settings = PageSettings()
    settings.frameAncestors = "http://localhost:8081"
    try await withPages(settings: settings) { pages in
      let policy = try await pages.server.send("GET", pages.page(0)).header("Content-Security-Policy")
      #expect(policy?.hasSuffix("frame-ancestors http://localhost:8081") == true)
    }
  }

  @Test func `A phone that changed hands shows nothing of its former user`() async throws {
    try await withPages { pages in
      try await pages.bench.database.query(
        "UPDATE device SET contact_id = (SELECT contact_id FROM device WHERE device_id = $1::bigint) WHERE device_id = $2",
        pages.devices[1].rawValue, pages.devices[0].rawValue)
      let reply = try await pages.server.send("GET", pages.page(0))
      #expect(reply.status == 404)
      #expect(!reply.text.contains("N1") && !reply.text.contains("N2"))
      #expect(try await pages.server.send("GET", pages.page(1)).text == "<h1>Hi N2</h1>")
    }
  }

  @Test func `Links of somebody who was erased are gone, and count no more opens of people`() async throws {
    try await withPages { pages in
      let originalID = try await pages.bench.database.query(
        "SELECT original_id FROM contact JOIN device USING (customer_id, contact_id) WHERE device_id = $1::bigint",
        pages.devices[0].rawValue)[0].decode(String.self)
      _ = try await pages.bench.pool.transaction { transaction in
        try await Erasures(transaction, PersonalTables.all).erase(pages.bench.customer, originalID)
      }
      #expect(try await pages.server.send("GET", pages.page(0)).status == 410)
      #expect(try await pages.server.send("GET", pages.read(0)).status == 410)
      #expect(try await pages.server.send("GET", pages.page(1)).status == 200)
      #expect(try await pages.server.send("GET", pages.read(1)).status == 204)
      #expect(try await pages.opened() == 1)
    }
  }

  @Test func `A sendout without a template has no pages`() async throws {
    try await withPages(nil) { pages in
      let page = try await pages.server.send("GET", pages.page(0))
      #expect(page.status == 404)
      #expect(try await pages.server.send("GET", pages.read(0)).status == 204)
    }
  }

  @Test func `A token that is not the hub's, or not of that kind, opens a plain 404`() async throws {
    try await withPages { pages in
      let good = pages.page(0)
      let last = try #require(good.last)
      let tampered = good.dropLast() + (last == "A" ? "B" : "A")
      let otherHub = LinkSigner(keys: [1: [UInt8](repeating: 7, count: 32)]).token(for: pages.link(0), .page)
      let paths = [
        String(tampered), "/c/\(otherHub)", "/c/x", "/c/" + String(repeating: "A", count: 5000),
        pages.page(0).replacing("/c/", with: "/r/"), pages.read(0).replacing("/r/", with: "/c/"),
      ]
      for path in paths {
        for method in ["GET", "HEAD"] {
          let reply = try await pages.server.send(method, path)
          #expect(reply.status == 404, "\(path)")
          #expect(reply.header("Content-Type") == "text/html; charset=utf-8", "\(path)")
          #expect(reply.header("Content-Security-Policy") != nil)
          #expect(method == "HEAD" ? reply.body.isEmpty : reply.text.contains("There is nothing here"))
        }
      }
      for path in ["/c/%00", "/c/%ff", "/c/", "/c", "/r/%2e%2e/x"] {
        let reply = try await pages.server.send("GET", path)
        #expect(reply.status == 404)
      }
      #expect(try await pages.events().isEmpty)
    }
  }

  @Test func `A push that is gone from the ledger looks like one that never was`() async throws {
    try await withPages { pages in
      try await pages.bench.database.query("DELETE FROM push")
      #expect(try await pages.server.send("GET", pages.page(0)).status == 404)
      #expect(try await pages.server.send("GET", pages.read(0)).status == 404)
      #expect(try await pages.events().isEmpty)
    }
  }

  @Test func `Other methods are refused`() async throws {
    try await withPages { pages in
      for path in [pages.page(0), pages.read(0)] {
        let reply = try await pages.server.send("POST", path, json: "{}")
        #expect(reply.status == 405)
        #expect(reply.header("Allow") == "GET, HEAD")
      }
    }
  }
}
