import Foundation
import Registry
import Simulator
import Support
import Testing
import Wire

@Suite struct MessageCommandTests {
  @Test func `A preview prints the request for each app, its size, and what was left out`() async throws {
    try await withPreviews { preview in
      let info = String(repeating: "i", count: 5000)
      let shown = try await preview("--to", "user1@example.com", "--alert", "Hi {{firstName}}", "--info", info)
      #expect(shown.status == 0, "\(shown.errors)")
      let lines = shown.output.split(separator: "\n")
      #expect(
        try #require(lines.first).wholeMatch(of: #/com.acme.app, ios by APNs: \d+ of 4096 bytes, info dropped/#) != nil)
      #expect(lines.dropFirst().first?.hasPrefix("POST https://127.0.0.1:1/3/device/") == true)
      #expect(lines.contains("authorization: bearer …") && lines.contains("apns-topic: com.acme.app"))
      let body = try JSONValue(parsing: try #require(lines.first { $0.hasPrefix("{") }).utf8)
      #expect(body.string("alert") == "Hi N1" && body["info"] == nil)
      #expect(shown.output.hasSuffix("\n\ncom.acme.bare, ios\nThe app has no signingKey.\n"), "\(shown.output)")

      let json = try await preview("--app", SendingBench.appID, "--alert", "Hi", "--info", info, "--json").json
      let request = try #require(json.array("requests")?.first)
      #expect(json.array("requests")?.count == 1 && request.string("dropped") == "info dropped")
      #expect(request.string("method") == "POST" && request.integer("limit") == 4096)
      #expect(request["headers"]?.string("authorization") == "bearer …")
      #expect(request["body"]?.string("alert") == "Hi")
      let none = try await preview("--type", "web", "--alert", "Hi")
      #expect(none.output == "Customer 1 has no such app.\n", "\(none.errors)")
      #expect(try await preview("--to", "nobody", "--alert", "Hi").status == 1)
    }
  }

  @Test func `Fields marked optional are left out where a message is too large`() async throws {
    try await withPreviews { preview in
      let long = "note=" + String(repeating: "n", count: 5000)
      let app = ["--app", SendingBench.appID, "--alert", "Hi"]
      let shown = try await preview(app + ["--field", "a=1", "--optional-field", "b=2", long, "--json"])
      let request = try #require(try shown.json.array("requests")?.first, "\(shown.errors)")
      #expect(request.string("dropped") == "optional fields dropped")
      #expect(request["body"]?.string("a") == "1" && request["body"]?["b"] == nil && request["body"]?["note"] == nil)
      let kept = try await preview(app + ["--optional-field", "b=2=3", "--json"]).json.array("requests")?.first
      #expect(kept?["body"]?.string("b") == "2=3" && kept?["dropped"] == nil)
      let refused = try await preview(app + ["--field", long]).output
      #expect(refused.contains("\nThe push is refused: PayloadTooLarge.\n"), "\(refused)")
      #expect(try await preview(app + ["--optional-field", "b"]).errors.contains("--optional-field takes name=value."))
    }
  }

  @Test func `A file of overrides changes the request of its service, and a wrong one is refused with a sentence`()
    async throws
  {
    try await withPreviews { preview in
      let folder = try TemporaryDirectory(named: "overrides")
      defer { folder.remove() }
      let file = "\(folder.path)/overrides.json"
      func overridden(_ json: String, _ more: String...) async throws -> Pushcart.Outcome {
        try json.write(toFile: file, atomically: true, encoding: .utf8)
        return try await preview(["--app", SendingBench.appID, "--alert", "Hi", "--overrides", file] + more)
      }
      let taken = try await overridden(
        #"{"apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"thread-id":"t"}}},"fcm":{"data":{"x":"y"}}}"#,
        "--json")
      let request = try #require(try taken.json.array("requests")?.first, "\(taken.errors)")
      #expect(request["headers"]?.string("apns-priority") == "5")
      #expect(request["body"]?["aps"]?.string("thread-id") == "t")
      for (json, sentence) in Self.refused {
        let outcome = try await overridden(json)
        #expect(outcome.status == 1 && outcome.output == "")
        #expect(outcome.errors == "Error: \(sentence)\n")
      }
      let missing = try await preview("--alert", "Hi", "--overrides", "none.json")
      #expect(missing.errors == "Error: The file none.json cannot be read.\n")
    }
  }

  private static let refused: [(json: String, sentence: String)] = [
    (
      #"{"pager":{}}"#,
      "The file of --overrides is refused: pager is not a known field; known are \(overridden.joined(separator: ", "))."
    ),
    (#"{"wns":{"type":7}}"#, "The file of --overrides is refused: wns.type must be a string."),
    ("{", "The file of --overrides is not well-formed JSON at byte 1."),
    ("[]", "The file of --overrides must be an object."),
    (
      #"{"fcm":{"token":"t"}}"#,
      "--overrides.fcm.token cannot be overridden; known are android, apns, data, fcm_options, notification, webpush."
    ),
  ]

  /// The services that an override can be for.
  private static var overridden: [String] {
    if case .object(let fields, _, _) = MessageOverrides.schema.shape { fields.map(\.name) } else { [] }
  }

  @Test func `A file of translations says it in the contact's language, and a wrong one is refused with a sentence`()
    async throws
  {
    try await withPreviews { preview in
      let folder = try TemporaryDirectory(named: "translations")
      defer { folder.remove() }
      let file = "\(folder.path)/translations.json"
      func translated(_ json: String, _ more: String...) async throws -> Pushcart.Outcome {
        try json.write(toFile: file, atomically: true, encoding: .utf8)
        return try await preview(
          ["--app", SendingBench.appID, "--alert", "Hi", "--to", "user1@example.com", "--translations", file] + more)
      }
      // The contact of the bench speaks Swedish.
      let taken = try await translated(#"{"pt-BR":{"alert":"Oi"},"SV":{"alert":"Hej {{firstName}}"}}"#, "--json")
      let request = try #require(try taken.json.array("requests")?.first, "\(taken.errors)")
      #expect(request["body"]?.string("alert") == "Hej N1")
      for (json, sentence) in [
        (#"{"sv":{"title":"x"}}"#, "The file of --translations is refused: sv.title is not a known field; known are"),
        (#"{"sv":"x"}"#, "The file of --translations is refused: sv must be an object."),
        ("[]", "The file of --translations must be an object."),
        (#"{"no tag":{"alert":"x"}}"#, "--translations.no tag names no language: use a tag of BCP 47"),
        (#"{"sv":{"alert":"{{#x}}"}}"#, "--translations.sv.alert"),
      ] {
        let outcome = try await translated(json)
        #expect(outcome.status == 1 && outcome.output == "")
        #expect(outcome.errors.hasPrefix("Error: \(sentence)"), "\(outcome.errors)")
      }
    }
  }

  /// A customer with an app of iOS and one without credentials, where `preview` runs the command.
  private func withPreviews(
    _ body: @escaping @Sendable (PreviewCommand) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      try await bench.database.query("UPDATE contact SET language = 'sv-SE'")
      _ = try await PushApps(bench.pool, vault: bench.vault).add(
        bench.customer, NewPushApp(appID: "com.acme.bare", type: .ios, name: "Bare"))
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      try await body(PreviewCommand(pushcart: pushcart, customer: bench.customer))
      #expect(bench.simulator.apns.count == 0)
    }
  }

  private struct PreviewCommand: Sendable {
    let pushcart: Pushcart
    let customer: CustomerID

    func callAsFunction(_ options: String...) async throws -> Pushcart.Outcome { try await self(options) }

    func callAsFunction(_ options: [String]) async throws -> Pushcart.Outcome {
      try await pushcart.run(["message", "preview", "--customer", "\(customer)"] + options)
    }
  }
}
