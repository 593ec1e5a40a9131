import Foundation
import Hummingbird
import Support
import Locking
import Testing
import Web

/// How replies go over the wire.
@Suite struct ReplyTests {
  private let last = "GET /short HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  @Test func `A reply of unknown length comes in chunks, and the next request is answered`() async throws {
    try await withTestWebServer([Streams()]) { server in
      let reply = try await RawHTTP(server.url).send("GET /unknown HTTP/1.1\r\nHost: x\r\n\r\n\(last)")
      let text = try #require(reply?.text)
      #expect(text.lowercased().contains("\r\ntransfer-encoding: chunked\r\n"))
      #expect(!text.lowercased().contains("content-length: 8"))
      #expect(text.contains("\r\n\r\n3\r\none\r\n5\r\ntwo!!\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"), "\(text)")
      #expect(text.hasSuffix("short"))
    }
  }

  @Test func `A client of HTTP-1-0 gets a reply of unknown length until the connection closes`() async throws {
    try await withTestWebServer([Streams()]) { server in
      let reply = try await RawHTTP(server.url).send(
        untilClosed: "GET /unknown HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      let text = try #require(reply?.text)
      #expect(text.contains("\r\nConnection: close\r\n"))
      #expect(!text.contains("chunked"))
      #expect(text.hasSuffix("\r\n\r\nonetwo!!"))
    }
  }

  @Test(arguments: [204, 304])
  func `A status without a body has none, and no length`(status: Int) async throws {
    try await withTestWebServer([Streams()]) { server in
      let reply = try await RawHTTP(server.url).send("GET /status/\(status) HTTP/1.1\r\nHost: x\r\n\r\n\(last)")
      let text = try #require(reply?.text)
      let first = text.components(separatedBy: "HTTP/1.1 200")[0]
      #expect(first.hasPrefix("HTTP/1.1 \(status) ") && first.hasSuffix("\r\n\r\n"))
      #expect(!first.lowercased().contains("content-length"))
      #expect(text.hasSuffix("short"))
    }
  }

  @Test func `A long reply is made no faster than its client reads, and comes whole`() async throws {
    let streams = Streams()
    try await withTestWebServer([streams]) { server in
      let request = "GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
      let reply = try await RawHTTP(server.url).send(
        request,
        pausing: {
          var before = -1
          while before < 1 || before != streams.made.withLock(\.self) {
            before = streams.made.withLock(\.self)
            Thread.sleep(forTimeInterval: 0.5)
          }
          // What the system keeps for both ends of a connection is a few MiB.
          #expect((1...512).contains(before), "\(before) pieces")
        })
      #expect(streams.made.withLock(\.self) == Streams.pieces)
      #expect(reply?.text.utf8.count { $0 == UInt8(ascii: "~") } == Streams.pieces * Streams.piece)
    }
  }

  @Test func `A reply that breaks off ends the connection before its end`() async throws {
    try await withTestWebServer([Streams()]) { server in
      let reply = try await RawHTTP(server.url).send(untilClosed: "GET /broken HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(reply?.text.hasSuffix("0\r\n\r\n") == false)
    }
  }
}

/// Replies of all lengths.
private struct Streams: RouteSet {
  struct Broken: Error {}

  static let pieces = 1024
  static let piece = 64 * 1024
  let made = Counter()

  final class Counter: Sendable {
    private let count = Mutex(0)
    func withLock<Answer: Sendable>(_ body: (inout Int) -> Answer) -> Answer { count.withLock { body(&$0) } }
  }

  func addRoutes(to routes: RouteTable) {
    routes.get("/short") { _, _ in Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "short"))) }
    routes.get("/unknown") { _, _ in
      Response(
        status: .ok,
        body: ResponseBody { writer in
          for piece in ["one", "two!!"] { try await writer.write(ByteBuffer(string: piece)) }
          try await writer.finish(nil)
        })
    }
    routes.get("/status/{code}") { _, context in
      let code = try context.parameters.require("code", as: Int.self)
      return Response(status: .init(code: code), body: .init(byteBuffer: ByteBuffer(string: "not to be sent")))
    }
    routes.get("/long") { _, _ in
      Response(
        status: .ok,
        body: ResponseBody(contentLength: Self.pieces * Self.piece) { writer in
          let piece = ByteBuffer(repeating: UInt8(ascii: "~"), count: Self.piece)
          for _ in 0..<Self.pieces {
            try await writer.write(piece)
            made.withLock { $0 += 1 }
          }
          try await writer.finish(nil)
        })
    }
    routes.get("/broken") { _, _ in
      Response(
        status: .ok,
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(repeating: 1, count: 100_000))
          throw Broken()
        })
    }
  }
}
