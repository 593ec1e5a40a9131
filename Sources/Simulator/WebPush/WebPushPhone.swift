import FoundationEssentials
import Wire

extension SimulatedWebPush {
  static let phone = PhoneKind(
    id: "web", name: "Browser", label: "browser",
    style: """
      .web { width: 540px; padding: 0; border-radius: 14px; background: none; }
      .web .screen {
        border-radius: 14px; color: var(--ink);
        background:
          radial-gradient(90% 50% at 50% 100%, light-dark(#ffd9b8, #46284a) 0%, transparent 70%),
          light-dark(#fdfdff, #1c1b22);
      }
      .web .statusbar { height: 46px; padding: 8px 16px 0; color: inherit; background: light-dark(#e4e4ec, #0c0c0d); }
      .web :is(.statusbar svg, .statusbar .time, .lock p, .homebar) { display: none; }
      .web .statusbar::before {
        content: ""; width: 56px; height: 12px; margin-top: -6px;
        background: radial-gradient(6px, #ff5f57 96%, transparent) 0 0 / 20px 12px no-repeat,
          radial-gradient(6px, #febc2e 96%, transparent) 20px 0 / 20px 12px no-repeat,
          radial-gradient(6px, #28c840 96%, transparent) 40px 0 / 20px 12px no-repeat;
      }
      .web .camera {
        position: static; width: 210px; height: 38px; margin: 0 auto 0 16px; border-radius: 9px 9px 0 0;
        background: light-dark(#fdfdff, #2b2a33); font: 500 .82rem/36px system-ui, sans-serif; padding: 0 14px;
      }
      .web .camera::before { content: "Sample shop"; }
      .web .lock { padding: 8px 14px; background: light-dark(#fdfdff, #2b2a33); border-bottom: 1px solid var(--line); text-shadow: none; }
      .web .lock::before {
        content: "shop.example.com"; display: block; padding: 5px 16px; border-radius: 8px; text-align: start; font-size: .85rem;
        color: var(--soft); background: light-dark(#f0f0f4, #1c1b22);
      }
      .web .cards { padding: 14px 14px 76px; }
      .web .card { width: 400px; margin: 0 0 10px auto; }
      .web .card button {
        border-radius: 10px; backdrop-filter: none; background: light-dark(#fff, #2e2e3c);
        box-shadow: 0 0 0 1px var(--line), 0 8px 24px #0002;
      }
      .web .icon { border-radius: 8px; }
      .web .app { text-transform: none; letter-spacing: 0; }
      .web .browser { inset: 46px 0 0; }
      .web .bar { padding-top: 10px; }
      @media (max-width: 430px) { .web .card { width: 100%; } }
      """)
}

extension PhonePush {
  /// A browser shows what its site's service worker makes of the text. This shows `alert` and `info`, as the sample page does.
  init(_ request: SimulatedWebPush.ReceivedRequest, number: Int? = nil) {
    let root = request.text.flatMap { Self.json($0) }
    self.init(
      number ?? request.number, SimulatedWebPush.phone, token: request.token, at: request.at,
      app: root?["app"]?.shownText ?? "Website",
      notes: request.text == nil ? ["Web Push", "encrypted"] : ["Web Push"],
      first: root?["alert"]?.shownText ?? root?["title"]?.shownText,
      second: root?["info"]?.shownText ?? root?["body"]?.shownText,
      silent: request.text == nil ? "Only the browser can read it" : "Silent push", badge: root?["badge"]?.shownCount,
      picture: root?["image"], data: root,
      payload: request.text.map { Self.formatted(root, or: $0) } ?? "\(request.payload.count) encrypted bytes")
  }
}
