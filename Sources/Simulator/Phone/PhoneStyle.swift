/// The phone page's style, light or dark as the system is set, and its icon.
enum PhoneStyle {
  static let text = """
    :root {
      color-scheme: light dark;
      --ink: light-dark(#1c1c28, #ececf4); --soft: light-dark(#5f6072, #a3a4b8); --line: light-dark(#dcdce8, #2e2e40);
      --ground: light-dark(#f1f1f7, #12121b); --sheet: light-dark(#ffffff, #1b1b28); --accent: light-dark(#4f46e5, #a5a0ff);
    }
    * { box-sizing: border-box; }
    [hidden] { display: none !important; }
    body {
      margin: 0; min-height: 100vh; padding: 1.25rem 2rem 2rem; color: var(--ink); background: var(--ground);
      font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
      display: grid; gap: 1.25rem 2.5rem; grid-template: auto 1fr / minmax(210px, 1fr) auto minmax(240px, 1fr);
    }
    header { grid-column: 1 / -1; display: flex; align-items: center; gap: .75rem; }
    h1 { font-size: 1.3rem; letter-spacing: -.02em; margin: 0; }
    h1 small { font-weight: 400; color: var(--soft); }
    h2 { font-size: .75rem; text-transform: uppercase; letter-spacing: .08em; color: var(--soft); margin: 0 0 .5rem; }
    a { color: var(--accent); }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
    .live { margin: 0 0 0 auto; color: var(--soft); font-size: .85rem; }
    .live::before {
      content: ""; display: inline-block; width: .55rem; height: .55rem; border-radius: 50%; margin-right: .45rem;
      background: #e0a13a;
    }
    .live.on::before { background: #2fb56a; box-shadow: 0 0 0 3px #2fb56a33; }

    nav ul { list-style: none; margin: 0; padding: 0; max-height: 70vh; overflow: auto; }
    nav a {
      display: flex; justify-content: space-between; gap: .75rem; align-items: baseline; padding: .5rem .75rem;
      border-radius: .6rem; color: inherit; text-decoration: none;
    }
    nav a:hover { background: light-dark(#e6e6f1, #1f1f2e); }
    nav a[aria-current] { background: var(--sheet); box-shadow: 0 0 0 1px var(--line); font-weight: 600; }
    nav code { white-space: nowrap; } nav small { text-align: end; }
    nav small, .hint { color: var(--soft); font-weight: 400; }
    .hint { padding: 0 .75rem; font-size: .85rem; }
    code, pre, dd { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; font-size: .8rem; }

    aside { display: flex; flex-direction: column; gap: 1.5rem; min-width: 0; }
    pre {
      margin: 0; padding: .9rem 1rem; border-radius: .8rem; background: var(--sheet); border: 1px solid var(--line);
      white-space: pre-wrap; overflow-wrap: anywhere; max-height: 24rem; overflow: auto;
    }
    dl { margin: 0; } dt { font-size: .78rem; color: var(--soft); } dd { margin: 0 0 .5rem; overflow-wrap: anywhere; }
    summary { cursor: pointer; color: var(--soft); }
    table { border-collapse: collapse; font-size: .85rem; } td { padding: .15rem .75rem .15rem 0; vertical-align: top; }

    main { display: flex; flex-wrap: wrap; justify-content: center; align-content: start; gap: 2rem; }
    .phone {
      width: 392px; height: 800px; border-radius: 62px; padding: 12px; align-self: start;
      background: linear-gradient(145deg, #3c3d47, #0d0d12 30%, #0d0d12 70%, #34353e);
      box-shadow: 0 0 0 2px #55566180, 0 30px 60px -20px #0009, 0 8px 20px #0004;
    }
    .screen {
      position: relative; height: 100%; border-radius: 50px; overflow: hidden; display: flex; flex-direction: column;
      color: #fff;
      background:
        radial-gradient(120% 55% at 15% 0%, light-dark(#ff9d6c, #4a2a7a) 0%, transparent 60%),
        radial-gradient(100% 60% at 100% 25%, light-dark(#e0568f, #1d3f86) 0%, transparent 65%),
        radial-gradient(120% 70% at 20% 100%, light-dark(#3d7bd9, #0c5360) 0%, transparent 65%),
        light-dark(#6a4bc4, #14122e);
    }
    .statusbar {
      position: relative; display: flex; justify-content: space-between; align-items: center; padding: 15px 26px 0 32px;
      font-weight: 600; height: 50px; flex: none; color: var(--bars, #fff); z-index: 4; pointer-events: none;
    }
    .camera { position: absolute; left: 50%; top: 13px; width: 112px; height: 32px; margin-left: -56px; border-radius: 16px; background: #000; }
    .lock { text-align: center; padding: 22px 0 18px; text-shadow: 0 1px 12px #0003; flex: none; }
    .lock p { margin: 0; }
    .date { font-size: 1.15rem; font-weight: 500; opacity: .95; }
    .clock { font-size: 5.4rem; line-height: 1; font-weight: 500; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
    .quiet { position: absolute; inset: 46% 0 auto; margin: 0; text-align: center; opacity: .8; pointer-events: none; }
    .homebar { position: absolute; bottom: 9px; left: 50%; width: 132px; height: 5px; margin-left: -66px; border-radius: 3px; background: var(--homebar, #fffc); pointer-events: none; z-index: 4; }
    .clear {
      position: absolute; bottom: 26px; left: 50%; transform: translateX(-50%); z-index: 2; border: 0; cursor: pointer;
      border-radius: 99px; padding: .45rem 1.1rem; font: inherit; font-size: .85rem; color: #fff;
      background: #0006; backdrop-filter: blur(16px);
    }
    .clear:hover { background: #0009; }

    .cards {
      list-style: none; margin: 0; padding: 4px 12px 76px; flex: 1; overflow-y: auto; scrollbar-width: none;
      mask-image: linear-gradient(#000 88%, transparent);
    }
    .card { margin-bottom: 8px; }
    .card button {
      width: 100%; display: flex; gap: 11px; align-items: flex-start; text-align: start; border: 0; cursor: pointer;
      padding: 12px 14px; border-radius: 22px; font: inherit; font-size: .92rem; line-height: 1.32;
      color: light-dark(#16161d, #f4f4fa); background: light-dark(#fffc, #26263acc); backdrop-filter: blur(24px) saturate(1.6);
      transition: transform .15s, background .15s;
    }
    .card button:hover { background: light-dark(#fff, #33334d); }
    .card button:active { transform: scale(.98); }
    .card.seen button { opacity: .78; }
    .card.silent strong { font-weight: 400; font-style: italic; }
    .icon {
      position: relative; flex: none; width: 38px; height: 38px; border-radius: 10px; display: grid; place-items: center;
      font-weight: 700; font-size: 1.1rem; color: #fff;
      background: linear-gradient(160deg, hsl(var(--hue) 75% 62%), hsl(calc(var(--hue) + 30) 75% 42%));
    }
    .icon b {
      position: absolute; top: -7px; right: -7px; min-width: 19px; height: 19px; padding: 0 5px; border-radius: 10px;
      background: #f0333f; font-size: .72rem; line-height: 19px; text-align: center; font-weight: 600;
    }
    .what { flex: 1; min-width: 0; overflow-wrap: anywhere; }
    .what > * { display: block; }
    .app { font-size: .74rem; text-transform: uppercase; letter-spacing: .05em; opacity: .62; }
    .text { white-space: pre-line; }
    .what > .meta { font-size: .72rem; opacity: .6; margin-top: 3px; }
    .side { flex: none; display: flex; flex-direction: column; align-items: flex-end; gap: 6px; }
    .card time { font-size: .76rem; opacity: .62; }
    .picture { width: 46px; height: 46px; border-radius: 10px; object-fit: cover; background: #8883; }

    .browser { position: absolute; inset: 0; z-index: 3; background: light-dark(#fff, #14141d); color: var(--ink); display: flex; flex-direction: column; }
    .bar { display: flex; align-items: center; gap: .5rem; padding: 54px 20px 10px; border-bottom: 1px solid var(--line); font-size: .88rem; }
    .bar span { flex: 1; text-align: center; color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .bar button { font: inherit; font-weight: 600; border: 0; background: none; color: var(--accent); cursor: pointer; padding: .2rem 0; }
    .bar a { text-decoration: none; }
    .browser iframe { flex: 1; border: 0; width: 100%; background: #fff; }
    .screen:has(.browser:not([hidden])) { --bars: light-dark(#16161d, #f4f4fa); --homebar: #888b; }

    .android { border-radius: 46px; padding: 9px; background: linear-gradient(145deg, #4a4d52, #17181b 30%, #17181b 70%, #3b3d42); }
    .android .screen {
      border-radius: 38px; font-family: Roboto, "Noto Sans", system-ui, sans-serif;
      background:
        radial-gradient(110% 60% at 100% 0%, light-dark(#8fd3b6, #16483d) 0%, transparent 62%),
        radial-gradient(110% 65% at 0% 45%, light-dark(#5aa7d6, #1b3a63) 0%, transparent 66%),
        radial-gradient(120% 70% at 90% 100%, light-dark(#7c6fd0, #37255c) 0%, transparent 66%),
        light-dark(#3f8f9b, #10202b);
    }
    :is(.android, .huawei) .statusbar { padding: 12px 24px 0; height: 44px; font-weight: 500; font-size: .88rem; }
    :is(.android, .huawei) .camera { width: 22px; height: 22px; top: 14px; margin-left: -11px; border-radius: 50%; }
    :is(.android, .huawei) .lock { text-align: start; padding: 22px 28px 20px; }
    :is(.android, .huawei) .clock { font-size: 4.8rem; font-weight: 400; letter-spacing: -.03em; }
    :is(.android, .huawei) .cards { padding-inline: 10px; }
    :is(.android, .huawei) .card { margin-bottom: 3px; }
    :is(.android, .huawei) .card button { border-radius: 6px; padding: 13px 15px; background: light-dark(#f6f4fa, #24242c); backdrop-filter: none; }
    :is(.android, .huawei) .card:first-child button { border-start-start-radius: 26px; border-start-end-radius: 26px; }
    :is(.android, .huawei) .card:last-child button { border-end-start-radius: 26px; border-end-end-radius: 26px; }
    :is(.android, .huawei) .card button:hover { background: light-dark(#fff, #2e2e38); }
    :is(.android, .huawei) .icon { width: 34px; height: 34px; border-radius: 50%; font-size: 1rem; }
    :is(.android, .huawei) .app { text-transform: none; letter-spacing: 0; font-size: .78rem; }
    :is(.android, .huawei) strong { font-weight: 600; }
    :is(.android, .huawei) .clear { bottom: 30px; border-radius: 12px; }
    :is(.android, .huawei) .homebar { width: 108px; height: 4px; margin-left: -54px; bottom: 8px; }
    :is(.android, .huawei) .bar { padding-top: 48px; }

    .huawei { border-radius: 34px; padding: 7px; background: linear-gradient(145deg, #d9c9a8, #8d7d5e 30%, #8d7d5e 70%, #c9b78f); }
    .huawei .screen {
      border-radius: 28px; font-family: "HarmonyOS Sans", "Noto Sans", system-ui, sans-serif;
      background:
        radial-gradient(120% 60% at 0% 0%, light-dark(#f6b38a, #5c2a1c) 0%, transparent 62%),
        radial-gradient(110% 70% at 100% 55%, light-dark(#d9657a, #4a1830) 0%, transparent 66%),
        light-dark(#b98fb4, #1d1426);
    }
    .huawei .camera { left: 26px; margin-left: 0; }
    .huawei .statusbar { padding-left: 60px; }
    .huawei .lock { text-align: center; }

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

    @media (prefers-reduced-motion: no-preference) {
      .card.new { animation: arrive .45s cubic-bezier(.2, 1.2, .3, 1); }
      .browser:not([hidden]) { animation: rise .28s ease-out; }
      @keyframes arrive { from { opacity: 0; transform: translateY(-28px) scale(.92); } }
      @keyframes rise { from { transform: translateY(60%); opacity: 0; } }
    }
    /* Two phones leave room for one column beside them. */
    @media (min-width: 1021px) and (max-width: 1500px) {
      body:has(.android):has(.iphone) { grid-template: auto auto 1fr / minmax(220px, 300px) minmax(0, 1fr); }
      body:has(.android):has(.iphone) main { grid-area: 2 / 2 / span 2; }
    }
    @media (max-width: 1020px) {
      body { grid-template: auto auto auto / minmax(0, 1fr); padding: 1rem; }
      nav ul { display: flex; overflow: auto; gap: .25rem; } nav a { white-space: nowrap; }
      main { order: 1; } aside { order: 2; }
    }
    @media (max-width: 430px) {
      body { padding: .5rem; }
      .web .card { width: 100%; }
      .phone { width: 100%; padding: 8px; border-radius: 48px; } .screen { border-radius: 40px; }
      .windows { border-radius: 18px; } .windows .cards { width: 100%; }
    }

    """

  static let icon = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><defs><linearGradient id="g" x2="1" y2="1">\
    <stop stop-color="#ff9d6c"/><stop offset=".55" stop-color="#e0568f"/><stop offset="1" stop-color="#5b4be0"/>\
    </linearGradient></defs><rect width="64" height="64" rx="15" fill="url(#g)"/><rect x="21" y="12" width="22" height="40" \
    rx="5" fill="#fff"/><circle cx="43" cy="17" r="8" fill="#f0333f" stroke="#fff" stroke-width="3"/>\
    <rect x="28" y="46" width="8" height="2" rx="1" fill="#bbb"/></svg>
    """
}
