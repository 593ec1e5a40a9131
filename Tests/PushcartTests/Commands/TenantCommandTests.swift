import ArgumentParser
import Content
import Delivery
import Hybrid
import Foundation
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

@testable import Pushcart

@Suite struct TenantCommandTests {
  /// Arguments of each command, but for those of `ManagedCommand`, that name data of the first customer, and the same with data that nobody has.
  private let crossings: [String: [(foreign: [String], absent: [String])]] = [
    // The hub's operator may add a user of another customer; UserStoreTests do.
    "user add": [
      (
        ["--email", "one@example.com", "--role", "marketer"], ["--email", "two@example.com", "--role", "marketer"]
      )
    ],
    "app add": [
      (
        ["--type", "android", "--app-id", "com.mine.too", "--name", "Mine"],
        ["--type", "android", "--app-id", "com.mine", "--name", "Mine"]
      )
    ],
    "app update": [
      (["1", "--name", "stolen"], ["999999", "--name", "stolen"]),
      (["com.secretive.app", "--name", "stolen"], ["com.nothing", "--name", "stolen"]),
    ],
    "contact put": [
      (["secretive@example.com", "--field", "city=Lund"], ["nobody", "--field", "city=Lund"])
    ],
    "import file": [(["TEMPLATE", "--list", "1"], ["TEMPLATE", "--list", "1"])],
    "import start": [(["1"], ["999999"])],
    "import rejects": [(["1"], ["999999"])],
    "export": [(["contacts"], ["contacts"])],
    "recount": [([], [])],
    "app check": [(["1"], ["999999"]), (["com.secretive.app/ios"], ["com.nothing/ios"])],
    "sms set": [
      (
        ["--provider", "cm", "--sender", "Acme", "--product-token-file", "TEMPLATE", "--url", "http://127.0.0.1:1/"],
        ["--provider", "cm", "--sender", "Acme", "--product-token-file", "TEMPLATE", "--url", "http://127.0.0.1:1/"]
      )
    ],
    "sms allow": [(["0031612345678"], ["0031699999999"])],
    "app identity": [(["1"], ["999999"]), (["com.secretive.app"], ["com.nothing"])],
    "links max-age": [(["--days", "90"], ["--days", "90"])],
    "softphone reporter": [(["--map", "selector=acc"], ["--map", "selector=acc"])],
    "customer update": [
      (["--devices-per-contact", "9"], ["--devices-per-contact", "9"]),
      (["--retention-days", "9"], ["--retention-days", "9"]),
      (["--time-zone", "Europe/Berlin"], ["--time-zone", "Europe/Berlin"]),
      (["--quiet-hours", "21:00-08:00"], ["--quiet-hours", "21:00-08:00"]),
      (["--cap", "3/24h"], ["--cap", "3/24h"]),
    ],
    "template put": [(["--name", "mine", "--file", "TEMPLATE"], ["--name", "mine", "--file", "TEMPLATE"])],
    "template show": [
      (["secretive"], ["nothing"]), (["secretive", "--version", "1"], ["nothing", "--version", "1"]),
    ],
    "template versions": [(["secretive"], ["nothing"])],
    "template uses": [(["secretive"], ["nothing"])],
    "template remove": [(["secretive"], ["nothing"])],
    "template preview": [
      (["--file", "TEMPLATE", "--to", "secretive@example.com"], ["--file", "TEMPLATE", "--to", "nobody"])
    ],
    "segment search": [
      (["--filter", "originalId = 'secretive@example.com'"], ["--filter", "originalId = 'nobody'"])
    ],
    "segment count": [
      (["--filter", "originalId = 'secretive@example.com'"], ["--filter", "originalId = 'nobody'"])
    ],
    "segment explain": [
      (["--filter", "everyone", "--to", "secretive@example.com"], ["--filter", "everyone", "--to", "nobody"])
    ],
    "segment change": [(["1", "--add", "secretive@example.com"], ["999999", "--add", "secretive@example.com"])],
    "send": [
      (
        ["--app", "com.secretive.app", "--all", "--alert", "x"], ["--app", "com.nothing", "--all", "--alert", "x"]
      ),
      (
        ["--app", "com.other", "--list", "1", "--alert", "x"],
        ["--app", "com.other", "--list", "999999", "--alert", "x"]
      ),
      (
        ["--app", "com.other", "--all", "--alert", "x", "--template", "secretive"],
        ["--app", "com.other", "--all", "--alert", "x", "--template", "nothing"]
      ),
    ],
    "message send": [
      (
        ["--app", "com.secretive.app", "--to", "secretive@example.com", "--alert", "x"],
        ["--app", "com.nothing", "--to", "secretive@example.com", "--alert", "x"]
      ),
      (
        ["--app", "com.other", "--to", "secretive@example.com", "--alert", "x"],
        ["--app", "com.other", "--to", "nobody", "--alert", "x"]
      ),
    ],
    "message preview": [
      (["--app", "com.secretive.app", "--alert", "x"], ["--app", "com.nothing", "--alert", "x"]),
      (["--to", "secretive@example.com", "--alert", "x"], ["--to", "nobody", "--alert", "x"]),
    ],
    "message show": [(["1-1"], ["999999-1"])],
    "message why": [(["1-1"], ["999999-1"])],
    "trigger add": [
      (
        ["--name", "x", "--app", "com.secretive.app", "--alert", "x"],
        ["--name", "x", "--app", "com.nothing", "--alert", "x"]
      )
    ],
    "suppression add": [
      (["--token", "7f", "--app", "com.secretive.app"], ["--token", "7f", "--app", "com.nothing"])
    ],
    "suppression lift": [
      (["--token", "7f", "--app", "com.secretive.app"], ["--token", "7f", "--app", "com.nothing"])
    ],
    "trigger send": [
      (["1", "--to", "secretive@example.com"], ["999999", "--to", "secretive@example.com"])
    ],
    "hybrid enable": [(["--app", "com.secretive.app"], ["--app", "com.nothing"])],
    "hybrid update": [(["com.secretive.app", "--sender", "x"], ["com.nothing", "--sender", "x"])],
    "datasync webhook set": [
      (
        ["com.secretive.app", "orders", "--uri", "https://hooks.example.com/"],
        ["com.nothing", "orders", "--uri", "https://hooks.example.com/"]
      )
    ],
    "datasync webhook remove": [(["com.secretive.app", "orders"], ["com.nothing", "orders"])],
    "datasync enable": [(["--app", "com.secretive.app"], ["--app", "com.nothing"])],
    "sendout audience": [
      (["--app", "com.secretive.app", "--all"], ["--app", "com.nothing", "--all"]),
      (["--app", "com.other", "--list", "1"], ["--app", "com.other", "--list", "999999"]),
    ],
    "sendout change": [
      (
        ["1", "--app", "com.other", "--all", "--alert", "x"], ["999999", "--app", "com.other", "--all", "--alert", "x"]
      )
    ],
    "webhook add": [
      (
        ["--url", "https://hooks.example.com/", "--event", "sendout.finished"],
        ["--url", "https://hooks.example.com/", "--event", "sendout.finished"]
      )
    ],
    "webhook redeliver": [(["1", "1"], ["999999", "1"])],
    "sendout winner": [(["1", "--variant", "Secretive"], ["999999", "--variant", "Secretive"])],
    "sendout copy": [
      (["1"], ["999999"]), (["1", "--audience", "failed"], ["999999", "--audience", "failed"]),
    ],
    "sendout test": [
      (["1", "--to", "secretive@example.com"], ["999999", "--to", "secretive@example.com"])
    ],
    "sendout show": [(["1"], ["999999"]), (["1", "--pushes"], ["999999", "--pushes"])],
    "why": [
      (["--sendout", "1", "--to", "secretive@example.com"], ["--sendout", "999999", "--to", "secretive@example.com"])
    ],
    "report": [
      (["sendouts"], ["sendouts"]), (["devices"], ["devices"]),
      (["failures", "--sendout", "1"], ["failures", "--sendout", "9"]),
      (["timeline", "--contact", "secretive@example.com"], ["timeline", "--contact", "nobody"]),
    ],
  ]

  @Test func `No command shows or changes data of another customer`() async throws {
    let crossings = self.crossings.merging(ManagedCommand.crossings) { own, _ in own }
    #expect(Set(crossings.keys) == Set(Self.commands(of: PushcartCommand.self, named: [])))
    try await withSendingBench { bench in
      try await settle(bench)
      let folder = try TemporaryDirectory(named: "tenants")
      defer { folder.remove() }
      let template = "\(folder.path)/mine.html"
      try "mine".write(toFile: template, atomically: true, encoding: .utf8)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let before = try await bench.database.rows(of: bench.customer)
      for (command, pairs) in crossings {
        for (foreign, absent) in pairs {
          var outcomes: [Pushcart.Outcome] = []
          for arguments in [foreign, absent] {
            outcomes.append(
              try await pushcart.run(
                command.split(separator: " ").map(String.init) + arguments.map { $0 == "TEMPLATE" ? template : $0 }
                  + ["--customer", "2"]))
          }
          #expect(outcomes[0].status == outcomes[1].status, "\(command) \(foreign): \(outcomes[0])")
          // A refusal may repeat the number that was given.
          #expect(
            outcomes[0].errors == outcomes[1].errors.replacing("999999", with: "1"), "\(command) \(foreign)")
          #expect(!(outcomes[0].output + outcomes[0].errors).contains("Secretive"), "\(command) \(foreign)")
        }
      }
      #expect(try await bench.database.rows(of: bench.customer) == before)
    }
  }

  /// Every command that takes a customer's number, as in `key add`.
  private static func commands(of command: any ParsableCommand.Type, named path: [String]) -> [String] {
    let inner = command.configuration.subcommands + command.configuration.groupedSubcommands.flatMap(\.subcommands)
    guard inner.isEmpty else { return inner.flatMap { commands(of: $0, named: path + [$0._commandName]) } }
    let help = PushcartCommand.helpMessage(for: command)
    return help.contains("--customer <customer>") ? [path.joined(separator: " ")] : []
  }

  /// The first customer's data, called Secretive where possible, and a second customer with an app.
  private func settle(_ bench: SendingBench) async throws {
    let pool = bench.pool
    let apps = PushApps(pool, vault: bench.vault)
    _ = try await apps.update(bench.customer, bench.app.id, PushAppUpdate(name: "Secretive"))
    try await bench.database.query("UPDATE push_app SET app_id = 'com.secretive.app'")
    let key = try await AccessKeys(pool).make(bench.customer, name: "Secretive", scope: .admin).token
    try await withTestWebServer(try WholeWebServer(bench).routes) { server in
      try await ExampleRequests.addEach(
        to: server, key: key,
        with: ["name": "Secretive", "appId": "com.secretive.app", "listId": 1, "message": ["alert": "Secretive"]])
    }
    // So that a list which the second customer adds has another number.
    try await bench.database.query("SELECT setval('list_list_id_seq', 10)")
    _ = try await Templates(pool).put(bench.customer, name: "secretive", format: .html, body: "Secretive")
    _ = try await HybridApps(pool).enable(
      bench.customer, HybridAppRequest(appId: "com.secretive.app", sender: "Secretive"), vault: bench.vault)
    try await bench.addDevices(1)
    try await bench.database.query("UPDATE contact SET original_id = 'secretive@example.com', first_name = 'Secretive'")
    let draft = try await bench.sendouts.create(
      bench.customer,
      SendoutRequest(
        name: "Secretive", appId: "com.secretive.app", audience: .all, message: MessageBody(alert: "Secretive")))
    try await pool.transaction { transaction in
      _ = try await Ledger(transaction).freeze(
        SendoutKey(bench.customer, draft.sendoutId), apps: [bench.app.id], audience: .all)
    }
    try await bench.database.query(
      "UPDATE push SET state = 'failed', reason = 'Secretive', sent_at = now(), attempts = 1")
    try await bench.database.recountBatches()
    let other = try await Customers(pool).add(name: "Other").id
    #expect(other == CustomerID(2))
    _ = try await apps.add(other, NewPushApp(appID: "com.other", type: .ios, name: "Other"))
  }
}
