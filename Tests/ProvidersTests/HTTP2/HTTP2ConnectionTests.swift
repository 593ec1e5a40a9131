import FoundationEssentials
import NIOCore
import NIOPosix
import Providers
import Simulator
import Support
import Testing
import Wire

/// How connections begin and break, over TLS and HTTP/2.
@Suite struct ConnectionTests {
  private static func one(_ settings: inout PushServiceSettings) { settings.connectionsPerPool = 1 }

  @Test func `A new connection sends one push until it is answered`() async throws {
    try await withAPNs(provider: Self.one) { simulator, apns in
      simulator.apns.rule(.nth(1), .ignore)
      async let verdicts = apns.verdicts(APNsPush.samples(50))
      _ = await simulator.apns.received(count: 1)
      // A second connection would send a second push at once; this one is waiting.
      #expect(await apns.verdicts(APNsPush.samples(1), to: .sandbox) == [.accepted])
      #expect(simulator.apns.count == 2)
      simulator.apns.answerIgnored()
      #expect(Set(await verdicts) == [.accepted])
      #expect(simulator.apns.count == 51)
    }
  }

  @Test func `No more streams are open than the server allows`() async throws {
    try await withAPNs(simulator: { $0.streamLimits[.apns] = 7 }, provider: Self.one) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      simulator.apns.rule(.any, .ignore, times: 7)
      async let verdicts = apns.verdicts(APNsPush.samples(20))
      _ = await simulator.apns.received(count: 8)
      // The server would refuse an eighth; nothing was refused, so none was sent.
      #expect(simulator.apns.count == 8)
      simulator.apns.answerIgnored()
      #expect(Set(await verdicts) == [.accepted])
      #expect(simulator.apns.count == 21)
    }
  }

  @Test func `Pushes refused by a lowered limit are sent again, and counted once`() async throws {
    try await withAPNs(provider: Self.one) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      simulator.apns.rule(.any, .ignore, times: 20)
      async let verdicts = apns.verdicts(APNsPush.samples(20))
      _ = await simulator.apns.received(count: 21)
      simulator.apns.limitStreams(to: 5)
      simulator.apns.answerIgnored()
      #expect(Set(await verdicts) == [.accepted])
      // The fifteen that were refused came a second time.
      #expect(simulator.apns.count == 36)
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }

  @Test func `A push whose stream is always refused comes back unsent`() async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.rule(.any, .refuseStream)
      #expect(await apns.verdicts([.sample()]) == [.unsent(reason: "REFUSED_STREAM")])
      #expect(simulator.apns.count == 4)
    }
  }

  @Test func `GOAWAY tells pushes to be sent again from uncertain ones`() async throws {
    try await withAPNs(provider: Self.one) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      simulator.apns.rule(.any, .ignore, times: 10)
      let pushes = APNsPush.samples(10)
      async let verdicts = apns.verdicts(pushes)
      // Streams 3, 5, … 21: the first four may have been processed.
      let received = await simulator.apns.received(count: 11).suffix(10)
      #expect(received.map(\.stream).sorted() == Array(stride(from: 3, through: 21, by: 2)))
      simulator.apns.goAway(lastStream: 9, reason: "Shutdown")
      let again = await simulator.apns.received(count: 17).suffix(6)
      #expect(Set(again.map(\.token)) == Set(pushes.suffix(6).map(\.token)))
      #expect(Set(again.map(\.connection)) == [2])
      simulator.apns.cut()
      let uncertain = Verdict.uncertain(reason: "Shutdown")
      #expect(await verdicts == Array(repeating: uncertain, count: 4) + Array(repeating: .accepted, count: 6))
    }
  }

  @Test func `Streams up to GOAWAY's last one are still answered`() async throws {
    try await withAPNs(provider: Self.one) { simulator, apns in
      simulator.apns.rule(.nth(2), .goAway())
      let verdicts = await apns.verdicts(APNsPush.samples(100))
      #expect(Set(verdicts) == [.accepted], "\(verdicts.filter { $0 != .accepted })")
      #expect(simulator.apns.connectionsOpened == 2)
    }
  }

  @Test func `A GOAWAY that refuses the credentials is not retried`() async throws {
    try await withAPNs(provider: Self.one) { simulator, apns in
      simulator.apns.rule(.any, .goAway(reason: "BadCertificate"))
      #expect(await apns.verdicts([.sample()]) == [.credentialsRefused(reason: "BadCertificate")])
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }

  @Test func `On a cut connection sent pushes are uncertain, and the rest is sent on another`() async throws {
    try await withAPNs(provider: Self.one) { simulator, apns in
      simulator.apns.rule(.nth(1), .cut)
      let verdicts = await apns.verdicts(APNsPush.samples(20))
      #expect(verdicts.count { $0 == .accepted } == 19)
      #expect(verdicts.count { if case .uncertain = $0 { true } else { false } } == 1)
      #expect(simulator.apns.connectionsOpened == 2)
    }
  }

  @Test func `A reset stream is uncertain`() async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.rule(.nth(1), .resetStream)
      let verdicts = await apns.verdicts([.sample()])
      guard case .uncertain(let reason, isAnswered: false) = verdicts[0] else {
        Issue.record("\(verdicts)")
        return
      }
      #expect(reason.hasPrefix("RST_STREAM"))
      #expect(await apns.verdicts([.sample()]) == [.accepted])
    }
  }

  @Test func `An unanswered push becomes uncertain without delaying others`() async throws {
    try await withAPNs(provider: {
      $0.connectionsPerPool = 1
      $0.requestTimeout = .seconds(10)
    }) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      simulator.apns.rule(.prefix("dd"), .ignore)
      let pushes = [APNsPush.sample(token: "dd00")] + APNsPush.samples(10)
      #expect(
        await apns.verdicts(pushes)
          == [.uncertain(reason: "RequestTimeout")] + Array(repeating: .accepted, count: 10))
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }

  @Test func `Two connections share a backlog`() async throws {
    try await withAPNs(simulator: { $0.streamLimits[.apns] = 10 }) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      // The first connection is full of pushes without an answer; a second one opens for the rest.
      simulator.apns.rule(.any, .ignore, times: 10)
      async let first = apns.verdicts(APNsPush.samples(10))
      #expect(await simulator.apns.received(count: 11).allSatisfy { $0.connection == 1 })
      async let rest = apns.verdicts(APNsPush.samples(290))
      let received = await simulator.apns.received(count: 301)
      #expect(received.dropFirst(11).allSatisfy { $0.connection == 2 })
      simulator.apns.answerIgnored()
      #expect(Set(await first + rest) == [.accepted])
    }
  }

  @Test func `Connections are reused`() async throws {
    try await withAPNs { simulator, apns in
      for _ in 0..<5 { #expect(await apns.verdicts([.sample()]) == [.accepted]) }
      #expect(simulator.apns.connectionsOpened == 1)
      #expect(simulator.apns.openConnections == 1)
    }
  }

  @Test func `Keys and environments have connections of their own`() async throws {
    try await withAPNs { simulator, apns in
      let other = APNsCredentials.fresh(teamID: "OTHERTEAM0")
      try simulator.apns.trust(teamID: other.teamID, keyID: other.keyID, signingKey: other.signingKey)
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      #expect(await apns.verdicts([.sample()], as: other) == [.accepted])
      #expect(await apns.verdicts([.sample()], to: .sandbox) == [.accepted])
      #expect(simulator.apns.connectionsOpened == 3)
    }
  }

  @Test func `Without a server, pushes come back unsent`() async throws {
    try await withSimulator { simulator in
      let deaf = ClosedPort()
      var settings = PushServiceSettings(simulator, isPatient: false)
      settings[.apnsProductionURL] = "https://127.0.0.1:\(deaf.number)"
      try await withProvider(settings) { apns in
        #expect(
          await apns.verdicts(APNsPush.samples(3))
            == Array(repeating: .unsent(reason: "ConnectionRefused"), count: 3))
      }
    }
  }

  @Test func `Nothing is sent to a server of another certificate authority`() async throws {
    try await withSimulator { simulator in
      try await withSimulator { stranger in
        var settings = PushServiceSettings(simulator, isPatient: false)
        settings.caFile = stranger.caFile
        try await withProvider(settings) { apns in
          #expect(await apns.verdicts([.sample()]) == [.unsent(reason: "CertificateUntrusted")])
          #expect(simulator.apns.count == 0)
        }
      }
    }
  }

  @Test func `Nothing is sent to a host whose name is not in the certificate`() async throws {
    // 127.0.0.2 is this machine too, and in no certificate.
    try await withSimulator(configure: { $0.host = "127.0.0.2" }) { simulator in
      var settings = PushServiceSettings(simulator, isPatient: false)
      settings[.apnsProductionURL] = simulator.productionURL.replacing("localhost", with: "127.0.0.2")
      try await withProvider(settings) { apns in
        let verdicts = await apns.verdicts([.sample()])
        #expect(verdicts == [.unsent(reason: "CertificateUntrusted")])
      }
    }
  }

  @Test func `An address can be an IP address`() async throws {
    try await withSimulator { simulator in
      var settings = PushServiceSettings(simulator)
      settings[.apnsProductionURL] = simulator.productionURL.replacing("localhost", with: "127.0.0.1")
      try await withProvider(settings) { apns in
        #expect(await apns.verdicts([.sample()]) == [.accepted])
      }
    }
  }

  @Test func `Pushes to a name that does not resolve come back unsent`() async throws {
    try await withSimulator { simulator in
      var settings = PushServiceSettings(simulator, isPatient: false)
      settings[.apnsProductionURL] = "https://apns.invalid"
      try await withProvider(settings) { apns in
        #expect(await apns.verdicts([.sample()]) == [.unsent(reason: "NameUnknown")])
      }
    }
  }

  @Test func `A server that sends no SETTINGS times out`() async throws {
    let silent = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(host: "127.0.0.1", port: 0).get()
    try await withSimulator { simulator in
      var settings = PushServiceSettings(simulator, isPatient: false)
      settings[.apnsProductionURL] = "https://127.0.0.1:\(silent.localAddress?.port ?? 0)"
      settings.connectTimeout = .seconds(5)
      try await withProvider(settings) { apns in
        #expect(await apns.verdicts([.sample()]) == [.unsent(reason: "NoSettings")])
      }
    }
    try await silent.close()
  }

  @Test func `Nothing is sent to a server without HTTP/2`() async throws {
    try await withSimulator(configure: { $0.phonePort = 0 }) { simulator in
      var settings = PushServiceSettings(simulator, isPatient: false)
      settings[.apnsProductionURL] = try #require(simulator.phoneURL).replacing("http:", with: "https:")
      try await withProvider(settings) { apns in
        #expect(await apns.verdicts([.sample()]) == [.unsent(reason: "HandshakeFailed")])
      }
    }
  }
}
