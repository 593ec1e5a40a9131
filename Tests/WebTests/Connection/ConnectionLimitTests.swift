import NIOCore
import Support
import Testing

@testable import Web

@Suite struct ConnectionLimitTests {
  private var limits: ConnectionLimits {
    var limits = ConnectionLimits()
    limits.minimumBytes = 100
    return limits
  }
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  @Test func `A body has to move its bytes in each window`() {
    var monitor = ProgressMonitor(limits)
    for (received, isStalled) in [(0, false), (100, false), (200, false), (299, true)] {
      #expect(monitor.isStalled(.body(request: 1, received: received), at: start) == isStalled)
    }
  }

  @Test func `A reply has to be taken in each window, and a new one has a window of its own`() {
    var monitor = ProgressMonitor(limits)
    let waits: [(ProgressMonitor.Wait, Bool)] = [
      (.reply(request: 1, taken: 0), false), (.reply(request: 2, taken: 10), false),
      (.body(request: 3, received: 0), false), (.reply(request: 3, taken: 20), false),
      (.none, false), (.reply(request: 3, taken: 20), false), (.reply(request: 3, taken: 119), true),
    ]
    for (wait, isStalled) in waits { #expect(monitor.isStalled(wait, at: start) == isStalled) }
  }

  @Test func `A reply that is made as it is taken may rest for a minute, and any byte begins another one`() {
    var monitor = ProgressMonitor(limits)
    let checks: [(seconds: Int64, taken: Int, isStalled: Bool)] = [
      (0, 0, false), (15, 0, false), (59, 0, false), (60, 1, false), (75, 1, false), (119, 1, false), (120, 1, true),
    ]
    for check in checks {
      let isStalled = monitor.isStalled(.stream(request: 1, taken: check.taken), at: start + .seconds(check.seconds))
      #expect(isStalled == check.isStalled, "\(check)")
    }
    // The next reply has a minute of its own.
    let isNextStalled = monitor.isStalled(.stream(request: 2, taken: 1), at: start + .seconds(121))
    #expect(!isNextStalled)
  }

  @Test func `A request and its head have a time of their own`() {
    var monitor = ProgressMonitor(limits)
    for (seconds, isStalled) in [(74, false), (75, true)] {
      #expect(monitor.isStalled(.request(since: start), at: start + .seconds(Int64(seconds))) == isStalled)
    }
    for (seconds, isStalled) in [(19, false), (20, true)] {
      #expect(monitor.isStalled(.head(since: start), at: start + .seconds(Int64(seconds))) == isStalled)
    }
  }

  @Test func `Addresses are told apart, those of one IPv6 network are not`() throws {
    func address(_ text: String) throws -> IPAddress {
      IPAddress(try SocketAddress(ipAddress: text, port: 1)).client
    }
    #expect(try address("10.0.0.1") == address("10.0.0.1"))
    #expect(try address("10.0.0.1") != address("10.0.0.2"))
    #expect(try address("2001:db8::1") == address("2001:db8::2"))
    #expect(try address("2001:db8::1") != address("2001:db8:0:1::1"))
    #expect(try address("::ffff:10.0.0.1") == address("10.0.0.1"))
  }

  @Test(arguments: [
    ("192.0.2.9", ["198.51.100.7"], "192.0.2.9"),  // nobody's word counts but the proxies'
    ("127.0.0.1", [], "127.0.0.1"),
    ("127.0.0.1", ["198.51.100.7"], "198.51.100.7"),
    ("::ffff:127.0.0.1", ["198.51.100.7"], "198.51.100.7"),
    ("127.0.0.1", ["203.0.113.1, 198.51.100.7 ,10.1.2.3"], "198.51.100.7"),  // the client wrote the first one
    ("127.0.0.1", ["203.0.113.1", "198.51.100.7, 10.1.2.3"], "198.51.100.7"),
    ("127.0.0.1", ["10.1.2.3, 10.1.2.4"], "10.1.2.3"),
    ("127.0.0.1", ["203.0.113.1, unknown, 10.1.2.3"], "10.1.2.3"),
    ("127.0.0.1", ["unknown"], "127.0.0.1"), ("127.0.0.1", [",,"], "127.0.0.1"),
    ("127.0.0.1", ["198.51.100.7, ", ""], "198.51.100.7"),
    ("127.0.0.1", ["198.51.100.7" + String(repeating: ",10.0.0.1", count: 1000)], "10.0.0.1"),
    ("127.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
    ("fd00::1", ["[2001:db8::1]:4711"], "2001:db8::1"), ("fd00::1", ["2001:DB8:0::1"], "2001:db8::1"),
    ("fe00::1", ["2001:db8::1"], "fe00::1"),
  ])
  func `The client is the last address that is no trusted proxy's`(
    peer: String, forwarded: [String], client: String
  ) throws {
    let proxies = try #require(TrustedProxies("127.0.0.1, 10.0.0.0/8,fd00::/8"))
    #expect(proxies.client(of: try #require(IPAddress(peer)), forwarded).description == client)
    #expect(TrustedProxies().client(of: try #require(IPAddress(peer)), forwarded) == IPAddress(peer))
  }

  @Test(arguments: ["", "localhost", "10.0.0.0/33", "10.0.0.0/-1", "::1/129", "10.0.0.0/8,", "10.0.0.0/x", "10.0.0"])
  func `What is no address or network is refused`(text: String) { #expect(TrustedProxies(text) == nil) }

  @Test func `A network of no bits holds all addresses of its kind`() throws {
    for (network, inside) in [("0.0.0.0/0", "192.0.2.9"), ("::/0", "2001:db8::1")] {
      #expect(try #require(TrustedProxies(network)).contains(try #require(IPAddress(inside))))
    }
    #expect(!(try #require(TrustedProxies("0.0.0.0/0")).contains(try #require(IPAddress("2001:db8::1")))))
  }

  @Test func `Chunks may cost a few bytes each, and no more`() {
    var framing = ChunkFraming()
    framing.begin(RequestFraming(bodyBytes: nil, keepsAlive: true))
    for _ in 0..<100_000 {
      framing.receive(raw: 6)
      framing.receive(payload: 1)
    }
    #expect(!framing.isExcessive)
    framing.receive(raw: ChunkFraming.allowance + 400_000)
    #expect(framing.isExcessive)
    framing.begin(RequestFraming(bodyBytes: 1 << 30, keepsAlive: true))
    framing.receive(raw: 1 << 30)
    #expect(!framing.isExcessive)
  }
}

@Suite struct RateLimiterTests {
  private let start = ContinuousClock.now

  @Test func `A second's worth may come at once, and then as many as the rate says`() {
    var limiter = RateLimiter<String>(rate: 10)
    for _ in 0..<10 { #expect(limiter.take("a", at: start) == nil) }
    #expect(limiter.take("a", at: start) == .milliseconds(100))
    #expect(limiter.take("b", at: start) == nil)
    #expect(limiter.take("a", at: start + .milliseconds(99)) == .milliseconds(1))
    #expect(limiter.take("a", at: start + .milliseconds(100)) == nil)
    #expect(limiter.take("a", at: start + .milliseconds(100)) != nil)
    for _ in 0..<10 { #expect(limiter.take("a", at: start + .seconds(9)) == nil) }
    #expect(limiter.take("a", at: start + .seconds(9)) != nil)
  }

  @Test func `The table is bounded, and forgets full buckets first`() {
    var limiter = RateLimiter<Int>(rate: 1, capacity: 100)
    for key in 0..<50 { _ = limiter.take(key, at: start) }
    for key in 50..<1000 {
      _ = limiter.take(key, at: start + .seconds(10))
      #expect(limiter.count <= 100)
    }
    limiter = RateLimiter(rate: 1, capacity: 100)
    for key in 0..<99 { _ = limiter.take(key, at: start) }
    _ = limiter.take(-1, at: start + .seconds(10))
    _ = limiter.take(-2, at: start + .seconds(10))
    #expect(limiter.count == 2)
    #expect(limiter.take(-1, at: start + .seconds(10)) != nil)
  }
}
