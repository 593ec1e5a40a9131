/// The phone page's script: new pushes, taps and the clock.
enum PhoneScript {
  static let text = """
    "use strict";
    const $ = id => document.getElementById(id);
    const cards = $("cards"), devices = $("devices"), browser = $("browser"), frame = $("frame");
    const watched = document.body.dataset.watched;
    const limit = \(PhonePage.length);

    // New pushes. The server escapes what an event holds.
    let last = Number(document.body.dataset.last);
    const source = new EventSource("/events?after=" + last + (watched ? "&token=" + watched : ""));
    source.addEventListener("push", event => {
      const push = JSON.parse(event.data);
      addDevice(push);
      if (push.number <= last) return;
      last = push.number;
      cards.insertAdjacentHTML("afterbegin", push.card);
      cards.firstElementChild.classList.add("new");
      while (cards.children.length > limit) cards.lastElementChild.remove();
      settle();
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

    function settle() {
      const isEmpty = cards.children.length === 0;
      $("quiet").hidden = !isEmpty;
      $("clear").hidden = isEmpty;
      tick();
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

    function open(url, card) {
      $("host").textContent = new URL(url).host;
      $("tab").href = url;
      frame.src = url;
      browser.hidden = false;
      $("done").focus();
      mark(card, "opened");
      browser.card = card;
    }

    function close() {
      browser.hidden = true;
      frame.src = "about:blank";
      if (browser.card) browser.card.querySelector("button").focus();
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

    $("done").addEventListener("click", close);
    document.addEventListener("keydown", event => {
      if (event.key === "Escape" && !browser.hidden) close();
    });
    $("clear").addEventListener("click", () => {
      cards.replaceChildren();
      settle();
    });

    // Shows the payload of the notification pointed at.
    function show(card) {
      if (card) $("payload").textContent = card.dataset.payload;
    }
    for (const kind of ["pointerover", "focusin"]) {
      cards.addEventListener(kind, event => show(event.target.closest(".card")));
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
      $("time").textContent = time;
      $("clock").textContent = time;
      $("date").textContent = now.toLocaleDateString([], { weekday: "long", month: "long", day: "numeric" });
      for (const element of cards.querySelectorAll("time")) element.textContent = ago(Number(element.dataset.at));
    }
    tick();
    setInterval(tick, 5000);

    """
}
