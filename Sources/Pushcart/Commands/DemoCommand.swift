import ArgumentParser
import CoreMetrics
import Logging
import Simulator

struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo", abstract: "Run a private hub to try, with its own PostgreSQL, phones and samples.",
    discussion: """
      Nothing has to be set up, and nothing leaves this machine: pushes go to a simulated APNs whose phone page shows them. \
      Owners of its phones open some of the pages by themselves, so that reports have something to show. \
      All data is kept in one folder; for root it is below /var/lib/pushcart if PostgreSQL's user cannot enter the folder. \
      The simulated APNs checks the sample app's signing key and accepts any key of other apps. Management commands that \
      run in the same place use this hub.

      Example: pushcart demo --port 8090
      """)

  @Option(help: "Folder of the data.") var folder = ".pushcart"
  @Option(help: "Address to listen on. 0.0.0.0 lets others reach the hub, the phone page and the simulated APNs.")
  var host = "127.0.0.1"
  @Option(
    name: .customLong("phone-name"),
    help: ArgumentHelp(
      "Further name of the phone page, besides localhost and the address; can be repeated.",
      valueName: "name"))
  var phoneNames: [String] = []
  @Option(help: "TCP port of the hub.") var port = 8080
  @Option(help: "TCP port of the phone page.") var phonePort = 8081
  @OptionGroup var ports: TableOptions<DemoPortTable>
  @Option(help: "How many percent of the pages the owners of simulated phones open by themselves; 0 for none.")
  var opens = 30
  @Option(help: "trace, debug, info, notice, warning, error or critical; debug logs every request.")
  var logLevel = "warning"

  func run() async throws {
    guard let level = Logger.Level(rawValue: logLevel) else {
      throw ValidationError("There is no log level of this name.")
    }
    for (option, port) in [("port", port), ("phone-port", phonePort)] + ports.values {
      try TCPPort.require(port, on: host, flag: "--\(option)")
    }
    guard (0...100).contains(opens) else { throw ValidationError("--opens is a number from 0 to 100.") }
    Logs.start(.auto, level)
    let metrics = MetricsRegistry()
    MetricsSystem.bootstrap(metrics)
    let demo = Demo(
      local: LocalHub(folder: folder), host: host, phoneNames: phoneNames,
      ports: Demo.Ports(
        hub: port, phone: phonePort,
        services: Dictionary(uniqueKeysWithValues: ports.values.map { ($0.name, $0.value) })),
      opens: opens, metrics: metrics, logger: Logger(label: "demo"))
    do {
      try await demo.run()
    } catch {
      throw CommandFailure.wrapping(error)
    }
  }
}

/// The ports of the simulated services.
enum DemoPortTable: OptionTable {
  static var options: [(name: String, option: Option<Int>)] {
    PushSimulator.ports.map { port in
      let help = ArgumentHelp("TCP port of the simulated \(port.name).")
      return (port.option, Option(wrappedValue: port.usual, name: .customLong(port.option), help: help))
    }
  }
}
