import Foundation
import Providers
import Simulator
import Support
import Testing

@Suite struct AuthorityTests {
  @Test func `A restarted Simulator keeps its certificate authority`() async throws {
    let folder = try TemporaryDirectory(named: "authority")
    defer { folder.remove() }
    let caFile = "\(folder.path)/ca.pem"
    let trusted = "\(folder.path)/trusted.pem"
    try await withSimulator(configure: { $0.caFile = caFile }) { _ in
      try FileManager.default.copyItem(atPath: caFile, toPath: trusted)
    }
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(caFile).key")
    #expect(attributes[.posixPermissions] as? Int == 0o600)

    try await withSimulator(configure: { $0.caFile = caFile }) { simulator in
      var settings = PushServiceSettings(simulator)
      settings.caFile = trusted
      try await withProvider(settings) { #expect(await $0.verdicts([.sample()]) == [.accepted]) }
    }
  }

  @Test func `An unusable key file is replaced with a new authority`() async throws {
    let folder = try TemporaryDirectory(named: "authority")
    defer { folder.remove() }
    let caFile = "\(folder.path)/ca.pem"
    for key in ["nonsense", APNsCredentials.fresh().signingKey] {
      try await withSimulator(configure: { $0.caFile = caFile }) { _ in }
      try key.write(toFile: "\(caFile).key", atomically: true, encoding: .utf8)
      try await withSimulator(configure: { $0.caFile = caFile }) { simulator in
        try await withProvider(PushServiceSettings(simulator)) {
          #expect(await $0.verdicts([.sample()]) == [.accepted])
        }
      }
    }
  }
}
