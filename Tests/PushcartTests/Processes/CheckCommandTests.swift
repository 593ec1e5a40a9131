import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Pushcart

/// `pushcart check`: what it says of push apps, and of what a failover would lose.
@Suite struct CheckCommandTests {
  private func pushcart(_ bench: SendingBench, _ database: String? = nil) -> Pushcart {
    Pushcart(
      databaseURL: database ?? bench.database.connectionString, masterKey: bench.masterKey,
      environment: [
        "PUSHCART_APNS_PRODUCTION_URL": bench.simulator.productionURL,
        "PUSHCART_APNS_SANDBOX_URL": bench.simulator.sandboxURL, "PUSHCART_FCM_URL": bench.simulator.fcmURL,
        "PUSHCART_GOOGLE_TOKEN_URL": bench.simulator.googleTokenURL, "PUSHCART_HMS_URL": bench.simulator.hmsURL,
        "PUSHCART_HMS_TOKEN_URL": bench.simulator.hmsTokenURL, "PUSHCART_WNS_TOKEN_URL": bench.simulator.wnsURL,
        "PUSHCART_PROVIDER_CA_FILE": bench.simulator.caFile,
      ])
  }

  @Test func `It asks the push service of every app about its credentials, and nobody gets a message`() async throws {
    try await withSendingBench { bench in
      let apps = PushApps(bench.pool, vault: bench.vault)
      let file = try bench.simulator.issueServiceAccount()
      let other = try await bench.database.customer("Other")
      let firebase = try await apps.add(
        other,
        NewPushApp(
          appID: "com.other.app", type: .firebase, name: "Other",
          service: PushServiceFields([.serviceAccount: Secret(file)])))
      _ = try await apps.add(other, NewPushApp(appID: "com.other.bare", type: .ios, name: "Bare"))
      let good = try await pushcart(bench).run("check")
      #expect(good.status == 0, "\(good)")
      #expect(
        good.output.contains(
          "ok     push apps        2 of 3 are accepted by their push services; 1 have no credentials yet\n"),
        "\(good.output)")

      _ = try await apps.update(
        bench.customer, bench.app.id,
        PushAppUpdate(service: PushServiceFields([.signingKey: Secret(APNsCredentials.fresh().signingKey)])))
      bench.simulator.fcm.rule(.any, .refuse(.senderIDMismatch))
      let bad = try await pushcart(bench).run("check")
      #expect(bad.status == 1)
      #expect(
        bad.output.contains(
          "wrong  push app \(bench.app.id)       com.acme.app of customer \(bench.customer): production refused "
            + "(InvalidProviderToken), sandbox refused (InvalidProviderToken); see `pushcart app check \(bench.app.id) "
            + "--customer \(bench.customer)`\n"), "\(bad.output)")
      #expect(bad.output.contains("push apps        "))
      #expect(firebase.id != bench.app.id)
      #expect(bench.simulator.apns.requests.allSatisfy { !$0.isAccepted })
      #expect(bench.simulator.fcm.requests.allSatisfy { !$0.isAccepted } && bench.simulator.fcm.count > 0)
    }
  }

  @Test func `A Huawei app is added by the command line with its secret in a file, and asked about`() async throws {
    try await withSendingBench { bench in
      let folder = try TemporaryDirectory(named: "huawei")
      defer { folder.remove() }
      let (secret, wrong) = ("\(folder.path)/secret.txt", "\(folder.path)/agconnect-services.json")
      try "acme-secret\n".write(toFile: secret, atomically: true, encoding: .utf8)
      try #"{"agcgw":{},"client":{}}"#.write(toFile: wrong, atomically: true, encoding: .utf8)
      func add(_ file: String) async throws -> (status: Int32, output: String) {
        let answer = try await pushcart(bench).run(
          "app", "add", "--customer", "\(bench.customer)", "--type", "huawei", "--app-id", "com.acme.hw", "--name",
          "Acme",
          "--client-id", "104567891", "--client-secret-file", file)
        return (answer.status, "\(answer)")
      }
      let refused = try await add(wrong)
      #expect(refused.status != 0 && refused.output.contains("This is an agconnect-services.json"), "\(refused)")
      let added = try await add(secret)
      #expect(added.status == 0 && !added.output.contains("acme-secret"), "\(added)")

      let check = ["app", "check", "com.acme.hw", "--customer", "\(bench.customer)"]
      let unknown = try await pushcart(bench).run(check)
      #expect(unknown.status == 1 && unknown.output.contains("refused"), "\(unknown)")
      #expect(unknown.output.contains("compare both with the app's settings in AppGallery Connect"), "\(unknown)")
      bench.simulator.hms.register(clientID: "104567891", secret: "acme-secret")
      let good = try await pushcart(bench).run(check)
      #expect(good.status == 0 && good.output.contains("accepted"), "\(good)")
      #expect(bench.simulator.hms.requests.allSatisfy { $0.validateOnly })
    }
  }

  @Test
  func `An app of the web is added by the command line with a key of its own or an older one, and not asked about`()
    async throws
  {
    try await withSendingBench { bench in
      let folder = try TemporaryDirectory(named: "web")
      defer { folder.remove() }
      let file = "\(folder.path)/vapid.txt"
      // The example of RFC 8291: a private key, and its public one.
      try "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw\n".write(toFile: file, atomically: true, encoding: .utf8)
      let add = ["app", "add", "--customer", "\(bench.customer)", "--type", "web", "--name", "Acme", "--app-id"]
      let made = try await pushcart(bench).run(add + ["new.acme.com", "--contact", "mailto:push@acme.com"])
      #expect(made.status == 0 && made.output.contains("Pages give this key to subscribe: B"), "\(made)")
      let taken = try await pushcart(bench).run(add + ["old.acme.com", "--vapid-private-key-file", file])
      #expect(
        taken.output.contains(
          "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"), "\(taken)")
      #expect(!taken.output.contains("yfWPiYE"))
      let check = try await pushcart(bench).run("app", "check", "new.acme.com", "--customer", "\(bench.customer)")
      #expect(check.status == 0 && check.output.contains("unasked"), "\(check)")
      #expect(try await pushcart(bench).run("check").output.contains("2 are of the web, where only a push shows"))
      #expect(bench.simulator.webPush.count == 0)
    }
  }

  @Test func `A Windows app is added by the command line in both ways, and asked about`() async throws {
    try await withSendingBench { bench in
      let folder = try TemporaryDirectory(named: "windows")
      defer { folder.remove() }
      let secret = "\(folder.path)/secret.txt"
      try "acme-secret\n".write(toFile: secret, atomically: true, encoding: .utf8)
      let customer = ["--customer", "\(bench.customer)"]
      func add(_ options: String...) async throws -> (status: Int32, output: String) {
        let answer = try await pushcart(bench).run(
          ["app", "add", "--type", "windows", "--app-id", "com.acme.win", "--name", "Acme"] + customer + options)
        return (answer.status, "\(answer)")
      }
      let refused = try await add("--package-sid", "s-1-15-2-7", "--client-secret-file", secret)
      #expect(refused.status != 0 && refused.output.contains("--package-sid is no Package SID"), "\(refused)")
      let alone = try await add("--tenant-id", "acme.example", "--client-secret-file", secret)
      #expect(alone.output.contains("--tenant-id, --client-id and --client-secret-file come together"), "\(alone)")
      let added = try await add("--package-sid", "ms-app://s-1-15-2-7", "--client-secret-file", secret)
      #expect(added.status == 0 && !added.output.contains("acme-secret"), "\(added)")

      let check = ["app", "check", "com.acme.win"] + customer
      let unknown = try await pushcart(bench).run(check)
      #expect(unknown.status == 1 && unknown.output.contains("refused"), "\(unknown)")
      bench.simulator.wns.register(packageSID: "ms-app://s-1-15-2-7", secret: "acme-secret")
      let good = try await pushcart(bench).run(check)
      #expect(good.status == 0 && good.output.contains("accepted"), "\(good)")

      bench.simulator.wns.register(tenantID: "acme.example", clientID: "c-7", secret: "acme-secret")
      let update = try await pushcart(bench).run(
        [
          "app", "update", "com.acme.win", "--tenant-id", "acme.example", "--client-id", "c-7", "--client-secret-file",
          secret,
        ]
          + customer)
      #expect(update.status == 0, "\(update)")
      #expect(try await pushcart(bench).run(check).status == 0)
      #expect(bench.simulator.wns.tokenRequests.last?.path == "/acme.example/oauth2/v2.0/token")
      #expect(bench.simulator.wns.count == 0)
    }
  }

  @Test func `It says when a commit is acknowledged before it is safe`() async throws {
    try await withSendingBench { bench in
      let said = try await pushcart(bench).run("check").output
      // The servers of these tests run without it.
      #expect(said.contains("ok     durability       fsync is off: the whole database can be lost"), "\(said)")
    }
  }

  @Test(arguments: [
    ("off", "", 0, "synchronous_commit is off: what was acknowledged can be lost when the server stops"),
    ("on", "", 0, "commits are on disk when they are acknowledged; no standby is connected"),
    ("on", "", 1, "one standby is connected, and commits do not wait for any"),
    ("on", "", 2, "2 standbys are connected, and commits do not wait for any"),
    ("local", "*", 0, "synchronous_commit is local"), ("local", "", 1, "synchronous_commit is local"),
    ("remote_write", "", 1, "one standby is connected, and commits do not wait for any"),
    ("on", "ANY 1 (*)", 1, "commits are acknowledged once the standbys of synchronous_standby_names have them"),
  ]) func `It warns of what a stop or a failover loses`(commit: String, names: String, standbys: Int, sentence: String)
  {
    #expect(
      Diagnostics.durability(isFlushed: true, commit: commit, names: names, standbys: standbys).hasPrefix(sentence))
  }

  @Test func `It sees a standby that replicates asynchronously`() async throws {
    let directory = try TemporaryDirectory(named: "primary")
    defer { directory.remove() }
    let cluster = try await PrivateCluster.start(
      ClusterConfiguration(directory: directory.path + "/cluster"), logger: TestServer.logger)
    try await cluster.createDatabase("pushcart")
    let database = cluster.connectionString(database: "pushcart")
    // It takes the log as a standby does.
    let wal = directory.path + "/wal"
    try FileManager.default.createDirectory(atPath: wal, withIntermediateDirectories: true)
    let standby = try RunningPushcart(
      ["pg_receivewal", "--no-loop", "-D", wal, "-d", database], environment: [:], folder: "/tmp",
      program: URL(filePath: "/usr/bin/env"))
    let pool = Pool(PoolConfiguration(connectionString: database), logger: TestServer.logger)
    let streams = Statement("test.streams", .read, "SELECT FROM pg_stat_replication WHERE state = 'streaming'")
    try await waitUntil {
      try #require(!standby.text.contains("error"), "\(standby.text)")
      return try await !pool.query(streams).isEmpty
    }
    await pool.close()
    let pushcart = Pushcart(databaseURL: database, masterKey: MasterKeys.generate())
    try await pushcart.run("migrate")
    let said = try await pushcart.run("check").output
    #expect(
      said.contains("ok     durability       one standby is connected, and commits do not wait for any"), "\(said)")
    await standby.die()
    await cluster.stop()
  }
}
