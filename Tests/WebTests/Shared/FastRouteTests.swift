import Foundation
import HTTPTypes
import Hummingbird
import Locking
import Logging
import NIOCore
import Operations
import Support
import Testing

@testable import Web

/// Routes that are answered from the event loop.
@Suite struct FastRouteTests {
  private let end = "GET /w/last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  @Test(arguments: ["GET", "HEAD"])
  func `A request gets the same reply from the event loop and from the router`(method: String) async throws {
    try await withTestWebServer([Words()]) { server in
      let raw = try RawHTTP(server.url)
      for word in ["hello", "later", "empty", "refuse", "fail"] {
        let field = "X-Colour: red\r\nX-Colour: blue"
        let fast = try await raw.send("\(method) /w/\(word) HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n")
        let whole = try await raw.send("\(method) http://x/w/\(word) HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n")
        let withBody = try await raw.send(
          "\(method) /w/\(word) HTTP/1.1\r\nHost: x\r\n\(field)\r\nContent-Length: 1\r\n\r\n!")
        let texts = [fast, whole, withBody].map { comparable($0?.text) }
        #expect(texts[0].hasPrefix("HTTP/1.1 "))
        #expect(Set(texts).count == 1, "\(texts)")
        if word == "hello", method == "GET" { #expect(texts[0].hasSuffix("hello in red, blue")) }
      }
    }
  }

  @Test func `A request with a query and one for the head alone are attempted by the router`() async throws {
    try await withTestWebServer([Words()]) { server in
      #expect(try await server.send("GET", "/far/away").text == "away, 0 bytes, attempt 1")
      #expect(try await server.send("GET", "/far/away?x=1").text == "away, 0 bytes, attempt 2")
      let head = try await server.send("HEAD", "/far/away")
      #expect(head.status == 200 && head.header("Content-Length") == "24")
    }
  }

  @Test func `An attempt has a short body at once, and is repeated when a long one has come`() async throws {
    try await withTestWebServer([Words()]) { server in
      #expect(try await server.send("PUT", "/far/away").text == "away, 0 bytes, attempt 1")
      for (size, attempt) in [(2, 1), (16_384, 1), (16_385, 2)] {
        let reply = try await server.send("PUT", "/far/away", json: String(repeating: "x", count: size))
        #expect(reply.text == "away, \(size) bytes, attempt \(attempt)")
      }
    }
  }

  @Test func `A task that is cancelled waits for no reply any more`() async throws {
    let (attempts, attempted) = AsyncStream.makeStream(of: Void.self)
    let unanswered = Mutex<FastCompletion?>(nil)
    let waiting = Task {
      let head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/w/never")
      var request = FastRequest(Request(head: head, body: RequestBody(buffer: ByteBuffer())), from: IPAddress(nil))
      return try await request.reply { _, answer in
        unanswered.withLock { $0 = answer }
        attempted.finish()
      }
    }
    for await _ in attempts {}
    waiting.cancel()
    await #expect(throws: CancellationError.self) { _ = try await waiting.value }
  }

  @Test func `What an attempt waits for is asked for once, and fails where it is needed`() async throws {
    try await withTestWebServer([Words()]) { server in
      for target in ["/w/waited", "/w/waited?through=router"] {
        #expect(try await server.send("GET", target).text == "waited in nothing")
        let lost = try await server.send("GET", target.replacing("waited", with: "lost"))
        #expect(lost.status == 404 && lost.error == "There is no such word.")
      }
    }
  }

  @Test func `A short body, one in chunks and one that waits to be asked for are answered in order`() async throws {
    try await withTestWebServer([Words()]) { server in
      let raw = try RawHTTP(server.url)
      let put = "PUT /far/away HTTP/1.1\r\nHost: x\r\n"
      let chunked = put + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
      let whole = put + "Content-Length: 3\r\n\r\nabc"
      let first = "PUT /far/home HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
      let reply = try await raw.send(
        first, waitFor: "HTTP/1.1 100 Continue\r\n\r\n", then: "abcd" + whole + chunked + whole + end)
      let bodies = reply?.text.components(separatedBy: "HTTP/1.1 ").dropFirst().map {
        $0.components(separatedBy: "\r\n\r\n").last ?? ""
      }
      #expect(
        bodies == [
          "home, 4 bytes, attempt 2", "away, 3 bytes, attempt 1", "away, 2 bytes, attempt 2",
          "away, 3 bytes, attempt 1",
          "last in nothing",
        ])
    }
  }

  @Test func `A short body that breaks off is a 400`() async throws {
    try await withTestWebServer([Words()]) { server in
      let reply = try await RawHTTP(server.url).send("PUT /far/away HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na")
      #expect(reply?.status == 400)
      #expect(reply?.text.contains("X-Request-Id: ") == true)
    }
  }

  @Test func `A value that is encoded, absent or followed by further segments goes to the router`() async throws {
    try await withTestWebServer([Words()]) { server in
      #expect(try await server.send("GET", "/w/a%20b").text == "a%20b in nothing")
      #expect(try await server.send("GET", "/w/a?b=c").text == "a in nothing")
      for path in ["/w", "/w/", "/w/a/b", "/w/a/", "//w/a"] {
        #expect(try await server.send("GET", path).status == 404, "\(path)")
      }
      let post = try await server.send("POST", "/w/a")
      #expect(post.status == 405)
      #expect(post.header("Allow") == "GET, HEAD")
    }
  }

  @Test func `Replies keep the order of their requests, however late one of them is`() async throws {
    try await withTestWebServer([Words()]) { server in
      let words = ["later", "one", "later", "empty", "two"]
      let requests = words.map { "GET /w/\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
      let reply = try await RawHTTP(server.url).send(requests + end)
      let bodies = reply?.text.components(separatedBy: "HTTP/1.1 ").dropFirst().map {
        $0.components(separatedBy: "\r\n\r\n").last ?? ""
      }
      #expect(
        bodies == ["later in nothing", "one in nothing", "later in nothing", "", "two in nothing", "last in nothing"])
    }
  }

  @Test func `A fast route leaves a log line with the request's id`() async throws {
    let log = LogCapture()
    var settings = WebServerSettings()
    settings.accessLogLevel = .info
    try await withTestWebServer([Words()], settings: settings, logger: log.logger) { server in
      let fine = try await server.send("GET", "/w/hello")
      let failed = try await server.send("GET", "/w/fail")
      #expect(failed.status == 500)
      let (fineID, failedID) = (fine.header("X-Request-Id") ?? "-", failed.header("X-Request-Id") ?? "-")
      #expect(failed.error?.contains(failedID) == true)
      let lines = log.lines.filter { $0.contains("/w/{word}") }
      #expect(lines.count { $0.contains("answered") && $0.contains(fineID) && $0.hasPrefix("info") } == 1)
      #expect(lines.count { $0.contains("answered") && $0.contains(failedID) && $0.hasPrefix("warning") } == 1)
      #expect(lines.count { $0.contains("request failed") && $0.contains("unforeseen") && $0.hasPrefix("error") } == 1)
      #expect(!log.lines.contains { $0.contains("/w/hello") })
    }
  }

  @Test func `A client that leaves before its reply does no harm`() async throws {
    let words = Words()
    try await withTestWebServer([words]) { server in
      let raw = try RawHTTP(server.url)
      async let gone = raw.send("GET /w/held HTTP/1.1\r\nHost: x\r\n\r\n", leaving: { words.isHolding })
      #expect(try await gone)
      words.release()
      #expect(try await server.send("GET", "/w/hello").status == 200)
    }
  }

  /// A reply without what differs from one to the next.
  private func comparable(_ text: String?) -> String {
    (text ?? "").split(separator: "\r\n", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("Date: ") && !$0.hasPrefix("X-Request-Id: ") && !$0.hasPrefix("Connection: ") }
      .map { $0.contains("request id") ? "{…}" : $0.hasPrefix("Content-Length") ? "Content-Length" : $0 }
      .joined(separator: "\r\n")
  }
}

/// A fast route that answers at once, later, when it is told to, or with an error.
private final class Words: RouteSet {
  enum Fault: Error { case unforeseen }

  private let held = Mutex<(@Sendable () -> Void)?>(nil)
  /// At the request that is being answered.
  private let attempts = Mutex(0)

  func addRoutes(to routes: RouteTable) {
    for method in [HTTPRequest.Method.get, .put] {
      routes.fast(method, "/far/{word}", bound: .noKey) { [self] request, answer in
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        let bytes = try request.bytes().readableBytes
        attempts.withLock { $0 = 0 }
        let text = "\(request.parameters[0]), \(bytes) bytes, attempt \(attempt)"
        answer { Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: text))) }
      }
    }
    for method in [HTTPRequest.Method.get, .head] { routes.fast(method, "/w/{word}", bound: .noKey, use: attempt) }
  }

  private func attempt(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let word = request.parameters[0]
    let text = "\(word) in \(request.header(.colour) ?? "nothing")"
    let reply = Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: text)))
    switch word {
    case "later": Task { answer { reply } }
    case "held": held.withLock { $0 = { answer { reply } } }
    case "empty": answer { Response(status: .noContent) }
    case "refuse": throw HTTPErrorResponse.notFound("There is no such word.")
    case "fail": answer { throw Fault.unforeseen }
    case "waited":
      guard request.found.apps != nil else { throw MustWait(\.apps) { [] } }
      answer { reply }
    case "lost":
      guard let found = request.found.apps else { throw MustWait(\.apps) { throw Fault.unforeseen } }
      guard (try? found.get()) != nil else { throw HTTPErrorResponse.notFound("There is no such word.") }
      answer { reply }
    default: answer { reply }
    }
  }

  var isHolding: Bool { held.withLock { $0 != nil } }

  func release() { held.withLock(\.self)?() }
}

extension HTTPField.Name {
  fileprivate static let colour = HTTPField.Name("X-Colour") ?? .accept
}
