import ArgumentParser
import Logging
import ServiceLifecycle
import Simulator
import UnixSignals

struct SimulatorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulator", abstract: "Stand in for APNs, with a page that shows what a phone would.",
    discussion: """
      A hub is pointed at it by PUSHCART_APNS_PRODUCTION_URL, PUSHCART_APNS_SANDBOX_URL and PUSHCART_PROVIDER_CA_FILE, and \
      by PUSHCART_PAGE_FRAME_ANCESTORS its phone page shows the hub's rich pages; it prints what to set. It takes any \
      signing key as it is, unless it is told which to trust: then it checks their signatures and refuses all others. \
      Device tokens that begin with fade0410, fade0429, fade0503 and the \
      like are answered with that error.

      Example: pushcart simulator --ca-file /tmp/simulator-ca.pem --trust TEAM123456/KEY1234567=AuthKey.p8
      """)

  @Option(help: "Where to keep the certificate that the hub is to trust; its key is kept beside it.") var caFile =
    "simulator-ca.pem"
  @Option(help: "Address to listen on.") var host = "127.0.0.1"
  @Option(help: "Name in the addresses that are printed, and in the certificate.") var name = "localhost"
  @Option(help: "TCP port of APNs, production; 0 takes any free one.") var apnsPort = 8443
  @Option(help: "TCP port of APNs, sandbox; 0 takes any free one.") var apnsSandboxPort = 8444
  @Option(help: "TCP port of the phone page; 0 takes any free one.") var phonePort = 8081

  @Option(help: ArgumentHelp("Signing key to trust; may be given again.", valueName: "team/key=file"))
  var trust: [TrustedSigningKey] = []

  func run() async throws {
    for (port, flag) in [
      (apnsPort, "--apns-port"), (apnsSandboxPort, "--apns-sandbox-port"), (phonePort, "--phone-port"),
    ] {
      try TCPPort.require(port, on: host, flag: flag)
    }
    Logs.start(.auto, .warning)
    var settings = SimulatorSettings(caFile: caFile)
    settings.host = host
    settings.name = name
    settings.productionPort = apnsPort
    settings.sandboxPort = apnsSandboxPort
    settings.phonePort = phonePort
    settings.trustsUnknownKeys = trust.isEmpty
    let logger = Logger(label: "simulator")
    let simulator = PushSimulator(settings, logger: logger)
    for key in trust { try key.register(with: simulator.apns) }
    try await simulator.start()
    let greeting = Greeting(
      text: """
        \(Setting.apnsProductionURL.variable)=\(simulator.productionURL)
        \(Setting.apnsSandboxURL.variable)=\(simulator.sandboxURL)
        \(Setting.providerCAFile.variable)=\(simulator.caFile)
        \(Setting.pageFrameAncestors.variable)=\(simulator.phoneURL ?? "'none'")
        # Phone page: \(simulator.phoneURL ?? "none")

        """)
    try await ServiceGroup(
      services: [simulator, greeting], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
    ).run()
  }
}

/// Says where everything is, once signals are listened to: whoever reads it may send one at once.
private struct Greeting: Service {
  let text: String

  func run() async throws {
    StandardStream.output.write(text)
    try await gracefulShutdown()
  }
}
