import Logging
import Providers
import Simulator
import Support
import Locking
import Testing

/// What the log must not contain.
@Suite struct SecrecyTests {
  private final class Lines: Sendable {
    private let text = Mutex("")
    var all: String { text.withLock { $0 } }
    func add(_ line: String) { text.withLock { $0 += line + "\n" } }
  }

  /// Keeps every line, at every level.
  private struct Keeper: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.add("\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:])")
    }
  }

  @Test func `Neither device tokens, nor provider tokens, nor keys, nor payloads are logged`() async throws {
    try await withSimulator { simulator in
      let lines = Lines()
      let provider = try PushServices(
        PushServiceSettings(simulator), logger: Logger(label: "apns") { _ in Keeper(lines: lines) })
      let token = String(repeating: "c0ffee", count: 10)
      for reply: SimulatedAPNs.Reply in [
        .accept, .refuse(status: 410, reason: "Unregistered"), .goAway(reason: "Shutdown"), .cut, .resetStream,
        .refuse(status: 403, reason: "ExpiredProviderToken"), .refuse(status: 403, reason: "InvalidProviderToken"),
      ] {
        simulator.apns.removeRules()
        simulator.apns.rule(.nth(1), reply)
        _ = await provider.verdicts([.sample(token: token, alert: "Secret words")])
      }
      _ = await provider.check(topic: "com.acme.app", environment: .production, credentials: .fresh())
      await provider.shutDown()

      let told = lines.all
      #expect(told.contains("connection"))
      let spoken = simulator.apns.requests.compactMap { $0.header("authorization")?.split(separator: " ").last }
      #expect(!spoken.isEmpty)
      for secret in spoken.map(String.init) + [token, "Secret words", "PRIVATE KEY"] {
        #expect(!told.contains(secret))
      }
      let key = APNsCredentials.sample.signingKey.split(separator: "\n")[1]
      #expect(!told.contains(key))
    }
  }

  @Test func `Nor does anything secret of FCM reach the log`() async throws {
    try await withSimulator { simulator in
      let lines = Lines()
      let services = try PushServices(
        PushServiceSettings(simulator), logger: Logger(label: "fcm") { _ in Keeper(lines: lines) })
      let account = try services.firebase(simulator, sendingFor: "acme-2")
      simulator.fcm.tokenRule(.nth(1), .cut)
      _ = await account.verdicts(["phone-secret:x"])
      let other = try services.firebase(simulator)
      for reply: SimulatedFCM.Reply in [.accept, .refuse(.unregistered), .goAway(), .cut, .resetStream] {
        simulator.fcm.removeRules()
        simulator.fcm.rule(.nth(1), reply)
        _ = await other.verdicts(["phone-secret:x"])
      }
      await services.shutDown()

      let told = lines.all
      #expect(told.contains("connection"))
      let spoken = simulator.fcm.requests.compactMap { $0.header("authorization")?.split(separator: " ").last }
      #expect(!spoken.isEmpty)
      let key = try SimulatedFCM.ServiceAccount(tokenURL: simulator.googleTokenURL).privateKey
      for secret in spoken.map(String.init) + ["phone-secret", "Hello", "PRIVATE KEY", "assertion"] {
        #expect(!told.contains(secret))
      }
      #expect(!told.contains(key.split(separator: "\n")[1]))
    }
  }
}
