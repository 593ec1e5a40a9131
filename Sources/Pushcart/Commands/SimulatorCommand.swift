import ArgumentParser
import Logging
import ServiceLifecycle
import Simulator
import UnixSignals
import Wire

struct SimulatorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulator",
    abstract: """
      Stand in for \(PushSimulator.ports.map(\.name).joined(separator: ", ")), with a page that shows what phones would.
      """,
    discussion: """
      It prints the settings that point a hub at it. PUSHCART_PAGE_FRAME_ANCESTORS lets its phone page show the hub's rich \
      pages. Without --trust and the other options of trust, anybody may sign in. With one of them it checks signatures and \
      secrets, and each service refuses those that no option names; Web Push knows no accounts. The address of a service serves \
      its token endpoints, too. Channel URIs of WNS have the form https://NAME:PORT/?token=TOKEN. Device tokens that begin with fade0404, fade0410, fade0429, fade0503 and \
      the like get that error.

      The port of the phone page takes rules for replies: GET, POST and DELETE /rules. A rule is a JSON object, such as \
      {"service":"fcm","tokenPrefix":"ab","times":1,"reply":"refuse","reason":"UNREGISTERED"}. The service is \
      \(PushServiceName.allCases.map(\.rawValue).asList("or")); without one it is apns. The reply is accept, refuse, ignore, refuseStream, resetStream, goAway or cut. A \
      refusal also has status, reason or both. APNs needs both: a status from 400 to 599, and any reason. For other services, \
      the error for a wrong one lists what there is. Other members are nth, delayMilliseconds, retryAfter (not for APNs), \
      environment and since (APNs), and project (FCM). With "requests":"token" a rule is for requests for access tokens, and \
      clientPrefix begins the id of the client that asks. GET and DELETE take the service as ?service=.

      GET /connections counts a service's connections. POST /connections gives all of them an order: \
      {"service":"fcm","order":"goAway"}, or cut, answerIgnored, or limitStreams with limit.

      The receiver of webhooks takes posts at any path. /webhooks on the port of the phone page lists them. POST /webhooks/secrets       with {"secret":"whsec_…"} has their signatures verified, and POST /webhooks/answers with {"statuses":[500,410]} says how       the next ones are answered.

      Example: pushcart simulator --ca-file /tmp/simulator-ca.pem --trust TEAM123456/KEY1234567=AuthKey.p8 \
      --service-account acme-firebase-adminsdk.json
      """)

  @Option(help: "File for the certificate that the hub is to trust. Its key is kept beside it.") var caFile =
    "simulator-ca.pem"
  @Option(help: "Address to listen on.") var host = "127.0.0.1"
  @Option(help: "Name in the addresses that are printed, and in the certificate.") var name = "localhost"
  @Flag(help: "Take any free port for each service whose port no option names.") var freePorts = false
  @OptionGroup var ports: TableOptions<PortTable>
  @Option(help: "Where a report that each message of CM was delivered is posted: an http address. (default: nowhere)")
  var smsStatusURL: String?
  @Option(help: "TCP port of the phone page; 0 takes any free one.") var phonePort = 8081
  @Option(
    name: .customLong("phone-name"),
    help: ArgumentHelp(
      "Further name of the phone page, besides localhost, --name and the address; can be repeated.",
      valueName: "name"))
  var phoneNames: [String] = []

  @OptionGroup(title: "Trust") var trust: TrustOptions

  @Option(
    help: ArgumentHelp(
      "File that gets a line for each request to APNs: connection, stream, device token, apns-id and reply, separated by tabs.",
      valueName: "file"))
  var apnsRequests: String?

  func run() async throws {
    let services = ports.all(areFree: freePorts)
    for (option, port) in services + [("phone-port", phonePort)] {
      try TCPPort.require(port, on: host, flag: "--\(option)")
    }
    Logs.start(.auto, .warning)
    var settings = SimulatorSettings(caFile: caFile)
    settings.host = host
    settings.name = name
    settings.ports = Dictionary(uniqueKeysWithValues: services)
    settings.smsStatusURL = smsStatusURL
    settings.phonePort = phonePort
    settings.phoneNames = phoneNames
    settings.trustsUnknownKeys = trust.isEmpty
    let logger = Logger(label: "simulator")
    settings.apnsRequestsFile = apnsRequests
    let simulator: PushSimulator
    do {
      simulator = try PushSimulator(settings, logger: logger)
    } catch {
      throw CommandFailure("The file \(apnsRequests ?? "") of --apns-requests cannot be written.")
    }
    try trust.register(with: simulator)
    try await simulator.start()
    let greeting = Greeting(
      text: """
        \(simulator.addresses.map { "\($0.variable)=\($0.value)" }.joined(separator: "\n"))
        \(Setting.pageFrameAncestors.variable)=\(simulator.phoneURL ?? "'none'")
        # Phone page: \(simulator.phoneURL ?? "none")
        # Webhooks: \(simulator.webhooks.url), allowed by PUSHCART_WEBHOOK_ALLOWED_HOSTS=\(simulator.webhooks.authority)

        """)
    try await ServiceGroup(
      services: [simulator, greeting], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
    ).run()
  }
}

/// The ports of the services.
enum PortTable: OptionTable {
  static var options: [(name: String, option: Option<Int?>)] {
    PushSimulator.ports.map { port in
      let help = ArgumentHelp("TCP port of \(port.help); 0 takes any free one. (default: \(port.usual))")
      return (port.option, Option(name: .customLong(port.option), help: help))
    }
  }
}

extension TableOptions<PortTable> {
  /// The ports of all services, by their options.
  /// - Parameter areFree: whether those that no option names are any free ones, and not the usual ones.
  func all(areFree: Bool) -> [(String, Int)] {
    zip(PushSimulator.ports, values).map { port, named in (port.option, named.value ?? (areFree ? 0 : port.usual)) }
  }
}

/// Prints the settings once signals are handled, because a reader may send one at once.
private struct Greeting: Service {
  let text: String

  func run() async throws {
    StandardStream.output.write(text)
    try await gracefulShutdown()
  }
}
