import Logging
import Postgres
import Providers
import Registry
import ServiceLifecycle
import Simulator
import Web
import Wire

/// A hub with everything it needs on this machine: its own PostgreSQL, a Simulator for push services, and samples.
struct Demo: Sendable {
  struct Ports: Sendable {
    var hub: Int
    var phone: Int
    /// The ports of simulated services, by their options, as in `SimulatorSettings.ports`.
    var services: [String: Int]
  }

  var local: LocalHub
  /// Address that the hub and the Simulator listen on.
  let host: String
  /// Further names under which the phone page may be opened.
  let phoneNames: [String]
  let ports: Ports
  /// How many of a hundred pages the owners of simulated phones open.
  let opens: Int
  let metrics: MetricsRegistry
  let logger: Logger

  func run() async throws {
    try local.makeFolder()
    let cluster = try await PrivateCluster.start(ClusterConfiguration(directory: local.cluster), logger: logger)
    var demo = self
    demo.local = LocalHub(local, beside: cluster)
    do {
      try await demo.run(on: cluster)
    } catch {
      await cluster.stop()
      throw error
    }
  }

  private func run(on cluster: PrivateCluster) async throws {
    try await cluster.createDatabase("pushcart")
    _ = try local.secret(local.masterKeyFile) { MasterKeys.generate() }
    let database = cluster.connectionString(database: "pushcart")
    let simulator = try await startSimulator()
    let settings = try await settings(database, simulator)
    guard let masterKeys = settings.masterKeys else { return }

    let vault = Vault(masterKeys)
    let apps = try simulator.samples { file, make in try local.secret("\(local.home)/\(file)", make: make) }
    simulator.sms.register(productToken: SampleCustomer.smsProductToken)
    let (sample, next, statusURL) = try await settings.withPool { pool in
      do {
        try await Migrator(pool, Migration.embedded).apply()
      } catch let error as MigrationError {
        let folders = Set([local.folder, local.home]).sorted().joined(separator: " and ")
        throw CommandFailure(
          "\(error). The data is another version's. Delete \(folders) to begin anew, or name another folder with --folder."
        )
      }
      let sample = try await SampleCustomer.prepare(
        local, pool, settings, vault: vault, apps: apps, sms: simulator.smsAccount)
      let addresses = try await SMSStatusAddresses.load(pool, vault: vault, publicURL: settings.publicURL)
      return (
        sample, try await pool.query(HubQueries.nextSendout)[0].decode(Int64.self), addresses.url(of: sample.id)
      )
    }
    simulator.sms.reportDeliveries(to: statusURL)
    if let site = sample.site { simulator.serve(site) }
    let welcome = Welcome(
      sample: sample, hubURL: settings.publicURL, phoneURL: simulator.phoneURL ?? "", database: database,
      folder: local.home, nextSendout: SendoutID(next), host: host)
    let hub = Hub(settings: settings, masterKeys: masterKeys, metrics: metrics, logger: logger)
    try await hub.run(after: [cluster, simulator]) { _ in StandardStream.output.write(welcome.text) }
  }

  private var publicURL: String { "http://localhost:\(ports.hub)" }

  private func startSimulator() async throws -> PushSimulator {
    var settings = SimulatorSettings(caFile: local.caFile)
    settings.host = host
    settings.phoneNames = phoneNames
    settings.ports = ports.services
    settings.phonePort = ports.phone
    settings.opens = PhoneOpens(percent: opens, prefix: "\(publicURL)/c/")
    // People who add an app of their own, with any key at hand, want to see its pushes on the phone page.
    settings.trustsUnknownKeys = true
    let simulator = try PushSimulator(settings, logger: logger)
    try await simulator.start()
    return simulator
  }

  /// The hub's settings, which are kept for the other commands in this folder too.
  private func settings(_ database: String, _ simulator: PushSimulator) async throws -> Settings {
    let values: [(Setting, String)] =
      [
        (.databaseURL, database), (.masterKey.fromFile, local.masterKeyFile),
        (.publicURL, publicURL), (.providerCAFile, simulator.caFile),
        (.pageFrameAncestors, simulator.phoneURL ?? "'none'"),
        (Setting(.webhookAllowedHosts), simulator.webhooks.authority),
      ] + simulator.serviceSettings.map { (Setting($0.setting), $0.value) }
    let object = Dictionary(uniqueKeysWithValues: values.map { ($0.0.name, $0.1) })
    try local.keep(String(decoding: try JSONReply.encode(object), as: UTF8.self) + "\n", in: local.settingsFile)
    return try await Settings.read(
      [(.host, host), (.port, String(ports.hub))], needsMasterKey: true, local: local, environment: [:])
  }
}

extension PushSimulator {
  /// The sample customer's account at the simulated CM.
  fileprivate var smsAccount: SMSAccount {
    SMSAccount(
      provider: .cm(productToken: SampleCustomer.smsProductToken), url: cmURL, voiceURL: cmVoiceURL, sender: "Sample")
  }
}
