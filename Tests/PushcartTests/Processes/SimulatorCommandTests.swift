import Foundation
import Providers
import Support
import Testing
import Wire

@Suite struct SimulatorCommandTests {
  @Test func `The simulator command checks trusted keys and shows pushes as they arrive`()
    async throws
  {
    let folder = try TemporaryDirectory(named: "simulator")
    defer { folder.remove() }
    let sample = APNsCredentials.sample
    try sample.signingKey.write(toFile: "\(folder.path)/AuthKey.p8", atomically: true, encoding: .utf8)
    let process = try RunningPushcart(
      [
        "simulator", "--ca-file", "ca.pem", "--apns-port", "0", "--apns-sandbox-port", "0", "--fcm-port", "0",
        "--hms-port", "0", "--wns-port", "0", "--webpush-port", "0", "--sms-port", "0", "--phone-port", "0",
        "--trust", "\(sample.teamID)/\(sample.keyID)=AuthKey.p8",
      ], environment: [:], folder: folder.path)
    try await process.says("# Phone page: http")

    var settings = PushServiceSettings()
    settings.apns.productionURL = try value(of: "PUSHCART_APNS_PRODUCTION_URL", in: process.text)
    settings.apns.sandboxURL = try value(of: "PUSHCART_APNS_SANDBOX_URL", in: process.text)
    settings.caFile = "\(folder.path)/ca.pem"
    try await withProvider(settings) { apns in
      #expect(
        await apns.verdicts([.sample()], as: .fresh()) == [.credentialsRefused(reason: "InvalidProviderToken")])
      #expect(await apns.verdicts([.sample(alert: "Hello out there")]) == [.accepted])
    }

    let phone = try #require(process.text.firstMatch(of: #/Phone page: (\S+)/#)?.1)
    let events = try RunningPushcart(
      ["-sN", "\(phone)/events?after=0"], environment: [:], folder: folder.path, program: URL(filePath: "/usr/bin/curl")
    )
    try await events.says("Hello out there")
    #expect(events.text.contains("event: push"))
    await events.die()
    process.signal(SIGTERM)
    #expect(await process.exit() == 0, "\(process.text)")
  }

  @Test func `The simulator command prints every setting that points a hub at it`() async throws {
    let folder = try TemporaryDirectory(named: "simulator")
    defer { folder.remove() }
    let simulator = try RunningPushcart(
      [
        "simulator", "--apns-port", "0", "--apns-sandbox-port", "0", "--fcm-port", "0", "--hms-port", "0",
        "--wns-port", "0", "--webpush-port", "0", "--sms-port", "0", "--phone-port", "0",
      ],
      environment: [:], folder: folder.path)
    try await simulator.says("# Phone page: http://localhost:")
    let lines = simulator.text.split(separator: "\n")
    let page = try #require(lines.first { $0.hasPrefix("# Phone page: ") }).dropFirst("# Phone page: ".count)
    #expect(lines.contains("PUSHCART_PAGE_FRAME_ANCESTORS=\(page)"))
    for name in [
      "PUSHCART_APNS_PRODUCTION_URL", "PUSHCART_APNS_SANDBOX_URL", "PUSHCART_FCM_URL", "PUSHCART_GOOGLE_TOKEN_URL",
      "PUSHCART_HMS_URL", "PUSHCART_HMS_TOKEN_URL", "PUSHCART_WNS_TOKEN_URL", "PUSHCART_WNS_ALLOWED_HOSTS",
      "PUSHCART_WEBPUSH_ALLOWED_HOSTS", "PUSHCART_SMS_ALLOWED_HOSTS", "PUSHCART_PROVIDER_CA_FILE",
    ] {
      #expect(lines.contains { $0.hasPrefix("\(name)=") }, "\(name)")
    }
    simulator.signal(15)
    #expect(await simulator.exit() == 0)
  }

  private func value(of variable: String, in text: String) throws -> String {
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(variable)=") })
    return String(line.dropFirst(variable.count + 1))
  }

  @Test(arguments: ["TEAM/KEY", "TEAM=AuthKey.p8", "/KEY=AuthKey.p8"])
  func `A malformed --trust is refused with its form`(_ argument: String) async throws {
    let process = try RunningPushcart(["simulator", "--trust", argument], environment: [:], folder: "/tmp")
    #expect(await process.exit() != 0)
    #expect(process.text.contains("team/key=file"), "\(process.text)")
  }
}
