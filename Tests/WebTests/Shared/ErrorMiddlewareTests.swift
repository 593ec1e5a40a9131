import Foundation
import Hummingbird
import Support
import Testing
import Web
import Wire

@Suite struct ErrorMiddlewareTests {
  @Test func `An unexpected error is a 500 with its request id, and one line in the log`() async throws {
    let log = LogCapture()
    try await withTestWebServer([Faulty()], logger: log.logger) { server in
      let reply = try await server.send("GET", "/faulty")
      #expect(reply.status == 500)
      let id = try #require(reply.header("X-Request-Id"))
      #expect(reply.error == "The hub failed. Its log has details under request id \(id).")
      #expect(log.lines.count { $0.hasPrefix("error") && $0.contains(id) && $0.contains("unforeseen") } == 1)
    }
  }

  @Test func `A reply without a body passes as it is, and names its request`() async throws {
    try await withTestWebServer([Faulty()]) { server in
      let reply = try await server.send("GET", "/fine")
      #expect(reply.status == 204)
      #expect(reply.header("X-Request-Id") != nil)
    }
  }

  @Test func `Each of several route sets answers its own paths`() async throws {
    try await withTestWebServer([Faulty(), Second()]) { server in
      let part = try await server.send("GET", "/second/%2F%20")
      #expect(part.text == "/ ")
      let post = try await server.send("POST", "/second/x")
      #expect(post.header("Allow") == "GET, HEAD")
      let other = try await server.send("GET", "/second")
      #expect(other.status == 405)
      let first = try await server.send("GET", "/fine")
      #expect(first.status == 204)
    }
  }

  @Test func `A body that cannot be decoded is refused by the path of its field, without its value`() async throws {
    try await withTestWebServer([Second()]) { server in
      for (json, sentence) in [
        (#"{"items":[{"count":1},{"count":"secret"}]}"#, "items[1].count must be a whole number."),
        (#"{"items":[{}]}"#, "items[0].count is missing."),
        (#"{"items":[{"count":null}]}"#, "items[0].count must be a whole number."),
        ("{", "The body is not well-formed JSON at byte 1."), (#"["secret"]"#, "The body must be an object."),
      ] {
        let reply = try await server.send("PUT", "/second", json: json)
        #expect(reply.status == 400)
        #expect(reply.error == sentence)
      }
    }
  }
}

/// Fails with an error that no room knows.
private struct Faulty: RouteSet {
  enum Fault: Error { case unforeseen }

  func addRoutes(to routes: RouteTable) {
    routes.get("/faulty") { _, _ -> Response in throw Fault.unforeseen }
    routes.get("/fine") { _, _ in Response(status: .noContent) }
  }
}

private struct Second: RouteSet {
  struct Body: APIRequest {
    struct Item: APIRequest {
      var count: Int

      static let schemaName: String? = nil
      static let schemaDescription = ""
      static let example = Item(count: 1)
      static let fieldTable: FieldTable = ["count": ""]
    }

    var items: [Item]

    static let schemaName: String? = nil
    static let schemaDescription = ""
    static let example = Body(items: [.example])
    static let fieldTable: FieldTable = ["items": ""]
  }

  func addRoutes(to routes: RouteTable) {
    routes.get("/second/{word}") { _, context in
      Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: try context.part("word"))))
    }
    routes.put("/second") { request, _ in
      _ = try await request.json(Body.self)
      return Response(status: .noContent)
    }
  }
}
