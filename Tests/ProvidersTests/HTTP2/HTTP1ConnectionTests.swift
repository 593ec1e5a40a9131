import FoundationEssentials
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// How connections of HTTP/1.1 begin, are used and break, over TLS.
@Suite struct HTTP1ConnectionTests {
  @Test(arguments: [["http/1.1"], ["http/1.1", "h2"], []])
  func `Requests go one at a time over connections that are kept`(protocols: [String]) async throws {
    try await withAPNs(simulator: { $0.wnsProtocols = protocols }) { simulator, services in
      let account = services.windows(simulator)
      for number in 1...3 { #expect(await account.verdicts(simulator, ["a\(number)"]) == [.accepted]) }
      #expect(Set(simulator.wns.requests.map(\.connection)).count == 1)
      #expect(simulator.wns.requests.map(\.stream) == [1, 3, 5])
      #expect(simulator.wns.requests.allSatisfy { $0.header("transfer-encoding") == nil })
    }
  }

  @Test func `A backlog opens more connections, up to the service's limit, and each has one request`() async throws {
    try await withAPNs { simulator, services in
      simulator.wns.rule(.any, .ignore, times: 16)
      async let verdicts = services.windows(simulator).verdicts(simulator, (0..<40).map { "a\($0)" })
      let received = await simulator.wns.received(count: 16)
      #expect(Set(received.map(\.connection)).count == 16)
      // Its token came on another one, which was closed.
      #expect(simulator.wns.openConnections == 16)
      simulator.wns.answerIgnored()
      #expect(Set(await verdicts) == [.accepted])
      #expect(simulator.wns.count == 40)
      #expect(simulator.wns.connectionsOpened == 17)
    }
  }

  @Test func `Where TLS chooses HTTP/2, all requests share a connection`() async throws {
    try await withAPNs(simulator: { $0.wnsProtocols = ["h2"] }) { simulator, services in
      simulator.wns.rule(.any, .ignore, times: 40)
      async let verdicts = services.windows(simulator).verdicts(simulator, (0..<40).map { "a\($0)" })
      let received = await simulator.wns.received(count: 40)
      #expect(Set(received.map(\.connection)).count == 1)
      simulator.wns.answerIgnored()
      #expect(Set(await verdicts) == [.accepted])
    }
  }

  @Test func `A request whose connection closes before its response is uncertain, and the others are sent`()
    async throws
  {
    try await withAPNs { simulator, services in
      simulator.wns.rule(.prefix("lost"), .cut)
      let verdicts = await services.windows(simulator).verdicts(simulator, ["a", "lost", "b"])
      #expect(verdicts == [.accepted, .uncertain(reason: "ConnectionClosed"), .accepted])
    }
  }

  @Test func `A server that closes connections between requests is given new ones`() async throws {
    try await withAPNs { simulator, services in
      let account = services.windows(simulator)
      for number in 1...3 {
        #expect(await account.verdicts(simulator, ["a\(number)"]) == [.accepted])
        simulator.wns.goAway()
        try await waitUntil { simulator.wns.openConnections == 0 }
      }
      #expect(Set(simulator.wns.requests.map(\.connection)).count == 3)
    }
  }

  @Test func `A connection whose response says that it is the last takes no other request`() async throws {
    try await withAPNs { simulator, services in
      let account = services.windows(simulator)
      simulator.wns.rule(.prefix("a"), .ignore, times: 1)
      async let first = account.verdicts(simulator, ["a"])
      _ = await simulator.wns.received(count: 1)
      simulator.wns.goAway()
      simulator.wns.answerIgnored()
      #expect(await first == [.accepted])
      let second = await account.verdicts(simulator, ["b"])
      #expect(second == [.accepted])
      #expect(Set(simulator.wns.requests.map(\.connection)).count == 2)
    }
  }

  @Test func `A request that is not answered in time is uncertain, and its connection is given up`() async throws {
    try await withAPNs(provider: { $0.requestTimeout = .seconds(3) }) { simulator, services in
      let account = services.windows(simulator)
      // The access token has the same limit, which a busy machine may take.
      try await waitUntil { await account.verdicts(simulator, ["first"]) == [.accepted] }
      simulator.wns.rule(.prefix("late"), .ignore)
      #expect(await account.verdicts(simulator, ["late"]) == [.uncertain(reason: "RequestTimeout")])
      #expect(await account.verdicts(simulator, ["late"]) == [.uncertain(reason: "RequestTimeout")])
      #expect(Set(simulator.wns.requests.suffix(2).map(\.connection)).count == 2)
    }
  }

  @Test func `A service that is to speak HTTP/2 is not asked in HTTP/1.1`() async throws {
    try await withAPNs(
      simulator: { $0.wnsProtocols = ["http/1.1"] },
      provider: {
        $0.connectAttempts = 1
        $0[.hmsURL] = $0[.wnsTokenURL]
      }
    ) { simulator, services in
      let account = services.huawei(simulator)
      guard
        case .request(let request) = account.prepare(
          OutgoingPush(token: "token-1", id: UUID(), message: RenderedMessage()))
      else { throw CancellationError() }
      for await outcomes in account.send([request], to: .production, while: { true }) {
        for outcome in outcomes {
          guard case .unsent = outcome.verdict else {
            Issue.record("\(outcome.verdict)")
            continue
          }
        }
      }
      #expect(simulator.wns.count == 0)
    }
  }
}
