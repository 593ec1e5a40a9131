import FoundationEssentials
import Wire

/// A notification on a phone.
enum PhoneCard {
  /// Everything in it is escaped here, since the script inserts it as it is.
  static func html(_ push: PhonePush) -> String {
    let leads = push.url != nil ? "Opens its page" : push.pushReadURL != nil ? "Marks it as read" : "Has no page"
    let notes = push.notes.joined(separator: " · ")
    return """
      <li class="card\(push.isSilent ? " silent" : "")" data-number="\(push.number)" data-url="\((push.url ?? "").htmlEscaped)" \
      data-read="\((push.pushReadURL ?? "").htmlEscaped)" data-payload="\(push.payload.htmlEscaped)">
        <button type="button" title="\(leads)">
          <span class="icon" aria-hidden="true" style="--hue: \(hue(push.app))">\(push.app.prefix(1).htmlEscaped)\
      \(push.badge.map { $0 > 0 ? "<b>\($0)</b>" : "" } ?? "")</span>
          <span class="what"><span class="app">\(push.app.htmlEscaped)</span>
            <strong dir="auto">\(push.title.htmlEscaped)</strong>
            \(push.text.isEmpty ? "" : #"<span class="text" dir="auto">\#(push.text.htmlEscaped)</span>"#)
            <span class="meta">\(push.token.prefix(8).htmlEscaped)… · \(notes.htmlEscaped)<span class="state"></span></span>
          </span>
          <span class="side"><time data-at="\(Int64(push.at.timeIntervalSince1970 * 1000))">now</time>\(picture(push))</span>
        </button>
      </li>
      """
  }

  private static func picture(_ push: PhonePush) -> String {
    push.picture.map { #"<img class="picture" src="\#($0.htmlEscaped)" alt="" referrerpolicy="no-referrer">"# } ?? ""
  }

  /// An app's colour.
  private static func hue(_ app: String) -> Int { app.utf8.reduce(7) { ($0 * 31 + Int($1)) % 360 } }
}

/// A phone with its notifications, and the browser that a tap opens.
enum PhoneScreen {
  static func html(_ kind: PhoneKind, _ pushes: [PhonePush]) -> String {
    let cards = pushes.reversed().map(PhoneCard.html).joined()
    return """
      <div class="phone \(kind.look) \(kind.id)" data-phone="\(kind.id)" role="group" aria-label="\(kind.name)">
        <div class="screen">
          <div class="statusbar" aria-hidden="true"><span class="time"></span><i class="camera"></i>\(signs)</div>
          <div class="lock"><p class="date"></p><p class="clock" role="timer" aria-live="off"></p></div>
          <ol class="cards" aria-label="Notifications" aria-live="polite">\(cards)</ol>
          <p class="quiet" \(cards.isEmpty ? "" : "hidden")>No notifications yet</p>
          <button class="clear" type="button" \(cards.isEmpty ? "hidden" : "")>Clear</button>
          <section class="browser" aria-label="Rich page" hidden>
            <div class="bar">
              <button type="button" class="done">Done</button>
              <span class="host"></span>
              <a class="tab" target="_blank" rel="noreferrer" title="If the page stays empty, it does not allow frames">In a tab ↗</a>
            </div>
            <iframe title="Rich page" referrerpolicy="no-referrer"
              sandbox="allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox"></iframe>
          </section>
          <i class="homebar" aria-hidden="true"></i>
        </div>
      </div>
      """
  }

  private static let signs = """
    <svg viewBox="0 0 62 14" width="62" height="14" fill="currentColor"><rect x="0" y="8" width="3" height="6" rx="1"/>\
    <rect x="5" y="5.5" width="3" height="8.5" rx="1"/><rect x="10" y="3" width="3" height="11" rx="1"/>\
    <rect x="15" y="0" width="3" height="14" rx="1"/><path d="M29 12.5l3-3.4a4.2 4.2 0 0 0-6 0zM21.5 4.3a10.7 10.7 0 0 1 \
    15 0l-1.8 2a8 8 0 0 0-11.4 0z"/><rect x="41.500" y="1.500" width="17" height="11" rx="3" fill="none" \
    stroke="currentColor" opacity=".5"/><rect x="43" y="3" width="12" height="8" rx="1.700"/><rect x="59.500" y="5" \
    width="2" height="4" rx="1" opacity=".5"/></svg>
    """
}
