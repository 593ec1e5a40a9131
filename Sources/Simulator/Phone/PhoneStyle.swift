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

    \(PhoneKind.all.map(\.style).joined(separator: "\n"))

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
      .phone { width: 100%; padding: 8px; border-radius: 48px; } .screen { border-radius: 40px; }
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
