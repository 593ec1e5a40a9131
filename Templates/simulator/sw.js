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
