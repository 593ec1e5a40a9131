import Foundation
public import Wire

/// A real Firefox without a window, with a new profile. It asks nobody but this machine, and its push service is a Simulator.
public struct Firefox: Sendable {
  private let marionette: Marionette

  struct Missing: Error, CustomStringConvertible {
    let description =
      "Firefox is missing, and Web Push is proved in a real one. Debian and Ubuntu: .ci/setup test, or apt-get install firefox-esr. "
      + "Elsewhere, put firefox into PATH."
  }

  /// Runs `body` with a Firefox of its own.
  /// - Parameters:
  ///   - pushService: the Simulator's, as in `https://localhost:8447`.
  ///   - caFile: file of the certificate that it trusts for that, in PEM.
  /// - Throws: a sentence that says how to get Firefox, if it is missing.
  public static func run(
    pushService: String, caFile: String, _ body: @Sendable (Firefox) async throws -> Void
  ) async throws {
    let program = try executable()
    let profile = try TemporaryDirectory(named: "firefox")
    defer { profile.remove() }
    try preferences.write(toFile: "\(profile.path)/user.js", atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = program
    process.arguments = [
      "--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", profile.path,
    ]
    process.environment = ["HOME": profile.path, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    let portFile = "\(profile.path)/MarionetteActivePort"
    var port: Int?
    try await waitUntil {
      guard process.isRunning else {
        throw Marionette.Failure(description: "Firefox ended before it could be controlled.")
      }
      port = (try? String(contentsOfFile: portFile, encoding: .utf8)).flatMap { Int($0) }
      return port != nil
    }
    let firefox = Firefox(marionette: try await Marionette(port: port ?? 0))
    try await firefox.prepare(pushService, caFile)
    try await body(firefox)
  }

  private static func executable() throws -> URL {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/bin"]
    for name in ["firefox-esr", "firefox"] {
      for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/\(name)") {
        return URL(filePath: "\(folder)/\(name)")
      }
    }
    throw Missing()
  }

  /// Firefox's own recommendation for tests ends most calls home. A proxy where nobody listens ends all others.
  private static let preferences = """
    user_pref("marionette.port", 0);
    user_pref("network.proxy.type", 1);
    user_pref("network.proxy.http", "127.0.0.1");
    user_pref("network.proxy.http_port", 9);
    user_pref("network.proxy.ssl", "127.0.0.1");
    user_pref("network.proxy.ssl_port", 9);
    user_pref("network.proxy.no_proxies_on", "localhost, 127.0.0.1");
    user_pref("network.trr.mode", 5);
    user_pref("network.captive-portal-service.enabled", false);
    user_pref("network.connectivity-service.enabled", false);
    user_pref("app.update.disabledForTesting", true);
    user_pref("app.normandy.enabled", false);
    user_pref("browser.safebrowsing.downloads.remote.enabled", false);
    user_pref("browser.safebrowsing.malware.enabled", false);
    user_pref("browser.safebrowsing.phishing.enabled", false);
    user_pref("datareporting.policy.dataSubmissionEnabled", false);
    user_pref("services.settings.server", "data:,");
    user_pref("toolkit.telemetry.server", "data:,");
    user_pref("toolkit.telemetry.unified", false);
    user_pref("dom.push.connection.enabled", false);
    user_pref("dom.push.retryBaseInterval", 1);

    """

  /// Trusts the certificate, points Firefox at its push service, and notes notifications instead of showing them on no screen.
  private func prepare(_ pushService: String, _ caFile: String) async throws {
    _ = try await marionette.send(
      "WebDriver:NewSession", ["capabilities": ["alwaysMatch": ["pageLoadStrategy": "normal"]]])
    let timeouts: JSONValue = ["script": 600_000, "pageLoad": 600_000, "implicit": 0]
    _ = try await marionette.send("WebDriver:SetTimeouts", timeouts)
    let certificate = try String(contentsOfFile: caFile, encoding: .utf8).split(separator: "\n")
      .filter { !$0.hasPrefix("-----") }.joined()
    let push = pushService.replacing("https://", with: "wss://") + "/"
    _ = try await chrome(
      """
      const [certificate, push, done] = arguments;
      Cc["@mozilla.org/security/x509certdb;1"].getService(Ci.nsIX509CertDB).addCertFromBase64(certificate, "CTu,CTu,CTu");
      window.shownAlerts = [];
      window.alertWaiters = [];
      const service = {
        QueryInterface: ChromeUtils.generateQI(["nsIAlertsService"]),
        showAlert(alert, observer) {
          observer?.observe(null, "alertshow", alert.cookie);
          window.shownAlerts.push({ alert, observer });
          for (const waiter of window.alertWaiters.splice(0)) waiter();
        },
        closeAlert() {}, teardown() {}, pbmTeardown() {},
      };
      Components.manager.QueryInterface(Ci.nsIComponentRegistrar).registerFactory(
        Services.uuid.generateUUID(), "noted alerts", "@mozilla.org/alerts-service;1",
        { createInstance: iid => service.QueryInterface(iid) });
      Services.prefs.setStringPref("dom.push.serverURL", push);
      Services.prefs.setBoolPref("dom.push.connection.enabled", true);
      done();
      """, [.string(certificate), .string(push)])
  }
}

// MARK: - What a person does

extension Firefox {
  /// Opens a page, and waits until it is loaded.
  public func open(_ url: String) async throws {
    _ = try await marionette.send("Marionette:SetContext", ["value": "content"])
    _ = try await marionette.send("WebDriver:Navigate", ["url": .string(url)])
  }

  /// Allows a site to show notifications, as a click on the browser's own question does.
  public func allowNotifications(from origin: String) async throws {
    _ = try await chrome(
      """
      const [origin, done] = arguments;
      const principal = Services.scriptSecurityManager.createContentPrincipalFromOrigin(origin);
      Services.perms.addFromPrincipal(principal, "desktop-notification", Services.perms.ALLOW_ACTION);
      done();
      """, [.string(origin)])
  }

  /// Runs a script in the page, and waits until it calls its last argument.
  public func page(_ script: String, _ arguments: [JSONValue] = []) async throws -> JSONValue {
    try await run(script, arguments, in: "content")
  }

  /// What a notification says.
  public struct Alert: Sendable {
    public let title: String
    public let text: String
    public let image: String
  }

  /// Waits until so many notifications were shown since the start, and returns the last of these.
  public func alert(_ number: Int) async throws -> Alert {
    let shown = try await chrome(
      """
      const [number, done] = arguments;
      function look() {
        if (window.shownAlerts.length < number) return window.alertWaiters.push(look);
        const { alert } = window.shownAlerts[number - 1];
        done({ title: alert.title, text: alert.text, image: alert.imageURL ?? "" });
      }
      look();
      """, [.integer(Int64(number))])
    return Alert(
      title: shown.string("title") ?? "", text: shown.string("text") ?? "", image: shown.string("image") ?? "")
  }

  /// Clicks the notification of that number.
  public func clickAlert(_ number: Int) async throws {
    _ = try await chrome(
      """
      const [number, done] = arguments;
      const { alert, observer } = window.shownAlerts[number - 1];
      observer.observe(null, "alertclickcallback", alert.cookie);
      done();
      """, [.integer(Int64(number))])
  }

  /// Has the browser come back to its push service under another name, which ends all subscriptions. It tells their service workers.
  public func endSubscriptions() async throws {
    _ = try await chrome(
      """
      const done = arguments[0];
      Services.prefs.setBoolPref("dom.push.connection.enabled", false);
      Services.prefs.clearUserPref("dom.push.userAgentID");
      Services.prefs.setBoolPref("dom.push.connection.enabled", true);
      done();
      """)
  }

  /// Waits until a tab has loaded a page whose address begins so, and returns the page's text.
  public func tab(_ start: String) async throws -> String {
    _ = try await chrome(
      """
      const [start, done] = arguments;
      function look() {
        const isThere = gBrowser.browsers.some(
          browser => browser.currentURI.spec.startsWith(start) && !browser.webProgress.isLoadingDocument);
        if (!isThere) return;
        gBrowser.removeTabsProgressListener(listener);
        done();
      }
      const listener = { onStateChange: look, onLocationChange: look };
      gBrowser.addTabsProgressListener(listener);
      look();
      """, [.string(start)])
    _ = try await marionette.send("Marionette:SetContext", ["value": "content"])
    guard case .array(let handles) = try await marionette.send("WebDriver:GetWindowHandles") else { return "" }
    for handle in handles {
      _ = try await marionette.send("WebDriver:SwitchToWindow", ["handle": handle])
      let url = try await marionette.send("WebDriver:GetCurrentURL").string("value") ?? ""
      if url.hasPrefix(start) {
        return try await page("arguments[0](document.body.innerText)").text ?? ""
      }
    }
    return ""
  }

  private func chrome(_ script: String, _ arguments: [JSONValue] = []) async throws -> JSONValue {
    try await run(script, arguments, in: "chrome")
  }

  private func run(_ script: String, _ arguments: [JSONValue], in context: String) async throws -> JSONValue {
    _ = try await marionette.send("Marionette:SetContext", ["value": .string(context)])
    return try await marionette.send(
      "WebDriver:ExecuteAsyncScript",
      ["script": .string(script), "args": .array(arguments), "sandbox": "pushcart", "newSandbox": false])["value"]
      ?? .null
  }
}
