import ArgumentParser
import Foundation
import Operations
import Providers
import Registry
import Simulator
import Support
import Testing
import Web
import Wire

@testable import Pushcart

@Suite struct AppCommandTests {
  @Test func `A signing key is read from its file and never printed`() async throws {
    try await withPushcart { pushcart, _ in
      let folder = try TemporaryDirectory(named: "app")
      defer { folder.remove() }
      let credentials = APNsCredentials.sample
      let file = "\(folder.path)/AuthKey.p8"
      try credentials.signingKey.write(toFile: file, atomically: true, encoding: .utf8)
      try await pushcart.run("customer", "add", "--name", "ACME")
      let apple = ["--team-id", credentials.teamID, "--key-id", credentials.keyID, "--signing-key", file]
      let app = ["--customer", "1", "--type", "ios", "--app-id", "com.acme.app", "--name", "Acme"]
      let added = try await pushcart.run(["app", "add"] + app + apple + ["--json"])
      #expect(try added.json.array("credentials")?.map { $0.string("kind") } == ["apns_signing_key"], "\(added.errors)")
      let changed = try await pushcart.run(
        "app", "update", "com.acme.app", "--customer", "1", "--name", "New", "--json")
      #expect(try changed.json.string("name") == "New")
      let list = try await pushcart.run("app", "list", "--customer", "1")
      #expect(list.output.contains("com.acme.app"))

      let secret = credentials.signingKey.split(separator: "\n")[1]
      for outcome in [added, changed, list] { #expect(!(outcome.output + outcome.errors).contains(secret)) }
    }
  }

  @Test func `An app check asks the push service and fails if no environment accepts`() async throws {
    try await withSendingBench { bench in
      let settings = [
        "PUSHCART_APNS_PRODUCTION_URL": bench.simulator.productionURL,
        "PUSHCART_APNS_SANDBOX_URL": bench.simulator.sandboxURL, "PUSHCART_PROVIDER_CA_FILE": bench.simulator.caFile,
      ]
      var pushcart = Pushcart(
        databaseURL: bench.database.connectionString, masterKey: bench.masterKey, environment: settings)
      let good = try await pushcart.run("app", "check", SendingBench.appID, "--customer", "\(bench.customer)", "--json")
      #expect(good.status == 0, "\(good.errors)")
      #expect(try good.json.array("checks")?.map { $0.string("verdict") } == ["accepted", "accepted"])

      pushcart.environment["PUSHCART_APNS_PRODUCTION_URL"] = "https://127.0.0.1:1"
      pushcart.environment["PUSHCART_APNS_SANDBOX_URL"] = "https://127.0.0.1:1"
      let away = try await pushcart.run("app", "check", "1", "--customer", "\(bench.customer)", "--json")
      #expect(away.status == 1)
      #expect(try away.json.array("checks")?.map { $0.string("verdict") } == ["unreachable", "unreachable"])
    }
  }

  @Test func `An app check that is impossible says why and what to do`() async throws {
    try await withSendingBench { bench in
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: MasterKeys.generate())
      let check = ["app", "check", "1", "--customer", "\(bench.customer)"]
      let sealed = try await pushcart.run(check)
      #expect(sealed.status == 1)
      #expect(sealed.errors.contains("PUSHCART_OLD_MASTER_KEYS"), "\(sealed.errors)")
      try await pushcart.run(
        "app", "add", "--customer", "\(bench.customer)", "--type", "android", "--app-id", "a.b", "--name", "Acme")
      try await pushcart.run(
        "app", "add", "--customer", "\(bench.customer)", "--type", "windows", "--app-id", "a.c", "--name", "Acme")
      let windows = try await pushcart.run("app", "check", "a.c", "--customer", "\(bench.customer)")
      #expect(
        windows.errors
          == "Error: App a.c (Windows) has no clientSecret, so nothing can be sent to it. Add its credentials by PATCH "
          + "/api/v1/apps/3, or by pushcart app update 3 --customer \(bench.customer) --package-sid SID --client-secret-file FILE, or "
          + "by pushcart app update 3 --customer \(bench.customer) --tenant-id ID --client-id ID --client-secret-file FILE.\n"
      )
      let android = try await pushcart.run("app", "check", "a.b", "--customer", "\(bench.customer)")
      #expect(
        android.errors
          == "Error: App a.b (Android) has no serviceAccount, so nothing can be sent to it. Add its credentials by PATCH "
          + "/api/v1/apps/2, or by pushcart app update 2 --customer \(bench.customer) --service-account FILE.\n")
    }
  }

  @Test(arguments: AppType.allCases)
  func `The commands that a refusal names are known to the command line`(type: AppType) throws {
    let refusal = HTTPErrorResponse.noCredentials(CustomerID(7), PushAppID(3), appID: "a.b", type, field: "x")
    let commands = refusal.sentence.dropLast().split(separator: ", or by ").dropFirst()
    #expect(!commands.isEmpty)
    for command in commands {
      let words = command.split(separator: " ").map(String.init)
      #expect(words.first == "pushcart")
      #expect(throws: Never.self, "\(command)") { try PushcartCommand.parseAsRoot(Array(words.dropFirst())) }
    }
  }

  @Test func `A wrong signing key file is refused with what it is`() async throws {
    try await withPushcart { pushcart, _ in
      let folder = try TemporaryDirectory(named: "app")
      defer { folder.remove() }
      let file = "\(folder.path)/wrong.p8"
      try "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n".write(
        toFile: file, atomically: true, encoding: .utf8)
      try await pushcart.run("customer", "add", "--name", "ACME")
      let outcome = try await pushcart.run(
        "app", "add", "--customer", "1", "--type", "ios", "--app-id", "com.acme.app", "--name", "Acme", "--team-id",
        "TEAM123456", "--key-id", "KEY1234567", "--signing-key", file)
      #expect(outcome.status == 1)
      #expect(outcome.errors.hasPrefix("Error: --signing-key: "))
      #expect(outcome.errors.contains("certificate"))
    }
  }
}
