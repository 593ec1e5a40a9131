import Foundation
import Hummingbird
import Support
import Locking
import Testing

@testable import Web

/// How replies go over the wire.
@Suite struct ReplyTests {
  private let last = "GET /short HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  @Test(arguments: [204, 304])
  func `A status without a body has none, and no length`(status: Int) async throws {
    try await withTestWebServer([Replies()]) { server in
      let reply = try await RawHTTP(server.url).send("GET /status/\(status) HTTP/1.1\r\nHost: x\r\n\r\n\(last)")
      let text = try #require(reply?.text)
      let first = text.components(separatedBy: "HTTP/1.1 200")[0]
      #expect(first.hasPrefix("HTTP/1.1 \(status) ") && first.hasSuffix("\r\n\r\n"))
      #expect(!first.lowercased().contains("content-length"))
      #expect(text.hasSuffix("short"))
    }
  }

  @Test func `A reply that is more than the system takes comes whole, and the next request is answered`() async throws {
    try await withTestWebServer([Replies()]) { server in
      let reply = try await RawHTTP(server.url).send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n\(last)")
      let text = try #require(reply?.text)
      #expect(text.contains("\r\nContent-Length: \(Replies.long)\r\n"))
      #expect(text.utf8.count { $0 == UInt8(ascii: "~") } == Replies.long)
      #expect(text.hasSuffix("short"))
    }
  }

  @Test(arguments: ["/held", "/fast/held"])
  func `A client that takes too long for a large reply is cut off, and its memory is given back`(path: String)
    async throws
  {
    var settings = WebServerSettings()
    settings.limits.largeReply = .milliseconds(200)
    settings.limits.window = .milliseconds(100)
    // Any progress is enough, even none. So only the time for the whole reply ends the connection.
    settings.limits.minimumBytes = 0
    let replies = Replies()
    try await withTestWebServer([replies], settings: settings) { server in
      let raw = try RawHTTP(server.url)
      #expect(try await raw.isCutOff("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n"))
    }
    try await waitUntil { replies.released.withLock(\.self) == 1 }
  }
}

/// Replies of several lengths.
private struct Replies: RouteSet {
  /// More bytes than the system takes for a client that reads none.
  static let long = 1 << 25
  let released = Counter()

  final class Counter: Sendable {
    private let count = Mutex(0)
    func withLock<Answer: Sendable>(_ body: (inout Int) -> Answer) -> Answer { count.withLock { body(&$0) } }
  }

  /// Stands for the memory of a reply.
  private final class Memory: Sendable {
    let released: Counter
    init(_ released: Counter) { self.released = released }
    deinit { released.withLock { $0 += 1 } }
  }

  private static let body = ByteBuffer(repeating: UInt8(ascii: "~"), count: long)

  func addRoutes(to routes: RouteTable) {
    routes.get("/short") { _, _ in Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "short"))) }
    routes.get("/status/{code}") { _, context in
      let code = try context.parameters.require("code", as: Int.self)
      return Response(status: .init(code: code), body: .init(byteBuffer: ByteBuffer(string: "not to be sent")))
    }
    routes.get("/long") { _, _ in Response(status: .ok, body: ResponseBody(byteBuffer: Self.body)) }
    routes.get("/held") { _, _ in JSONReply.make(bytes: Self.body, holding: Memory(released)) }
    routes.fast(.get, "/fast/{name}", bound: .noKey) { [released] _, answer in
      answer { JSONReply.make(bytes: Self.body, holding: Memory(released)) }
    }
  }
}
