"use strict";
const $ = id => document.getElementById(id);
const devices = $("devices");
const watched = document.body.dataset.watched;
const limit = Number(document.body.dataset.limit);
const phones = new Map();
for (const element of document.querySelectorAll(".phone")) phones.set(element.dataset.phone, phone(element));

// New pushes. The server escapes what an event holds.
let last = Number(document.body.dataset.last);
const source = new EventSource("/events?after=" + last + (watched ? "&token=" + encodeURIComponent(watched) : ""));
source.addEventListener("push", event => {
  const push = JSON.parse(event.data);
  addDevice(push);
  if (push.number <= last) return;
  last = push.number;
  phones.get(push.phone)?.add(push.card);
});
source.onopen = () => say("live", true);
source.onerror = () => say("waiting for the Simulator", false);

function say(text, isLive) {
  $("live").textContent = text;
  $("live").classList.toggle("on", isLive);
}

function addDevice(push) {
  if (devices.querySelector(`[data-token="${CSS.escape(push.token)}"]`)) return;
  devices.insertAdjacentHTML("beforeend", push.device);
  $("hint").hidden = true;
}

// One phone: its notifications, and the browser that a tap opens.
function phone(element) {
  const part = name => element.querySelector(name);
  const cards = part(".cards"), browser = part(".browser"), frame = part("iframe");
  let shown;

  function add(card) {
    cards.insertAdjacentHTML("afterbegin", card);
    cards.firstElementChild.classList.add("new");
    while (cards.children.length > limit) cards.lastElementChild.remove();
    settle();
  }

  function settle() {
    const isEmpty = cards.children.length === 0;
    part(".quiet").hidden = !isEmpty;
    part(".clear").hidden = isEmpty;
    tick();
  }

  function open(url, card) {
    part(".host").textContent = new URL(url).host;
    part(".tab").href = url;
    frame.src = url;
    browser.hidden = false;
    part(".done").focus();
    mark(card, "opened");
    shown = card;
  }

  function close() {
    if (browser.hidden) return;
    browser.hidden = true;
    frame.src = "about:blank";
    shown?.querySelector("button").focus();
  }

  // A tap opens the rich page; without one it requests the pushreadurl.
  cards.addEventListener("click", event => {
    const card = event.target.closest(".card");
    if (!card) return;
    show(card);
    const { url, read } = card.dataset;
    if (url) open(url, card);
    else if (read) markRead(read, card);
    else mark(card, "no page");
  });
  for (const kind of ["pointerover", "focusin"]) {
    cards.addEventListener(kind, event => show(event.target.closest(".card")));
  }
  part(".done").addEventListener("click", close);
  part(".clear").addEventListener("click", () => {
    cards.replaceChildren();
    settle();
  });
  return { add, close };
}

async function markRead(url, card) {
  try {
    await fetch(url, { mode: "no-cors", credentials: "omit", referrerPolicy: "no-referrer" });
    mark(card, "read");
  } catch {
    mark(card, "its address cannot be reached");
  }
}

function mark(card, word) {
  card.classList.add("seen");
  card.querySelector(".state").textContent = " · " + word;
}

document.addEventListener("keydown", event => {
  if (event.key === "Escape") for (const phone of phones.values()) phone.close();
});

// Shows the payload of the notification pointed at.
function show(card) {
  if (card) $("payload").textContent = card.dataset.payload;
}

// Time.
function ago(at) {
  const minutes = Math.floor((Date.now() - at) / 60000);
  if (minutes < 1) return "now";
  if (minutes < 60) return minutes + "m";
  return minutes < 1440 ? Math.floor(minutes / 60) + "h" : Math.floor(minutes / 1440) + "d";
}
function tick() {
  const now = new Date();
  const time = now.toLocaleTimeString([], { hour: "numeric", minute: "2-digit", hour12: false });
  const date = now.toLocaleDateString([], { weekday: "long", month: "long", day: "numeric" });
  for (const element of document.querySelectorAll(".time, .clock")) element.textContent = time;
  for (const element of document.querySelectorAll(".date")) element.textContent = date;
  for (const element of document.querySelectorAll("time")) element.textContent = ago(Number(element.dataset.at));
}
tick();
setInterval(tick, 5000);
