import Wire

/// The phone page. Pushes received so far are in the HTML; the script adds later ones.
enum PhonePage {
  /// Most pushes on a screen.
  static let length = 60

  /// - Parameters:
  ///   - pushes: those to show, oldest first.
  ///   - devices: those that pushes were received for.
  ///   - watched: the one device to show; nil for all.
  ///   - last: the number of the last push received.
  static func html(
    _ pushes: [PhonePush], devices: [PhoneDevice], watched: String?, last: Int,
    addresses: [(variable: String, value: String)]
  ) -> String {
    let watchedPhone = watched == nil ? nil : pushes.first?.phone
    let phones = PhoneKind.all.filter { watchedPhone == nil || $0 == watchedPhone }
    return """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>Phones – Pushcart Simulator</title>
      <link rel="icon" href="/phone.svg">
      <link rel="stylesheet" href="/phone.css">
      <body data-last="\(last)" data-watched="\((watched ?? "").htmlEscaped)">
      <header>
        <img src="/phone.svg" alt="" width="36" height="36">
        <h1>Pushcart <small>Simulator</small></h1>
        <p class="live" id="live" role="status">connecting</p>
      </header>
      <nav aria-label="Devices">
        <h2>Devices</h2>
        <ul id="devices">
          <li><a href="/" \(watched == nil ? #"aria-current="page""# : "")>All devices</a></li>
          \(devices.map { line($0, isWatched: $0.isSame(as: watched)) }.joined(separator: "\n    "))
        </ul>
        <p class="hint" id="hint" \(devices.isEmpty ? "" : "hidden")>A device appears with its first push.</p>
      </nav>
      <main>
        \(phones.map { kind in PhoneScreen.html(kind, pushes.filter { $0.phone == kind }) }.joined(separator: "\n  "))
      </main>
      <aside>
        <section aria-label="Payload">
          <h2>Payload</h2>
          <pre id="payload" tabindex="0">Point at a notification to see its payload.</pre>
        </section>
        <section>
          <h2>Point the hub here</h2>
          <dl>\(addresses.map { "<dt>\($0.variable.htmlEscaped)</dt><dd>\($0.value.htmlEscaped)</dd>" }.joined())</dl>
        </section>
        <details>
          <summary>Test tokens</summary>
          \(PushSimulator.kinds.map { table($0.testTokenTable) }.filter { !$0.isEmpty }.joined(separator: "\n      "))
        </details>
      </aside>
      <script src="/phone.js"></script>

      """
  }

  /// A device's line in the list.
  static func line(_ device: PhoneDevice, isWatched: Bool) -> String {
    """
    <li><a href="/?token=\(device.token.percentEncoded.htmlEscaped)" data-token="\(device.token.htmlEscaped)" \
    \(isWatched ? #"aria-current="page""# : "")><code>\(device.token.prefix(8).htmlEscaped)…\(device.token.suffix(4).htmlEscaped)\
    </code> <small>\(device.label.htmlEscaped)</small></a></li>
    """
  }

  /// Empty for a service without test tokens.
  private static func table(_ tokens: (introduction: String, rows: [(prefix: String, meaning: String)])) -> String {
    guard !tokens.rows.isEmpty else { return "" }
    let lines = tokens.rows.map { "<tr><td><code>\($0.prefix)</code></td><td>\($0.meaning.htmlEscaped)</td></tr>" }
    return "<p>\(tokens.introduction)</p>\n      <table>\(lines.joined())</table>"
  }
}

/// A device that pushes were received for.
struct PhoneDevice {
  var token: String
  /// The app's name, and what else tells devices apart.
  var label: String
  private var phone: PhoneKind

  init(_ push: PhonePush) {
    token = push.token
    phone = push.phone
    label = push.app
    if let own = phone.label { label += ", \(own)" }
    if push.notes.contains(SimulatedAPNs.Environment.sandbox.rawValue) { label += ", sandbox" }
  }

  /// Whether somebody named this device; false for nil.
  func isSame(as token: String?) -> Bool { token.map { phone.isSame(self.token, $0) } ?? false }
}
