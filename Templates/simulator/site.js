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
