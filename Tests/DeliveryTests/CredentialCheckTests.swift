import Delivery
import Foundation
import Providers
import Registry
import Support
import Testing
import Wire

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct CredentialCheckTests {
  @Test func `A push service that does not answer is reported as unreachable after the timeout`() async throws {
    let (silent, port) = try listener()
    defer { close(silent) }
    let configure = { (settings: inout PushServiceSettings) in
      settings[.apnsProductionURL] = "https://127.0.0.1:\(port)"
      settings[.apnsSandboxURL] = settings[.apnsProductionURL]
    }
    try await withSendingBench(configure) { bench in
      let check = CredentialCheck(
        PushCredentialVault(bench.pool, vault: bench.vault), services: bench.services, timeout: .milliseconds(200))
      let reply = try await check.check(bench.app)
      #expect(reply?.checks.map(\.verdict) == [.unreachable, .unreachable])
      #expect(reply?.checks.map(\.reason) == ["NoAnswerInTime", "NoAnswerInTime"])
    }
  }

  /// A port that accepts connections and never replies.
  private func listener() throws -> (socket: Int32, port: UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 10) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
    return (listener, UInt16(bigEndian: address.sin_port))
  }
}
