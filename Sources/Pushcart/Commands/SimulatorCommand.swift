import ArgumentParser
import Logging
import ServiceLifecycle
import Simulator
import UnixSignals

struct SimulatorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulator",
    abstract:
      "Stand in for APNs, FCM, Push Kit, WNS, Web Push, CM and Twilio, with a page that shows what phones would.",
    discussion: """
      It prints the settings that point a hub at it. PUSHCART_PAGE_FRAME_ANCESTORS lets its phone page show the hub's rich \
      pages. Without --trust and the other options of trust, anybody may sign in. With one of them it checks signatures and \
      secrets, and each service refuses those that no option names; Web Push knows no accounts. The address of FCM serves \
      Google's token endpoint too, and that of Push Kit Huawei's. That of WNS serves both of Microsoft's, and its channel URIs \
      have the form https://NAME:PORT/?token=TOKEN. Device tokens that begin with fade0404, fade0410, fade0429, fade0503 and \
      the like get that error.

      The port of the phone page takes rules for replies: GET, POST and DELETE /rules. A rule is a JSON object, such as \
      {"service":"fcm","tokenPrefix":"ab","times":1,"reply":"refuse","reason":"UNREGISTERED"}. The service is apns, fcm, hms, \
      wns, webpush or sms; without one it is apns. The reply is accept, refuse, ignore, refuseStream, resetStream, goAway or cut. A \
      refusal also has status, reason or both. APNs needs both: a status from 400 to 599, and any reason. For other services, \
      the error for a wrong one lists what there is. Other members are nth, delayMilliseconds, retryAfter (not for APNs), \
      environment and since (APNs), and project (FCM). With "requests":"token" a rule is for requests for access tokens, and \
      clientPrefix begins the id of the client that asks. GET and DELETE take the service as ?service=.

      GET /connections counts a service's connections. POST /connections gives all of them an order: \
      {"service":"fcm","order":"goAway"}, or cut, answerIgnored, or limitStreams with limit.

      Example: pushcart simulator --ca-file /tmp/simulator-ca.pem --trust TEAM123456/KEY1234567=AuthKey.p8 \
      --huawei-client 104567891=client-secret.txt
      """)

  @Option(help: "File for the certificate that the hub is to trust. Its key is kept beside it.") var caFile =
    "simulator-ca.pem"
  @Option(help: "Address to listen on.") var host = "127.0.0.1"
  @Option(help: "Name in the addresses that are printed, and in the certificate.") var name = "localhost"
  @Option(help: "TCP port of APNs, production; 0 takes any free one.") var apnsPort = 8443
  @Option(help: "TCP port of APNs, sandbox; 0 takes any free one.") var apnsSandboxPort = 8444
  @Option(help: "TCP port of FCM and Google's token endpoint; 0 takes any free one.") var fcmPort = 8445
  @Option(help: "TCP port of Push Kit and Huawei's token endpoint; 0 takes any free one.") var hmsPort = 8446
  @Option(help: "TCP port of WNS and Microsoft's token endpoints; 0 takes any free one.") var wnsPort = 8447
  @Option(help: "TCP port of Web Push; 0 takes any free one.") var webpushPort = 8448
  @Option(help: "TCP port of CM's and Twilio's SMS and calls; 0 takes any free one.") var smsPort = 8449
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
    for (port, flag) in [
      (apnsPort, "--apns-port"), (apnsSandboxPort, "--apns-sandbox-port"), (fcmPort, "--fcm-port"),
      (hmsPort, "--hms-port"), (wnsPort, "--wns-port"), (webpushPort, "--webpush-port"), (smsPort, "--sms-port"),
      (phonePort, "--phone-port"),
    ] {
      try TCPPort.require(port, on: host, flag: flag)
    }
    Logs.start(.auto, .warning)
    var settings = SimulatorSettings(caFile: caFile)
    settings.host = host
    settings.name = name
    settings.productionPort = apnsPort
    settings.sandboxPort = apnsSandboxPort
    settings.fcmPort = fcmPort
    settings.hmsPort = hmsPort
    settings.wnsPort = wnsPort
    settings.webPushPort = webpushPort
    settings.smsPort = smsPort
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

        """)
    try await ServiceGroup(
      services: [simulator, greeting], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
    ).run()
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
