import Foundation
import Providers
import Simulator
import Support
import Testing
import Wire

@Suite struct SimulatorCommandTests {
  @Test func `The simulator command checks trusted keys and shows pushes as they arrive`()
    async throws
  {
    let folder = try TemporaryDirectory(named: "simulator")
    defer { folder.remove() }
    let sample = APNsCredentials.sample
    try sample.signingKey.write(toFile: "\(folder.path)/AuthKey.p8", atomically: true, encoding: .utf8)
    let process = try RunningPushcart(
      ["simulator", "--ca-file", "ca.pem"] + Self.freePorts
        + ["--trust", "\(sample.teamID)/\(sample.keyID)=AuthKey.p8"],
      environment: [:], folder: folder.path)
    try await process.says("# Phone page: http")

    var settings = PushServiceSettings()
    settings[.apnsProductionURL] = try value(of: "PUSHCART_APNS_PRODUCTION_URL", in: process.text)
    settings[.apnsSandboxURL] = try value(of: "PUSHCART_APNS_SANDBOX_URL", in: process.text)
    settings.caFile = "\(folder.path)/ca.pem"
    try await withProvider(settings) { apns in
      #expect(
        await apns.verdicts([.sample()], as: .fresh()) == [.credentialsRefused(reason: "InvalidProviderToken")])
      #expect(await apns.verdicts([.sample(alert: "Hello out there")]) == [.accepted])
    }

    let phone = try #require(process.text.firstMatch(of: #/Phone page: (\S+)/#)?.1)
    let events = try RunningPushcart(
      ["-sN", "\(phone)/events?after=0"], environment: [:], folder: folder.path, program: URL(filePath: "/usr/bin/curl")
    )
    try await events.says("Hello out there")
    #expect(events.text.contains("event: push"))
    await events.die()
    process.signal(SIGTERM)
    #expect(await process.exit() == 0, "\(process.text)")
  }

  @Test func `With options of trust, each push service takes the accounts that they name, and no others`() async throws
  {
    let google = try SimulatedFCM.ServiceAccount(tokenURL: "https://oauth2.googleapis.com/token")
    let other = try SimulatedFCM.ServiceAccount(projectID: "other-shop", tokenURL: google.tokenURL)
    let huawei: JSONValue = [
      "project_id": "736430079244", "sub_account": "101", "key_id": "k1", "private_key": .string(google.privateKey),
    ]
    let files = [
      "right": "acme-secret\n", "wrong": "another-secret\n", "google": google.keyFile, "other": other.keyFile,
      "huawei": String(decoding: huawei.json, as: UTF8.self),
    ]
    let sid = "ms-app://s-1-15-2-7"
    let trust = [
      "--service-account", "google", "--service-account", "huawei", "--huawei-client", "104567891=right",
      "--windows-package", "\(sid)=right", "--windows-client", "acme.example/c-7=right",
    ]
    try await withSimulator(trust, files) { hub, folder in
      func client(_ id: String, _ secret: String) -> [String] {
        ["--client-id", id, "--client-secret-file", "\(folder)/\(secret)"]
      }
      func package(_ sid: String, _ secret: String) -> [String] {
        ["--package-sid", sid, "--client-secret-file", "\(folder)/\(secret)"]
      }
      let apps: [(type: String, account: [String], isTaken: Bool)] = [
        ("firebase", ["--service-account", "\(folder)/google"], true),
        ("firebase", ["--service-account", "\(folder)/other"], false),
        ("huawei", ["--service-account", "\(folder)/huawei"], true),
        ("huawei", client("104567891", "right"), true), ("huawei", client("104567891", "wrong"), false),
        ("huawei", client("104567892", "right"), false),
        ("windows", package(sid, "right"), true), ("windows", package(sid, "wrong"), false),
        ("windows", package("\(sid)7", "right"), false),
        ("windows", ["--tenant-id", "acme.example"] + client("c-7", "right"), true),
        ("windows", ["--tenant-id", "acme.example"] + client("c-7", "wrong"), false),
        ("windows", ["--tenant-id", "other.example"] + client("c-7", "right"), false),
      ]
      for (number, app) in zip(1..., apps) {
        let added = try await hub.run(
          ["app", "add", "--customer", "1", "--type", app.type, "--app-id", "com.acme.a\(number)", "--name", "Acme"]
            + app.account)
        #expect(added.status == 0, "\(app): \(added.errors)")
        let check = try await hub.run("app", "check", "com.acme.a\(number)", "--customer", "1")
        #expect(check.status == (app.isTaken ? 0 : 1), "\(app): \(check)")
        #expect(check.output.contains(app.isTaken ? "accepted" : "refused"), "\(app): \(check)")
      }
    }
  }

  @Test func `With options of trust, providers of SMS take the accounts that they name, and no others`() async throws {
    let trust = ["--product-token-file", "right", "--twilio-account", "AC0123456789abcdef=right"]
    try await withSimulator(trust, ["right": "acme-secret\n", "wrong": "another-secret\n"]) { hub, folder in
      let host = try #require(hub.environment["PUSHCART_SMS_ALLOWED_HOSTS"])
      let twilio = "https://\(host)/2010-04-01/Accounts/AC0123456789abcdef/Messages.json"
      let providers = [
        ["--provider", "cm", "--url", "https://\(host)/v1.0/message", "--product-token-file"],
        ["--provider", "twilio", "--url", twilio, "--account-sid", "AC0123456789abcdef", "--auth-token-file"],
      ]
      for provider in providers {
        for (file, verdict) in [("right", "accepted"), ("wrong", "refused")] {
          let set = try await hub.run(
            ["sms", "set", "--customer", "1", "--sender", "+15005550006"] + provider + ["\(folder)/\(file)"])
          #expect(set.status == 0, "\(set.errors)")
          let check = try await hub.run("sms", "check", "--customer", "1")
          #expect(check.output.contains(verdict), "\(provider[1]) \(file): \(check)")
        }
      }
    }
  }

  @Test func `A file of an option of trust that cannot be used is named`() async throws {
    let folder = try TemporaryDirectory(named: "simulator")
    defer { folder.remove() }
    try "two words\n".write(toFile: "\(folder.path)/two", atomically: true, encoding: .utf8)
    for (option, argument, sentence) in [
      ("--huawei-client", "7=two", "The file two does not hold one word"),
      ("--product-token-file", "two", "The file two does not hold one word"),
      ("--windows-package", "ms-app://s-1=none", "The file none cannot be read."),
      ("--service-account", "two", "The file two is not a service account's key."),
    ] {
      let process = try RunningPushcart(
        ["simulator", "--ca-file", "ca.pem"] + Self.freePorts + [option, argument], environment: [:],
        folder: folder.path)
      #expect(await process.exit() == 1)
      #expect(process.text.contains(sentence), "\(process.text)")
    }
  }

  private static let freePorts = ["--free-ports", "--phone-port", "0"]

  /// Runs `body` beside a simulator with these options, and with the commands of a hub that is pointed at it and has a customer.
  /// - Parameter files: texts by name, in the folder that `body` gets.
  private func withSimulator(
    _ options: [String], _ files: [String: String],
    _ body: @escaping @Sendable (_ hub: Pushcart, _ folder: String) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory(named: "simulator")
    defer { folder.remove() }
    for (name, text) in files {
      try text.write(toFile: "\(folder.path)/\(name)", atomically: true, encoding: .utf8)
    }
    let process = try RunningPushcart(
      ["simulator", "--ca-file", "\(folder.path)/ca.pem"] + Self.freePorts + options, environment: [:],
      folder: folder.path)
    try await process.says("# Phone page: http")
    let settings = process.text.split(separator: "\n").filter { $0.hasPrefix("PUSHCART_") }.map { line in
      (String(line.prefix { $0 != "=" }), String(line.drop { $0 != "=" }.dropFirst()))
    }
    try await withPushcart { pushcart, _ in
      var hub = pushcart
      hub.environment = Dictionary(settings) { $1 }
      try await hub.run("customer", "add", "--name", "ACME")
      try await body(hub, folder.path)
    }
    process.signal(SIGTERM)
    #expect(await process.exit() == 0, "\(process.text)")
  }

  @Test func `The simulator command prints every setting that points a hub at it`() async throws {
    let folder = try TemporaryDirectory(named: "simulator")
    defer { folder.remove() }
    let simulator = try RunningPushcart(["simulator"] + Self.freePorts, environment: [:], folder: folder.path)
    try await simulator.says("# Phone page: http://localhost:")
    let lines = simulator.text.split(separator: "\n")
    let page = try #require(lines.first { $0.hasPrefix("# Phone page: ") }).dropFirst("# Phone page: ".count)
    #expect(lines.contains("PUSHCART_PAGE_FRAME_ANCESTORS=\(page)"))
    for name in PushService.all.flatMap(\.settings).map(\.variable) + ["PUSHCART_PROVIDER_CA_FILE"] {
      #expect(lines.contains { $0.hasPrefix("\(name)=") }, "\(name)")
    }
    simulator.signal(15)
    #expect(await simulator.exit() == 0)
  }

  private func value(of variable: String, in text: String) throws -> String {
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(variable)=") })
    return String(line.dropFirst(variable.count + 1))
  }

  @Test(arguments: [
    ("--trust", "TEAM/KEY", "team/key=file"), ("--trust", "TEAM=AuthKey.p8", "team/key=file"),
    ("--trust", "/KEY=AuthKey.p8", "team/key=file"), ("--huawei-client", "104567891", "client-id=file"),
    ("--huawei-client", "=secret.txt", "client-id=file"), ("--windows-package", "ms-app://s-1=", "package-sid=file"),
    ("--windows-client", "c-7=a/secret.txt", "tenant-id/client-id=file"),
    ("--windows-client", "acme.example/=secret.txt", "tenant-id/client-id=file"),
  ])
  func `A malformed option of trust is refused with its form`(
    _ option: String, _ argument: String, _ form: String
  ) async throws {
    let process = try RunningPushcart(["simulator", option, argument], environment: [:], folder: "/tmp")
    #expect(await process.exit() != 0)
    #expect(process.text.contains(form), "\(process.text)")
  }
}
