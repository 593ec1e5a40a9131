import FoundationEssentials
import Wire

/// The phone page. Pushes received so far are in the HTML; the script adds later ones.
enum PhonePage {
  /// Most pushes on the screen.
  static let length = 60

  /// - Parameters:
  ///   - requests: those to show, oldest first.
  ///   - devices: those that pushes were received for.
  ///   - watched: the one device to show; nil for all.
  static func html(
    _ requests: [SimulatedAPNs.ReceivedRequest], devices: [PhoneDevice], watched: String?, addresses: [(String, String)]
  ) -> String {
    let cards = requests.suffix(length).reversed().map { card(PhonePush($0)) }.joined()
    let last = requests.last?.number ?? 0
    return """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>Phone – Pushcart Simulator</title>
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
          \(devices.map { device($0, isWatched: $0.token == watched) }.joined(separator: "\n    "))
        </ul>
        <p class="hint" id="hint" \(devices.isEmpty ? "" : "hidden")>A device appears with its first push.</p>
      </nav>
      <main>
        <div class="phone" aria-label="Phone">
          <div class="screen">
            <div class="statusbar" aria-hidden="true"><span id="time"></span><i class="island"></i>\(Self.signs)</div>
            <div class="lock"><p id="date"></p><p id="clock" role="timer" aria-live="off"></p></div>
            <ol class="cards" id="cards" aria-label="Notifications" aria-live="polite">\(cards)</ol>
            <p class="quiet" id="quiet" \(cards.isEmpty ? "" : "hidden")>No notifications yet</p>
            <button class="clear" id="clear" type="button" \(cards.isEmpty ? "hidden" : "")>Clear</button>
            <section class="browser" id="browser" aria-label="Rich page" hidden>
              <div class="bar">
                <button type="button" id="done">Done</button>
                <span id="host"></span>
                <a id="tab" target="_blank" rel="noreferrer" title="If the page stays empty, it does not allow frames">In a tab ↗</a>
              </div>
              <iframe id="frame" title="Rich page" referrerpolicy="no-referrer"
                sandbox="allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox"></iframe>
            </section>
            <i class="homebar" aria-hidden="true"></i>
          </div>
        </div>
      </main>
      <aside>
        <section aria-label="Payload">
          <h2>Payload</h2>
          <pre id="payload" tabindex="0">Point at a notification to see its payload.</pre>
        </section>
        <section>
          <h2>Point the hub here</h2>
          <dl>\(addresses.map { "<dt>\($0.0.htmlEscaped)</dt><dd>\($0.1.htmlEscaped)</dd>" }.joined())</dl>
        </section>
        <details>
          <summary>Test tokens</summary>
          <p>The first digits of a device token select the reply:</p>
          <table>\(TestTokens.table.map { "<tr><td><code>\($0.prefix)</code></td><td>\($0.meaning.htmlEscaped)</td></tr>" }.joined())</table>
        </details>
      </aside>
      <script src="/phone.js"></script>

      """
  }

  /// One notification. Everything in it is escaped here, since the script inserts it as it is.
  static func card(_ push: PhonePush) -> String {
    let leads = push.url != nil ? "Opens its page" : push.pushReadURL != nil ? "Marks it as read" : "Has no page"
    return """
      <li class="card\(push.isSilent ? " silent" : "")" data-number="\(push.number)" data-url="\((push.url ?? "").htmlEscaped)" \
      data-read="\((push.pushReadURL ?? "").htmlEscaped)" data-payload="\(push.payload.htmlEscaped)">
        <button type="button" title="\(leads)">
          <span class="icon" aria-hidden="true" style="--hue: \(hue(push.app))">\(push.app.prefix(1).htmlEscaped)\
      \(push.badge.map { $0 > 0 ? "<b>\($0)</b>" : "" } ?? "")</span>
          <span class="what"><span class="app">\(push.app.htmlEscaped)</span>
            <strong dir="auto">\(push.title.htmlEscaped)</strong>
            \(push.text.isEmpty ? "" : #"<span class="text" dir="auto">\#(push.text.htmlEscaped)</span>"#)
            <span class="meta">\(push.token.prefix(8).htmlEscaped)… · \(push.environment.rawValue)<span class="state"></span></span>
          </span>
          <time data-at="\(Int64(push.at.timeIntervalSince1970 * 1000))">now</time>
        </button>
      </li>
      """
  }

  /// A device's line in the list.
  static func device(_ device: PhoneDevice, isWatched: Bool) -> String {
    """
    <li><a href="/?token=\(device.token.htmlEscaped)" data-token="\(device.token.htmlEscaped)" \
    \(isWatched ? #"aria-current="page""# : "")><code>\(device.token.prefix(8).htmlEscaped)…\(device.token.suffix(4).htmlEscaped)\
    </code> <small>\(device.app.htmlEscaped)\(device.environment == .sandbox ? ", sandbox" : "")</small></a></li>
    """
  }

  /// An app's colour.
  private static func hue(_ app: String) -> Int { app.utf8.reduce(7) { ($0 * 31 + Int($1)) % 360 } }

  private static let signs = """
    <svg viewBox="0 0 62 14" width="62" height="14" fill="currentColor"><rect x="0" y="8" width="3" height="6" rx="1"/>\
    <rect x="5" y="5.5" width="3" height="8.5" rx="1"/><rect x="10" y="3" width="3" height="11" rx="1"/>\
    <rect x="15" y="0" width="3" height="14" rx="1"/><path d="M29 12.5l3-3.4a4.2 4.2 0 0 0-6 0zM21.5 4.3a10.7 10.7 0 0 1 \
    15 0l-1.8 2a8 8 0 0 0-11.4 0z"/><rect x="41.500" y="1.500" width="17" height="11" rx="3" fill="none" \
    stroke="currentColor" opacity=".5"/><rect x="43" y="3" width="12" height="8" rx="1.700"/><rect x="59.500" y="5" \
    width="2" height="4" rx="1" opacity=".5"/></svg>
    """
}

/// A device that pushes were received for.
struct PhoneDevice {
  var token: String
  var app: String
  var environment: SimulatedAPNs.Environment

  init(_ push: PhonePush) {
    token = push.token
    app = push.app
    environment = push.environment
  }
}
