import Wire

/// A website's app at a hub: what the sample page needs to subscribe and register its browser.
public struct SampleSite: Sendable {
  /// `http://localhost:8080/rest/1/apps/com.example.shop.web/pushdevices`, say.
  public var registrationURL: String
  /// A key of scope `device`. Whoever opens the page can read it, as everybody can read those of real sites and apps.
  public var deviceKey: String
  /// The app's public VAPID key, 65 bytes in base64url.
  public var vapidKey: String
  /// The shop's.
  public var name: String

  public init(registrationURL: String, deviceKey: String, vapidKey: String, name: String = "Sample shop") {
    self.registrationURL = registrationURL
    self.deviceKey = deviceKey
    self.vapidKey = vapidKey
    self.name = name
  }
}

/// The sample page at `/web`: it subscribes its browser to Web Push, and registers the subscription with the hub.
enum SampleSitePage {
  /// - Parameter site: nil if no hub has an app for it.
  static func html(_ site: SampleSite?) -> String {
    let name = (site?.name ?? "Sample shop").htmlEscaped
    return """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(name)</title>
      <link rel="icon" href="/phone.svg">
      <link rel="stylesheet" href="/web/site.css">
      <body data-url="\((site?.registrationURL ?? "").htmlEscaped)" data-key="\((site?.deviceKey ?? "").htmlEscaped)" \
      data-vapid="\((site?.vapidKey ?? "").htmlEscaped)">
      <main>
        <img src="/phone.svg" alt="" width="72" height="72">
        <h1>\(name)</h1>
        <p>New offers, as soon as they are here. This browser shows them even when the page is closed.</p>
        <form id="form">
          <label>E-mail address<input id="who" name="email" type="email" required value="browser@example.com" autocomplete="email"></label>
          <label>First name<input id="name" name="name" value="Robin" autocomplete="given-name"></label>
          <button id="subscribe">Get notifications</button>
          <button id="unsubscribe" type="button" hidden>Stop notifications</button>
        </form>
        <p id="state" role="status" data-state="\(site == nil ? "none" : "new")">\
      \(site == nil ? "No hub has an app for this page. pushcart demo has one." : "")</p>
      </main>
      <script src="/web/site.js"></script>

      """
  }

  static let script = """
    "use strict";
    const $ = id => document.getElementById(id);
    const { url, key, vapid } = document.body.dataset;

    function say(state, text) {
      $("state").dataset.state = state;
      $("state").textContent = text;
      const isOn = state === "registered";
      $("subscribe").hidden = isOn;
      $("unsubscribe").hidden = !isOn;
    }

    function bytes(text) {
      const base64 = text.replace(/-/g, "+").replace(/_/g, "/");
      return Uint8Array.from(atob(base64), digit => digit.charCodeAt(0));
    }

    // Carma's REST: the subscription is the device's token, and 8 is the type of browsers.
    async function call(path, originalId, subscription, contact) {
      const device = { devicetoken: subscription.toJSON(), appType: 8 };
      if (contact) Object.assign(device, { manufacturer: "Mozilla", model: navigator.platform });
      const reply = await fetch(url + path, {
        method: "PUT",
        headers: { "Content-Type": "application/json", "X-Carma-Authentication-Token": key },
        body: JSON.stringify({ originalId, ...contact, deviceInfo: [device] }),
      });
      if (!reply.ok) throw new Error((await reply.json()).error ?? reply.statusText);
    }

    // The worker registers again with these when the browser changes its subscription.
    async function remember(originalId) {
      const cache = await caches.open("site");
      await cache.put("/web/site.json", new Response(JSON.stringify({ url, key, vapid, originalId })));
    }

    async function subscribe() {
      say("busy", "One moment …");
      const worker = await navigator.serviceWorker.register("/web/sw.js", { scope: "/web" });
      await navigator.serviceWorker.ready;
      const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(vapid) });
      const originalId = $("who").value;
      await call("", originalId, subscription, { firstName: $("name").value, emailAddress: originalId });
      await remember(originalId);
      say("registered", "This browser is registered.");
    }

    async function unsubscribe() {
      const worker = await navigator.serviceWorker.getRegistration("/web");
      const subscription = await worker?.pushManager.getSubscription();
      if (subscription) {
        await call("/invalidation", $("who").value, subscription);
        await subscription.unsubscribe();
      }
      say("new", "This browser gets nothing more.");
    }

    function attempt(work) {
      work().catch(error => say("failed", "That did not work: " + error.message));
    }

    $("form").addEventListener("submit", event => {
      event.preventDefault();
      attempt(subscribe);
    });
    $("unsubscribe").addEventListener("click", () => attempt(unsubscribe));

    if (!url) $("subscribe").disabled = true;
    else if (!navigator.serviceWorker || !window.PushManager) say("failed", "This browser has no Web Push.");
    else attempt(async () => {
      const worker = await navigator.serviceWorker.getRegistration("/web");
      if (await worker?.pushManager.getSubscription()) say("registered", "This browser is registered.");
    });

    """

  /// The service worker: it shows pushes, opens their pages, and registers again when the browser changes its subscription.
  static let worker = """
    "use strict";

    self.addEventListener("install", () => self.skipWaiting());
    self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));

    // `alert` is the title and `info` the body; `alert` alone is the body.
    self.addEventListener("push", event => {
      let push = {};
      try {
        push = event.data?.json() ?? {};
      } catch {
        push = { alert: event.data.text() };
      }
      const { alert, info, image, tag, url, pushreadurl } = push;
      const [title, body] = alert && info ? [alert, info] : ["News", alert ?? info];
      event.waitUntil(self.registration.showNotification(title, {
        body, image, tag, icon: "/phone.svg", data: { url, pushreadurl },
      }));
    });

    // A click opens the page, which counts as read. Without one it calls the pushreadurl.
    self.addEventListener("notificationclick", event => {
      event.notification.close();
      const { url, pushreadurl } = event.notification.data ?? {};
      if (url) event.waitUntil(self.clients.openWindow(url));
      else if (pushreadurl) event.waitUntil(fetch(pushreadurl, { mode: "no-cors", credentials: "omit" }));
    });

    self.addEventListener("pushsubscriptionchange", event => event.waitUntil(renew(event)));

    async function renew(event) {
      const kept = await (await caches.open("site")).match("/web/site.json");
      if (!kept) return;
      const { url, key, vapid, originalId } = await kept.json();
      const applicationServerKey = Uint8Array.from(
        atob(vapid.replace(/-/g, "+").replace(/_/g, "/")), digit => digit.charCodeAt(0));
      const subscription =
        event.newSubscription
        ?? await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
      await fetch(url, {
        method: "PUT",
        headers: { "Content-Type": "application/json", "X-Carma-Authentication-Token": key },
        body: JSON.stringify({ originalId, deviceInfo: [{ devicetoken: subscription.toJSON(), appType: 8 }] }),
      });
    }

    """

  static let style = """
    :root { color-scheme: light dark; --ink: light-dark(#1c1c28, #ececf4); --soft: light-dark(#5f6072, #a3a4b8); }
    * { box-sizing: border-box; }
    [hidden] { display: none !important; }
    body {
      margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; color: var(--ink);
      font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
      background:
        radial-gradient(80% 60% at 10% 0%, light-dark(#ffd9c2, #40254a) 0%, transparent 65%),
        radial-gradient(80% 60% at 100% 100%, light-dark(#d9d4ff, #1b2a52) 0%, transparent 65%), light-dark(#f7f6fc, #12121b);
    }
    main {
      width: min(27rem, 100%); padding: 2.5rem; border-radius: 1.5rem; text-align: center;
      background: light-dark(#fffd, #1b1b28dd); box-shadow: 0 1px 0 #fff3 inset, 0 24px 60px -20px #0005;
    }
    h1 { margin: .75rem 0 .25rem; font-size: 1.9rem; letter-spacing: -.02em; }
    p { margin: 0 0 1.5rem; color: var(--soft); }
    form { display: grid; gap: .9rem; text-align: start; }
    label { display: grid; gap: .25rem; font-size: .85rem; color: var(--soft); }
    input, button { font: inherit; border-radius: .7rem; padding: .65rem .9rem; border: 1px solid light-dark(#d6d6e4, #34344a); }
    input { color: var(--ink); background: light-dark(#fff, #14141d); }
    button { cursor: pointer; margin-top: .4rem; border: 0; font-weight: 600; color: #fff; background: linear-gradient(90deg, #e0568f, #5b4be0); }
    button:hover { filter: brightness(1.07); } button:disabled { filter: grayscale(1); cursor: default; }
    #unsubscribe { color: var(--ink); background: light-dark(#e9e9f3, #2c2c3e); }
    :focus-visible { outline: 2px solid #5b4be0; outline-offset: 2px; }
    #state { margin: 1.2rem 0 0; min-height: 1.5em; font-size: .92rem; }
    #state[data-state="failed"] { color: light-dark(#b3261e, #ff9d95); }
    #state[data-state="registered"] { color: light-dark(#17743f, #6bd394); }

    """
}
