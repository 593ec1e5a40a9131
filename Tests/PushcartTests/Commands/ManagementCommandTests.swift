import Foundation
import Providers
import Support
import Testing
import Wire

@Suite struct ManagementCommandTests {
  /// The options for a signing key, whose file is written into the folder.
  private func signingKey(in folder: TemporaryDirectory) throws -> [String] {
    let credentials = APNsCredentials.sample
    let file = "\(folder.path)/AuthKey.p8"
    try credentials.signingKey.write(toFile: file, atomically: true, encoding: .utf8)
    return ["--team-id", credentials.teamID, "--key-id", credentials.keyID, "--signing-key", file]
  }

  /// Adds an iOS app that pushes can be sent to.
  @discardableResult
  private func addApp(_ appID: String, _ name: String, _ pushcart: Pushcart) async throws -> Pushcart.Outcome {
    let folder = try TemporaryDirectory(named: "app")
    defer { folder.remove() }
    return try await pushcart.run(
      ["app", "add", "--customer", "1", "--type", "ios", "--app-id", appID, "--name", name, "--json"]
        + (try signingKey(in: folder)))
  }

  @Test func `Commands alone can set up a customer`() async throws {
    try await withPushcart { pushcart, _ in
      let customer = try await pushcart.run("customer", "add", "--name", "ACME", "--json")
      #expect(customer.status == 0)
      #expect(try customer.json.integer("customerId") == 1)
      #expect(customer.errors == "")

      let key = try await pushcart.run(
        "key", "add", "--customer", "1", "--name", "app push user", "--scope", "backend", "--json")
      #expect(try key.json.string("token")?.hasPrefix("pck_1_") == true)
      #expect(try key.json.integer("keyId") == 1)

      let list = try await pushcart.run("list", "add", "--customer", "1", "--name", "newsletter", "--json")
      #expect(try list.json.integer("listId") == 1)
      let old = try await pushcart.run(
        "list", "add", "--customer", "1", "--name", "old", "--list-id", "1000000005", "--json")
      #expect(try old.json.integer("listId") == 1_000_000_005)

      let app = try await addApp("com.acme.app", "Acme", pushcart)
      #expect(try app.json.integer("appType") == 1)

      let sendout = try await pushcart.run(
        "send", "--customer", "1", "--app", "com.acme.app", "--all", "--alert", "Hi {{firstName}}", "--badge", "3",
        "--field", "campaign=friday", "kind=a=b", "--draft", "--json")
      #expect(sendout.status == 0, "\(sendout.errors)")
      #expect(try sendout.json.string("state") == "draft")
      #expect(try sendout.json["message"]?["fields"] == ["campaign": "friday", "kind": "a=b"])
      #expect(try sendout.json["message"]?.integer("badge") == 3)
      let shown = try await pushcart.run("sendout", "show", "1", "--customer", "1", "--json")
      #expect(shown.output == sendout.output)
    }
  }

  @Test func `Every change by a command is in the audit log, with who made it`() async throws {
    try await withPushcart { pushcart, _ in
      let folder = try TemporaryDirectory(named: "audit")
      defer { folder.remove() }
      try "<p>Hi</p>".write(toFile: "\(folder.path)/offer.html", atomically: true, encoding: .utf8)
      let send = ["send", "--app", "com.acme.app", "--all", "--alert", "Hi"]
      let changes: [(command: [String], lines: [String])] = [
        (["customer", "add", "--name", "ACME"], ["customer.add customer 1"]),
        (["key", "add", "--name", "k", "--scope", "backend"], ["key.add key 1"]),
        (["key", "revoke", "1"], ["key.revoke key 1"]),
        (["customer", "update", "--devices-per-contact", "9"], ["customer.change customer 1"]),
        (["links", "max-age", "--days", "90"], ["customer.change customer 1"]),
        (["links", "rotate"], ["links.rotate links"]),
        (
          ["app", "add", "--type", "ios", "--app-id", "com.acme.app", "--name", "Acme"] + (try signingKey(in: folder)),
          ["app.add app 1"]
        ),
        (["app", "update", "1", "--name", "Acme II"], ["app.change app 1"]),
        (["app", "identity", "1"], ["app.rotate_identity app 1"]),
        (["list", "add", "--name", "news"], ["list.add list 1"]),
        (
          ["template", "put", "--name", "offer", "--file", "\(folder.path)/offer.html"],
          ["template.save template offer"]
        ),
        (send + ["--draft"], ["sendout.add sendout 1"]),
        (["sendout", "start", "1"], ["sendout.start sendout 1"]),
        (["sendout", "pause", "1"], ["sendout.pause sendout 1"]),
        (["sendout", "resume", "1"], ["sendout.resume sendout 1"]),
        (["sendout", "cancel", "1"], ["sendout.cancel sendout 1"]),
        (send, ["sendout.add sendout 2", "sendout.start sendout 2"]),
      ]
      let hubWide = [["customer", "add"], ["links", "rotate"]]
      for (command, lines) in changes {
        let customer = hubWide.contains(Array(command.prefix(2))) ? [] : ["--customer", "1"]
        let outcome = try await pushcart.run(command + customer)
        #expect(outcome.status == 0, "\(command): \(outcome.errors)")
        let log = try await pushcart.run("audit", "--customer", "1", "--limit", "\(lines.count)", "--json").json
        let new = log.array("items")?.reversed() ?? []
        #expect(new.map { "\($0.string("action") ?? "") \($0.string("target") ?? "")" } == lines)
        #expect(new.allSatisfy { $0.string("osUser") == ProcessInfo.processInfo.userName && $0["keyId"] == nil })
      }
      let table = try await pushcart.run("audit", "--customer", "1", "--limit", "1").output
      #expect(table.contains("\(ProcessInfo.processInfo.userName), command line"))
    }
  }

  @Test func `A key can expire, be bound to an app, and be revoked with the keys that it created`() async throws {
    try await withPushcart { pushcart, database in
      try await pushcart.run("customer", "add", "--name", "ACME")
      try await pushcart.run(
        "app", "add", "--customer", "1", "--type", "ios", "--app-id", "com.acme.app", "--name", "Acme")
      let bound = try await pushcart.run(
        "key", "add", "--customer", "1", "--name", "k", "--scope", "device", "--app", "com.acme.app", "--days", "30",
        "--json"
      ).json
      #expect(bound.string("appId") == "com.acme.app" && bound.string("expiresAt") != nil)
      try await pushcart.run("key", "add", "--customer", "1", "--name", "child", "--scope", "device")
      try await database.query("UPDATE access_key SET created_by = 1 WHERE access_key_id = 2")
      let alone = try await pushcart.run("key", "revoke", "1", "--customer", "1").output
      #expect(alone.contains("still valid: 1") && alone.contains("--with-created"))
      let all = try await pushcart.run("key", "revoke", "1", "--customer", "1", "--with-created").output
      #expect(all.contains("So are the keys that it created: 2."))
    }
  }

  @Test func `A template from a file is listed and shown unchanged`() async throws {
    try await withPushcart { pushcart, _ in
      try await pushcart.run("customer", "add", "--name", "ACME")
      let folder = try TemporaryDirectory(named: "template")
      defer { folder.remove() }
      let text = "<h1>Hi {{firstName}}</h1>\n"
      try text.write(toFile: "\(folder.path)/offer.html", atomically: true, encoding: .utf8)
      let put = try await pushcart.run(
        "template", "put", "--customer", "1", "--name", "offer", "--file", "\(folder.path)/offer.html")
      #expect(put.output == "Template offer is saved as version 1, text/html; charset=utf-8.\n", "\(put.errors)")
      #expect(try await pushcart.run("template", "show", "offer", "--customer", "1").output == text)
      let list = try await pushcart.run("template", "list", "--customer", "1").output
      #expect(list.hasPrefix("Template  Version  Content type"))
    }
  }

  @Test func `An option's text can begin with a hyphen`() async throws {
    try await withPushcart { pushcart, _ in
      try await pushcart.run("customer", "add", "--name", "-ACME-")
      try await addApp("a.b", "--Acme", pushcart)
      let sendout = try await pushcart.run(
        "send", "--customer", "1", "--app", "a.b", "--all", "--name", "-20", "--alert", "-20 % today", "--info",
        "--only--",
        "--sound", "-", "--category", "-c", "--push-type", "pushtotalk", "--draft", "--json")
      #expect(sendout.status == 0, "\(sendout.errors)")
      let message = try sendout.json["message"]
      let texts = ["alert", "info", "sound", "category"].map { message?.string($0) }
      #expect(texts == ["-20 % today", "--only--", "-", "-c"])
      #expect(message?.string("pushType") == "pushtotalk")
      #expect(try sendout.json.string("name") == "-20")
      #expect(try await pushcart.run("customer", "list").output.contains("-ACME-"))
    }
  }

  @Test func `Only commands about credentials need the master key`() async throws {
    try await withPushcart { pushcart, _ in
      try await pushcart.run("customer", "add", "--name", "ACME")
      try await addApp("a.b", "Acme", pushcart)
      let keyless = Pushcart(databaseURL: pushcart.databaseURL, masterKey: "")
      let customer = ["--customer", "1"]
      for command in [
        ["app", "list"], ["send", "--app", "a.b", "--all", "--alert", "x", "--draft"], ["sendout", "list"],
        ["sendout", "show", "1"], ["sendout", "show", "1", "--pushes"], ["sendout", "start", "1"],
        ["why", "--sendout", "1", "--to", "lars@example.com"],
        ["sendout", "cancel", "1"], ["report", "sendouts"], ["key", "list"], ["list", "list"], ["template", "list"],
      ] {
        let outcome = try await keyless.run(command + customer)
        #expect(outcome.status == 0, "\(command): \(outcome.errors)")
      }
      let update = try await keyless.run(["app", "update", "a.b", "--name", "x"] + customer)
      #expect(update.status == 1)
      #expect(update.errors.contains("PUSHCART_MASTER_KEY"))
    }
  }

  @Test func `A list without --json is a table`() async throws {
    try await withPushcart { pushcart, _ in
      try await pushcart.run("customer", "add", "--name", "ACME")
      let none = try await pushcart.run("list", "list", "--customer", "1")
      #expect(none.output == "Customer 1 has no lists.\n")
      try await pushcart.run("list", "add", "--customer", "1", "--name", "newsletter")
      let lines = try await pushcart.run("list", "list", "--customer", "1").output.split(separator: "\n")
      #expect(lines.count == 3)
      #expect(lines[0] == "List  Name        Added (UTC)")
      #expect(lines[2].hasPrefix("   1  newsletter  20"))
    }
  }

  @Test func `Commands start, pause, resume and cancel a sendout`() async throws {
    try await withPushcart { pushcart, _ in
      try await pushcart.run("customer", "add", "--name", "ACME")
      try await addApp("a.b", "Acme", pushcart)
      try await pushcart.run("send", "--customer", "1", "--app", "a.b", "--all", "--alert", "x", "--draft")
      for (verb, state) in [
        ("start", "freezing"), ("pause", "paused"), ("resume", "freezing"), ("cancel", "cancelled"),
      ] {
        let outcome = try await pushcart.run("sendout", verb, "1", "--customer", "1", "--json")
        #expect(try outcome.json.string("state") == state)
      }
      let impossible = try await pushcart.run("sendout", "start", "1", "--customer", "1")
      #expect(impossible.status == 1)
      #expect(impossible.errors == "Error: Sendout 1 is cancelled, and start needs one that is draft or scheduled.\n")
      let list = try await pushcart.run("sendout", "list", "--customer", "1", "--json")
      #expect(try list.json.array("items")?.map { $0.string("state") } == ["cancelled"])
    }
  }

  @Test(arguments: [
    (["key", "add", "--customer", "9", "--name", "x", "--scope", "device"], "Error: There is no such customer.\n"),
    (["key", "revoke", "7", "--customer", "9"], "Error: There is no access key of this number.\n"),
    (["template", "show", "none", "--customer", "9"], "Error: There is no template of this name.\n"),
    (["sendout", "show", "7", "--customer", "9"], "Error: There is no sendout of this number.\n"),
    (
      ["template", "put", "--customer", "1", "--name", "x", "--file", "/nowhere"],
      "Error: The file /nowhere cannot be read.\n"
    ),
  ])
  func `A failed command prints one sentence on standard error and exits with 1`(
    arguments: [String], sentence: String
  ) async throws {
    try await withPushcart { pushcart, _ in
      let outcome = try await pushcart.run(arguments)
      #expect(outcome.status == 1)
      #expect(outcome.output == "")
      #expect(outcome.errors == sentence)
    }
  }

  @Test(arguments: [
    ["send", "--customer", "1", "--app", "a.b", "--alert", "x"],
    ["send", "--customer", "1", "--app", "a.b", "--alert", "x", "--all", "--list", "1"],
    ["list", "add", "--customer", "1", "--name", "x", "--list-id", "0"],
    ["send", "--customer", "1", "--app", "a.b", "--alert", "x", "--all", "--field", "novalue"],
    ["send", "--customer", "1", "--app", "a.b", "--alert", "x", "--all", "--draft", "--wait"],
    ["sendout", "show", "x", "--customer", "1"], ["sendout", "show", "1", "--customer", "1", "--state", "failed"],
    ["sendout", "list", "--customer", "1", "--limit", "0"], ["key", "add", "--name", "x"], ["customer", "add"],
    ["app", "add", "--customer", "1", "--type", "symbian", "--app-id", "a.b", "--name", "x"], ["nonsense"],
    ["report", "weather", "--customer", "1"], ["report", "timeline", "--customer", "1"],
    ["report", "devices", "--customer", "1", "--contact", "x"], ["report", "opens", "--customer", "1", "--limit", "0"],
    ["key", "add", "--customer", "1", "--name", "x", "--scope", "datasync"],
  ])
  func `A malformed command exits with 64`(arguments: [String]) async throws {
    let pushcart = Pushcart(databaseURL: "host=/nowhere", masterKey: "")
    let outcome = try await pushcart.run(arguments)
    #expect(outcome.status == 64)
    #expect(outcome.output == "")
    #expect(outcome.errors.hasPrefix("Error: "))
  }

  @Test func `An unreachable database is reported in one sentence`() async throws {
    let pushcart = Pushcart(databaseURL: "host=/nowhere", masterKey: "")
    let outcome = try await pushcart.run("customer", "list")
    #expect(outcome.status == 1)
    #expect(outcome.errors.hasPrefix("Error: the database is not available"))
    #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
  }

  @Test(arguments: [
    ["customer", "add"], ["app", "check"], ["send"], ["sendout", "cancel"], ["report"],
  ])
  func `Help shows an example`(command: [String]) async throws {
    let outcome = try await Pushcart(databaseURL: "", masterKey: "").run(command + ["--help"])
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("Example: pushcart \(command.joined(separator: " "))"))
  }
}
