import Foundation
import Outbox
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Pushcart

/// What is said of push certificates that expire.
@Suite struct CertificateWatchTests {
  private func addApp(_ bench: SendingBench, of customer: CustomerID? = nil, until end: Date) async throws -> PushApp {
    try await PushApps(bench.pool, vault: bench.vault).add(
      customer ?? bench.customer,
      NewPushApp(
        appID: "com.acme.old", type: .ios, name: "Old",
        service: PushServiceFields([
          .productionCertificate: Secret(
            bytes: try bench.simulator.issuePushCertificate(topics: ["com.acme.old"], until: end)),
          .certificatePassword: Secret("secret"),
        ])))
  }

  @Test func `A certificate's end is a metric, and is logged thirty days ahead`() async throws {
    try await withSendingBench { bench in
      let end = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 40 * 86_400).rounded())
      let app = try await addApp(bench, until: end)
      let (log, registry) = (LogCapture(), MetricsRegistry())
      var watch = CertificateWatch(bench.pool, logger: log.logger, metrics: registry)
      func figure() -> String? {
        PrometheusText.write(registry).split(separator: "\n").first { $0.hasPrefix("pushcart_certificate") }
          .map(String.init)
      }
      let series =
        "pushcart_certificate_expiry_seconds{app=\"\(app.id)\",customer=\"\(bench.customer)\",kind=\"apns_production_certificate\"}"

      try await watch.check(at: end.addingTimeInterval(-31 * 86_400))
      #expect(log.lines.isEmpty)
      #expect(figure() == "\(series) \(31 * 86_400)")
      try await watch.check(at: end.addingTimeInterval(-30 * 86_400))
      #expect(log.lines.count == 1 && log.lines[0].contains("com.acme.old"), "\(log.lines)")
      try await watch.check(at: end.addingTimeInterval(-86_400), isLogged: false)
      #expect(log.lines.count == 1)
      try await watch.check(at: end.addingTimeInterval(60))
      #expect(figure() == "\(series) -60")

      // A signing key takes the certificate's place.
      let key = APNsCredentials.sample
      let changed = try await PushApps(bench.pool, vault: bench.vault).update(
        bench.customer, app.id,
        PushAppUpdate(
          service: key.fields))
      #expect(changed.alarm(at: end) == nil)
      try await watch.check(at: end.addingTimeInterval(60))
      #expect(figure() == "\(series) NaN")
    }
  }

  @Test func `Webhooks are told of a certificate at each step once, and of one that is long over no more`() async throws
  {
    try await withSendingBench { bench in
      let end = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 40 * 86_400).rounded())
      _ = try await addApp(bench, until: end)
      _ = try await bench.pool.transaction { transaction in
        try await EventWebhooks(transaction).add(
          bench.customer, EventWebhookRequest(url: "https://hooks.example.com/", events: [.certificateExpiring]),
          vault: bench.vault, rule: .webhook)
      }
      var watch = CertificateWatch(bench.pool, logger: LogCapture().logger, metrics: MetricsRegistry())
      func told(_ days: Double) async throws -> [String] {
        for _ in 1...2 { try await watch.check(at: end.addingTimeInterval(days * 86_400), isLogged: false) }
        return try await bench.database.query("SELECT split_part(reason, ' ', 2) FROM webhook_event ORDER BY event_id")
          .map { try $0.decode(String.self) }
      }
      #expect(try await told(-31) == [])
      #expect(try await told(-29) == ["30"])
      #expect(try await told(-20) == ["30"])
      #expect(try await told(-0.5) == ["30", "1"])
      #expect(try await told(1) == ["30", "1", "0"])
      try await bench.database.query("DELETE FROM webhook_event")
      #expect(try await told(31) == [])
    }
  }

  @Test func `A customer whose apps cannot be read keeps its figures, and holds up no other's`() async throws {
    try await withSendingBench { bench in
      let end = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 40 * 86_400).rounded())
      let other = try await bench.database.customer("Other")
      for customer in [bench.customer, other] { _ = try await addApp(bench, of: customer, until: end) }
      let (log, registry) = (LogCapture(), MetricsRegistry())
      var watch = CertificateWatch(bench.pool, logger: log.logger, metrics: registry)
      func figures() -> [String] {
        PrometheusText.write(registry).split(separator: "\n").filter { $0.hasPrefix("pushcart_certificate") }
          .map { String($0.split(separator: " ")[1]) }.sorted()
      }
      try await watch.check(at: end.addingTimeInterval(-60))
      #expect(figures() == ["60", "60"])
      try await bench.database.query("ALTER TABLE push_app DROP CONSTRAINT push_app_app_type_known")
      try await bench.database.query(
        "UPDATE push_app SET app_type = 99 WHERE customer_id = $1::bigint AND push_app_id = $2::bigint",
        bench.customer.rawValue, bench.app.id.rawValue)
      try await watch.check(at: end.addingTimeInterval(-30), isLogged: false)
      #expect(figures() == ["30", "60"])
      #expect(log.lines.count { $0.contains("could not look at the push certificates of a customer") } == 1)
    }
  }

  @Test func `A certificate's end is an alarm thirty days ahead, which no success clears and a refusal comes before`()
    async throws
  {
    try await withSendingBench { bench in
      let end = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 40 * 86_400).rounded())
      let id = try await addApp(bench, until: end).id
      let (apps, alarms) = (PushApps(bench.pool), PushAppAlarms(bench.pool))
      func alarm(_ days: Double) async throws -> PushApp.Alarm? {
        try await apps.find(bench.customer, id)?.alarm(at: end.addingTimeInterval(-days * 86_400))
      }
      #expect(try await alarm(30.01) == nil)
      for _ in 1...2 {
        let ahead = try #require(try await alarm(30))
        #expect(ahead.reason.hasPrefix("The productionCertificate expires on "))
        #expect(ahead.since == end.addingTimeInterval(-30 * 86_400))
        #expect(try await alarm(0)?.reason.hasPrefix("The productionCertificate expired on ") == true)
        try await alarms.raise(bench.customer, id, isSandbox: false, reason: "TopicDisallowed")
        #expect(try await alarm(30)?.reason == "TopicDisallowed")
        // As a sendout that went well does.
        try await alarms.clear(bench.customer, id, isSandbox: false)
      }
      // The app with a signing key has none.
      #expect(try await apps.find(bench.customer, bench.app.id)?.alarm(at: end) == nil)
    }
  }

  @Test func `The command line adds certificates, and check warns of their end`() async throws {
    try await withSendingBench { bench in
      let folder = try TemporaryDirectory(named: "certificates")
      defer { folder.remove() }
      let pushcart = Pushcart(
        databaseURL: bench.database.connectionString, masterKey: bench.masterKey,
        environment: [
          "PUSHCART_APNS_PRODUCTION_URL": bench.simulator.productionURL,
          "PUSHCART_APNS_SANDBOX_URL": bench.simulator.sandboxURL,
          "PUSHCART_PROVIDER_CA_FILE": bench.simulator.caFile,
        ])
      func write(_ bytes: [UInt8], _ name: String) throws -> String {
        let path = "\(folder.path)/\(name)"
        try Data(bytes).write(to: URL(filePath: path))
        return path
      }
      let end = Date().addingTimeInterval(20 * 86_400)
      let development = try write(
        bench.simulator.issuePushCertificate(topics: ["a.b"], environments: [.sandbox], until: end), "development.p12")
      let production = try write(bench.simulator.issuePushCertificate(topics: ["a.b"]), "production.p12")
      let password = try write(Array("secret\r\n".utf8), "password")
      let customer = ["--customer", "\(bench.customer)"]
      let add = ["app", "add", "--type", "ios", "--app-id", "a.b", "--name", "Acme", "--json"] + customer
      let added = try await pushcart.run(
        add + [
          "--development-certificate", development, "--production-certificate", production,
          "--certificate-password-file", password,
        ])
      #expect(
        try added.json.array("credentials")?.map { $0.string("kind") }
          == ["apns_development_certificate", "apns_production_certificate"], "\(added.errors)")
      let warnings = try added.json.array("warnings")
      #expect(warnings?.count == 1 && warnings?[0].text?.hasPrefix("The developmentCertificate expires on ") == true)
      let alarm = try added.json["sandboxAlarm"]?.string("reason")
      #expect(alarm?.hasPrefix("The developmentCertificate expires on ") == true, "\(added.output)")
      let checked = try await pushcart.run(["app", "check", "a.b", "--json"] + customer)
      #expect(try checked.json.array("checks")?.map { $0.string("verdict") } == ["accepted", "accepted"])
      let all = try await pushcart.run("check")
      #expect(all.output.contains("The developmentCertificate expires on "), "\(all.output)")
      let swapped = try await pushcart.run(
        ["app", "update", "a.b", "--development-certificate", production, "--certificate-password-file", password]
          + customer)
      #expect(swapped.status == 1)
      #expect(swapped.errors.contains("belongs in --production-certificate"), "\(swapped.errors)")
    }
  }
}
