import Locking
import Support
import Testing
import Wire

@testable import Registry

/// What the hub knows of an OpenID provider, and how it comes to know it.
@Suite struct OpenIDProviderTests {
  @Test func `A key is found by its name, and by nothing else that fits`() {
    func key(_ id: String?, _ changes: JSONValue = [:]) -> JSONValue {
      let usual: JSONValue = ["kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256"]
      return usual.merging(id.map { JSONValue.object(["kid": .string($0)]) } ?? [:]).merging(changes)
    }
    let keys = [key("one"), key("two"), key("sealing", ["use": "enc"]), key("rsa", ["kty": "RSA", "alg": "RS256"])]
    #expect(IDToken.key("two", for: "ES256", among: keys) == keys[1])
    for unknown in ["three", "ONE", "", "sealing", "rsa"] {
      #expect(IDToken.key(unknown, for: "ES256", among: keys) == nil, "\(unknown)")
    }
    #expect(IDToken.key("one", for: "ES384", among: keys) == nil)
    // Without a name there has to be one alone.
    #expect(IDToken.key(nil, for: "ES256", among: keys) == nil)
    #expect(IDToken.key(nil, for: "RS256", among: keys) == keys[3])
    #expect(IDToken.key("one", for: "ES256", among: [key("one"), key("one")]) == nil)
    #expect(IDToken.key("one", for: "ES256", among: [key(nil)]) == nil)
    #expect(IDToken.key("one", for: "ES256", among: [key("one", ["alg": nil, "use": nil])]) != nil)
    #expect(IDToken.key("one", for: "ES256", among: [key("one", ["use": 7])]) == nil)
  }

  @Test func `Many who wait for a provider that is away ask it once, and nobody for ten seconds after`() async throws {
    let asked = Mutex(0)
    let clock = SteerableClock()
    let settings = OpenIDSettings(issuer: "https://id.example.com", clientID: "hub")
    let provider = OpenIDProvider(settings, now: { clock.now }) { _, _, _ in
      asked.withLock { $0 += 1 }
      return nil
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask { _ = await #expect(throws: OpenIDFault.self) { try await provider.known() } }
      }
    }
    #expect(asked.withLock(\.self) == 1)
    clock.advance(by: .seconds(9))
    let error = await #expect(throws: OpenIDFault.self) { try await provider.known() }
    guard case .stillUnreachable? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(asked.withLock(\.self) == 1)
    clock.advance(by: .seconds(1))
    await #expect(throws: OpenIDFault.self) { try await provider.known() }
    #expect(asked.withLock(\.self) == 2)
  }

  @Test func `A provider that does not answer is given up after its time`() async throws {
    let isCancelled = Mutex(false)
    var settings = OpenIDSettings(issuer: "https://id.example.com", clientID: "hub")
    settings.documentsTimeout = .milliseconds(1)
    let provider = OpenIDProvider(settings, now: { .now }) { _, _, _ in
      // It never answers: nothing but a cancellation ends it.
      let (answers, answer) = AsyncStream.makeStream(of: Void.self)
      for await _ in answers {}
      answer.finish()
      isCancelled.withLock { $0 = Task.isCancelled }
      return nil
    }
    let error = await #expect(throws: OpenIDFault.self) { try await provider.known() }
    guard case .unreachable(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("took longer") && isCancelled.withLock(\.self))
  }
}
