import Support
import Testing

@Suite struct SimulatorCommandTests {
  @Test func `It prints every setting that a hub needs to be pointed at it, its phone page's frame too`() async throws {
    let folder = try TemporaryDirectory(named: "simulator")
    defer { folder.remove() }
    let simulator = try RunningPushcart(
      ["simulator", "--apns-port", "0", "--apns-sandbox-port", "0", "--phone-port", "0"], environment: [:],
      folder: folder.path)
    try await simulator.says("# Phone page: http://localhost:")
    let lines = simulator.text.split(separator: "\n")
    let page = try #require(lines.first { $0.hasPrefix("# Phone page: ") }).dropFirst("# Phone page: ".count)
    #expect(lines.contains("PUSHCART_PAGE_FRAME_ANCESTORS=\(page)"))
    for name in ["PUSHCART_APNS_PRODUCTION_URL", "PUSHCART_APNS_SANDBOX_URL", "PUSHCART_PROVIDER_CA_FILE"] {
      #expect(lines.contains { $0.hasPrefix("\(name)=") }, "\(name)")
    }
    simulator.signal(15)
    #expect(await simulator.exit() == 0)
  }
}
