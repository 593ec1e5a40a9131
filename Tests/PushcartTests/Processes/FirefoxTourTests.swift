import Foundation
import Support
import Testing
import Wire

/// Web Push from end to end: the demo with its sample page, a real Firefox, and the database.
@Suite struct FirefoxTourTests {
  @Test func `A browser subscribes on the sample page, shows a personal push, opens its page, and the open is counted`()
    async throws
  {
    let folder = try TemporaryDirectory(named: "firefox-tour")
    defer { folder.remove() }
    let ports = RunningDemo.FreePorts()
    let pushPort = try #require(ports.services["webpush-port"])
    let demo = try await RunningDemo(in: folder.path, ports)
    let site = try demo.phoneURL
    try await Firefox.run(
      pushService: "https://localhost:\(pushPort)", caFile: "\(folder.path)/.pushcart/simulator-ca.pem"
    ) { firefox in
      try await firefox.allowNotifications(from: site)
      try await firefox.open("\(site)/web")
      let state = try await firefox.page(
        """
        const [who, name, done] = arguments;
        const state = document.getElementById("state");
        new MutationObserver(() => {
          if (["registered", "failed"].includes(state.dataset.state)) done(state.textContent);
        }).observe(state, { attributes: true, attributeFilter: ["data-state"] });
        document.getElementById("who").value = who;
        document.getElementById("name").value = name;
        document.getElementById("subscribe").click();
        """, ["grace@example.com", "Grace"])
      try #require(state == "This browser is registered.", "\(state)")
      let registered = try await Self.psql(
        demo,
        """
        SELECT app_type, device.manufacturer, token LIKE '%https://localhost:\(pushPort)/wpush/v2/%'
        FROM device JOIN contact USING (customer_id, contact_id) JOIN push_app USING (customer_id, push_app_id)
        WHERE original_id = 'grace@example.com' AND first_name = 'Grace' AND device.invalidated_at IS NULL
        """)
      #expect(registered == "8|Mozilla|t")

      try await Self.send(["--info", "Your table is ready", "--template", "offer"], in: folder)
      let alert = try await firefox.alert(1)
      #expect(alert.title == "Hello Grace" && alert.text == "Your table is ready")
      #expect(try await Self.opened(demo) == "0")
      try await firefox.clickAlert(1)
      #expect(try await firefox.tab("http://localhost:\(ports.hub)/c/").contains("Grace"))
      try await waitUntil(every: .milliseconds(200)) { try await Self.opened(demo) != "0" }
      #expect(try await Self.opened(demo) == "1")

      // Without a page, a click calls the pushreadurl.
      try await Self.send([], in: folder)
      #expect(try await firefox.alert(2).text == "Hello Grace")
      try await firefox.clickAlert(2)
      try await waitUntil(every: .milliseconds(200)) { try await Self.opened(demo) != "1" }
      #expect(try await Self.opened(demo) == "2")

      // A browser that ends a subscription tells the worker, which registers another one.
      try await firefox.endSubscriptions()
      try await waitUntil(every: .milliseconds(200)) { try await Self.devices(demo) == "2" }
      try await Self.send([], in: folder)
      #expect(try await firefox.alert(3).text == "Hello Grace")
    }
    demo.process.signal(SIGINT)
    #expect(await demo.process.exit() == 0, "\(demo.text)")
  }

  /// Sends to the browser by the command line.
  private static func send(_ options: [String], in folder: TemporaryDirectory) async throws {
    let sent = try RunningPushcart(
      [
        "send", "--customer", "1", "--app", "com.example.shop.web", "--to", "grace@example.com", "--alert",
        "Hello {{firstName}}", "--wait", "--json",
      ] + options, environment: [:], folder: folder.path)
    try #require(await sent.exit() == 0, "\(sent.text)")
  }

  private static func devices(_ demo: RunningDemo) async throws -> String {
    try await psql(
      demo,
      "SELECT count(*) FROM device JOIN contact USING (customer_id, contact_id) WHERE original_id = 'grace@example.com'"
    )
  }

  private static func opened(_ demo: RunningDemo) async throws -> String {
    try await psql(demo, "SELECT sum(opened) FROM report.sendout_totals WHERE customer_id = 1")
  }

  private static func psql(_ demo: RunningDemo, _ query: String) async throws -> String {
    let answer = try await Shell.run("psql -XAt \"\(demo.database)\" <<'END'\n\(query)\nEND")
    return answer.output.trimmingCharacters(in: .newlines)
  }
}
