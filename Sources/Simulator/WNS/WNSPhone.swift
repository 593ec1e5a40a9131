import FoundationEssentials
import Wire

extension SimulatedWNS {
  static let phone = PhoneKind(
    id: "windows", name: "Windows device", label: "Windows",
    style: """
      .windows {
        width: 640px; height: 440px; border-radius: 18px; padding: 10px 10px 26px;
        background: linear-gradient(180deg, #3a3d42, #17181b);
      }
      .windows .screen {
        border-radius: 8px; font-family: "Segoe UI", system-ui, "Noto Sans", sans-serif;
        background:
          radial-gradient(70% 90% at 50% 115%, light-dark(#4f9cf5, #1f5fc0) 0%, transparent 70%),
          light-dark(#bfe0fb, #0b1e3d);
      }
      .windows .statusbar {
        position: absolute; inset: auto 0 0; height: 40px; padding: 0 16px; font-size: .8rem; font-weight: 400;
        background: light-dark(#f3f3f3d9, #202020d9); color: light-dark(#1b1b1b, #fff);
      }
      .windows :is(.camera, .homebar) { display: none; }
      .windows .lock { position: absolute; left: 26px; bottom: 56px; padding: 0; text-align: start; opacity: .85; }
      .windows .clock { font-size: 2.6rem; font-weight: 300; letter-spacing: 0; }
      .windows .date { font-size: .95rem; }
      .windows .quiet { inset: 40% 20px auto auto; width: 360px; }
      .windows .cards { position: absolute; inset: 0 0 40px auto; width: 396px; padding: 12px 12px 52px; }
      .windows .card button {
        border-radius: 8px; padding: 14px 16px; background: light-dark(#f3f3f3f2, #2c2c2cf2);
        border: 1px solid light-dark(#0001, #fff1);
      }
      .windows .card button:hover { background: light-dark(#fff, #383838); }
      .windows .icon { width: 34px; height: 34px; border-radius: 4px; font-size: 1rem; }
      .windows .app { text-transform: none; letter-spacing: 0; font-size: .76rem; }
      .windows strong { font-weight: 600; }
      .windows .clear { bottom: 52px; left: auto; right: 20px; transform: none; border-radius: 4px; }
      .windows .bar { padding-top: 10px; }
      @media (max-width: 430px) { .phone.windows { border-radius: 18px; } .windows .cards { width: 100%; } }
      """)
}

extension PhonePush {
  /// Windows shows a toast, and a badge or a tile of the app. Of a raw notification, this shows what an app would make of `alert` and
  /// `info`.
  init(_ request: SimulatedWNS.ReceivedRequest, number: Int? = nil) {
    let isRaw = request.type == "wns/raw"
    let data = Self.json(isRaw ? request.payload : Array((request.attribute("launch") ?? "").utf8))
    let texts = isRaw ? [data?["alert"]?.shownText, data?["info"]?.shownText].compactMap(\.self) : request.texts
    let count =
      request.type == "wns/badge" ? request.attribute("value").flatMap { Int($0) } : data?["badge"]?.shownCount
    self.init(
      number ?? request.number, SimulatedWNS.phone, token: request.channel, at: request.at, app: request.app,
      notes: ["WNS"] + (request.type == "wns/toast" ? [] : [String(request.type.dropFirst(4))]), first: texts.first,
      second: texts.isEmpty ? nil : texts.dropFirst().joined(separator: "\n"),
      silent: count == nil ? "Silent push" : request.app, badge: count,
      picture: request.picture.map { .string($0) }, data: data,
      payload: isRaw ? Self.formatted(data, or: request.payload) : String(decoding: request.payload, as: UTF8.self))
  }
}
