import Crypto
import FoundationEssentials

/// The style sheet of the reference page. It is inside the page, and the Content-Security-Policy names it by its hash.
enum ReferenceStyle {
  static let css = """
    :root { color-scheme: light dark; --ink: #1d2430; --soft: #5d6778; --paper: #fff; --wash: #f5f6f9; --line: #e1e5ec;
      --link: #1257c9; --good: #14713d; --bad: #b3261e; --get: #1257c9; --post: #14713d; --put: #96580a;
      --patch: #7b3fa0; --delete: #b3261e; --head: #5d6778; }
    @media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #9aa5b5; --paper: #14181f; --wash: #1d232d;
      --line: #303845; --link: #7db0ff; --good: #66c98d; --bad: #ff8f86; --get: #7db0ff; --post: #66c98d;
      --put: #eab464; --patch: #cf9df0; --delete: #ff8f86; --head: #9aa5b5; } }
    * { box-sizing: border-box; }
    html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
    @media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
    body { margin: 0; color: var(--ink); background: var(--paper); font: 16px/1.55 system-ui, sans-serif;
      display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
    nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; font-size: .86rem;
      background: var(--wash); border-right: 1px solid var(--line); }
    nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
    nav a { display: block; padding: .22rem .5rem; border-radius: .35rem; color: inherit; text-decoration: none; }
    nav a:hover, nav a:focus-visible { background: var(--line); }
    nav li a { display: flex; gap: .5rem; align-items: baseline; }
    nav .home { font-size: 1.15rem; font-weight: 700; margin-bottom: .8rem; }
    nav .tag { font-weight: 600; color: var(--soft); text-transform: uppercase; letter-spacing: .05em;
      font-size: .74rem; }
    nav .method { font-size: .64rem; width: 3.1rem; flex: none; padding: .05rem 0; }
    main { padding: 2.5rem clamp(1rem, 4vw, 4rem) 6rem; max-width: 62rem; }
    h1 { font-size: 2.2rem; margin: 0 0 .5rem; } h1 small { color: var(--soft); font-weight: 400; }
    h2 { font-size: 1.5rem; margin: 3.5rem 0 .25rem; padding-top: 1rem; border-top: 2px solid var(--line); }
    h3 { font-size: 1.08rem; margin: 0; overflow-wrap: anywhere; }
    h4 { font-size: .78rem; margin: 1.2rem 0 .4rem; color: var(--soft); text-transform: uppercase;
      letter-spacing: .05em; } h4 a { text-transform: none; letter-spacing: normal; }
    a { color: var(--link); }
    article { margin: 1.5rem 0; padding: 1.2rem 1.4rem; border: 1px solid var(--line); border-radius: .7rem; }
    article:target { border-color: var(--link); box-shadow: 0 0 0 1px var(--link); }
    .summary { font-weight: 600; margin: .5rem 0; }
    .security { font-weight: 400; font-size: .78rem; color: var(--soft); border: 1px solid var(--line);
      border-radius: 1rem; padding: .1rem .6rem; margin-left: .4rem; white-space: nowrap; }
    .anchor { color: var(--soft); text-decoration: none; opacity: .4; } .anchor:hover { opacity: 1; }
    .method { display: inline-block; font-size: .72rem; width: 4rem; text-align: center; border-radius: .3rem;
      padding: .12rem 0; border: 1px solid currentColor; vertical-align: .08em; }
    .get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); }
    .patch { color: var(--patch); } .delete { color: var(--delete); } .head { color: var(--head); }
    .good { color: var(--good); } .bad { color: var(--bad); }
    code, pre { font: .86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
    pre { background: var(--wash); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem;
      margin: .4rem 0; overflow-x: auto; }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-size: .9rem; }
    td { text-align: left; vertical-align: top; padding: .4rem .9rem .4rem 0; border-top: 1px solid var(--line); }
    td:nth-child(2) { color: var(--soft); white-space: nowrap; }
    details { border-top: 1px solid var(--line); padding: .35rem 0; }
    summary { cursor: pointer; }
    @media (max-width: 56rem) { body { display: block; } nav { position: static; height: auto; border: 0; }
      nav ul { display: none; } nav .tag { display: inline-block; } }
    @media print { nav { display: none; } body { display: block; } }
    """

  /// The page's Content-Security-Policy: it allows this style sheet and nothing else.
  static let policy: String = {
    let hash = Data(SHA256.hash(data: Data(css.utf8))).base64EncodedString()
    return "default-src 'none'; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  }()
}
