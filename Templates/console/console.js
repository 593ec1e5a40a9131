// Enhances pages that work without it. Pages say what they want by data attributes:
//   data-live         a part that is read again while main has data-live-page
//   data-late         in a live part: what it lacks takes long; it is read at once, and no more when it is whole
//   data-go, data-key letters that lead to a link or press a button; data-row rows for j and k
//   data-confirm      a link whose page is shown as a dialog
//   data-preview      of a form: where it is posted while one types; data-preview-into: what the answer replaces; a button with
//                     formtarget is pressed then, for a page in a frame
//   data-copy         a text with a button that copies it
//   data-max          most characters of a field, or bytes with data-unit="bytes"
//   data-guard        a form that asks before what was typed is left
//   data-insert       a text that a click puts into the field where one types
//   data-fill         of a hidden field in a part that was read again: the field outside of it that gets its value
//   data-tabs         of a list of parts with data-tab: one is shown at a time, and tabs lead to the others
//   data-into         of a file's field: the field that gets its text, also when the file is dropped there; without the script the file is sent
const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const say = (text) => { const box = one("#notices"); if (box) box.textContent = text; };
const parse = (html) => new DOMParser().parseFromString(html, "text/html");
const withPart = (address, part) => {
  const url = new URL(address, location.href);
  url.searchParams.set("part", part);
  return url;
};

/** Replaces what an element holds; focus stays at the element of the same id. */
function replace(element, html) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const open = all("details[open][id]", element).map((details) => details.id);
  element.replaceChildren(...parse(html).body.childNodes);
  for (const id of open) { const details = document.getElementById(id); if (details) details.open = true; }
  const next = focused?.id ? document.getElementById(focused.id) : null;
  if (next?.matches("input:not([type=hidden]), select, textarea")) {
    // It may have been typed in meanwhile.
    next.value = focused.value;
    if (focused.selectionStart != null) next.setSelectionRange(focused.selectionStart, focused.selectionEnd);
  }
  next?.focus({ preventScroll: true });
  for (const source of all("[data-fill]", element)) {
    const field = one(source.dataset.fill);
    if (field && field !== document.activeElement) field.value = source.value;
  }
  enhance(element);
}

// Live parts: every three seconds, later after failures, never in a hidden tab. What is late is read at once.
function keepLive() {
  const part = one("[data-live]");
  if (!one("main[data-live-page]") || !part) return;
  const isLate = () => one("[data-late]", part) !== null;
  const wasLate = isLate();
  let tag = null, failures = 0, timer = 0, isReading = false;
  const again = () => { clearTimeout(timer); timer = setTimeout(read, 3000 * 2 ** Math.min(failures, 5)); };
  async function read() {
    if (document.hidden || isReading || (wasLate && !isLate())) return;
    isReading = true;
    try {
      const reply = await fetch(withPart(location.href, "live"), { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
      if (reply.redirected || reply.status === 401) return location.reload();
      if (reply.status === 200) {
        tag = reply.headers.get("ETag");
        const html = await reply.text();
        const isBusy = part.contains(document.activeElement) && /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
        if (!isBusy) replace(part, html);
      } else if (reply.status !== 304) throw new Error(reply.status);
      failures = 0;
      part.classList.remove("is-stale");
    } catch {
      failures += 1;
      part.classList.add("is-stale");
    }
    isReading = false;
    again();
  }
  document.addEventListener("visibilitychange", () => { if (document.hidden) clearTimeout(timer); else read(); });
  if (wasLate) read(); else again();
}

// Dialogs.
function show(content, label) {
  const dialog = make("dialog", {}, content);
  dialog.setAttribute("aria-label", label);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) { event.preventDefault(); dialog.close(); }
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
async function confirm(link) {
  try {
    const reply = await fetch(link.href);
    const content = reply.ok && !reply.redirected && one("[data-dialog]", parse(await reply.text()));
    if (!content) { location.href = link.href; return; }
    show(content, one("h1", content)?.textContent ?? "");
  } catch { location.href = link.href; }
}
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-confirm]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    confirm(link);
  }
  for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of all("details.menu[open]")) { menu.open = false; one("summary", menu).focus(); }
});

// Keys.
function useKeys() {
  if (!("keys" in document.body.dataset)) return;
  const help = one("[data-keys-help]");
  if (help) { help.hidden = false; help.addEventListener("click", showKeys); }
  let isGoing = false;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable], dialog")) return;
    const go = isGoing && one(`[data-go="${CSS.escape(event.key)}"]`);
    isGoing = event.key === "g" && !isGoing;
    if (go) { event.preventDefault(); go.click(); return; }
    const pressed = { "?": showKeys, "/": search, j: () => step(1), k: () => step(-1) }[event.key];
    const target = pressed ? null : one(`[data-key="${CSS.escape(event.key)}"]`);
    if (pressed ?? target) { event.preventDefault(); if (target) target.click(); else pressed(); }
  });
}
function search() { (one("[data-search]") ?? one("main input[type=search]"))?.focus(); }
function step(by) {
  const rows = all("[data-row], table.list tbody tr").filter((row) => row.offsetParent);
  if (!rows.length) return;
  const now = rows.findIndex((row) => row.classList.contains("is-current"));
  const next = rows[Math.min(Math.max(now + by, 0), rows.length - 1)];
  rows[now]?.classList.remove("is-current");
  next.classList.add("is-current");
  next.scrollIntoView({ block: "nearest" });
  (one("a", next) ?? next).focus({ preventScroll: true });
}
function showKeys() {
  const list = make("dl", { className: "keys" });
  const add = (keys, text) => list.append(make("dt", {}, ...keys.flatMap((key) => [make("kbd", { textContent: key }), " "])), make("dd", { textContent: text }));
  add(["?"], "These keys");
  if (one("[data-search], main input[type=search]")) add(["/"], "Search");
  if (one("[data-row], table.list tbody tr")) add(["j", "k"], "Next and previous row; Enter opens it");
  for (const element of all("[data-key]")) add([element.dataset.key], element.dataset.keyTitle ?? element.textContent.trim());
  for (const element of all("[data-go]")) add(["g", element.dataset.go], element.textContent.trim());
  const close = make("button", { className: "button", type: "button", textContent: "Close" });
  close.dataset.close = "";
  show(make("div", {}, make("h1", { textContent: "Keys" }), list, make("p", { className: "hint", textContent: "Account turns them off." }), make("p", {}, close)), "Keys");
}

// Forms.
function preview(form) {
  const into = one(form.dataset.previewInto ?? "#preview");
  if (!into) return;
  let timer = 0, last = null;
  async function read() {
    last?.abort();
    last = new AbortController();
    try {
      const reply = await fetch(withPart(form.dataset.preview, "live"), { method: "POST", body: new URLSearchParams(new FormData(form)), signal: last.signal });
      if (reply.redirected) return;
      const html = await reply.text();
      replace(into, reply.ok ? html : (one("main article, main .summary", parse(html))?.innerHTML ?? ""));
      reframe(form);
    } catch { /* The next key tries again. */ }
  }
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(read, 350); });
  form.addEventListener("change", () => { clearTimeout(timer); timer = setTimeout(read, 50); });
}
/** Posts the form into its frame. A new frame takes the place of the old one once it is there, so that Back leaves the page. */
function reframe(form) {
  const button = one("button[formtarget]", form);
  const old = button && one(`iframe[name="${button.formTarget}"]`);
  if (!old) return;
  const next = old.cloneNode();
  next.removeAttribute("src");
  next.hidden = true;
  old.removeAttribute("name");
  old.after(next);
  next.addEventListener("load", () => { next.hidden = false; old.remove(); });
  form.requestSubmit(button);
}
function guard(form) {
  let isDirty = false;
  form.addEventListener("input", () => { isDirty = true; });
  form.addEventListener("submit", (event) => { if (!event.submitter?.formTarget) isDirty = false; });
  addEventListener("beforeunload", (event) => { if (isDirty) event.preventDefault(); });
}
function count(field) {
  const most = Number(field.dataset.max);
  if (!(most > 0)) return;
  const note = make("p", { className: "left", hidden: true });
  note.setAttribute("aria-live", "polite");
  field.after(note);
  const inBytes = field.dataset.unit === "bytes";
  const update = () => {
    const used = inBytes ? new TextEncoder().encode(field.value).length : [...field.value].length;
    note.hidden = used < most * 0.7;
    note.classList.toggle("over", used > most);
    const unit = inBytes ? "bytes" : "characters";
    note.textContent = used > most ? `${used - most} ${unit} too many` : `${most - used} ${unit} left`;
  };
  field.addEventListener("input", update);
  update();
}
function copyable(element) {
  if (!navigator.clipboard) return;
  const button = make("button", { className: "button small copy", type: "button", textContent: "Copy" });
  const isField = "value" in element;
  const text = isField ? element.value : element.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    say("Copied.");
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  if (isField) element.after(button); else element.prepend(button);
}
/** A file's text; of what is no text its base64. */
async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try { return new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch {
    return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
  }
}
let typed = null;
document.addEventListener("focusin", (event) => { if (event.target.matches("textarea, input[type=text]")) typed = event.target; });
function insertable(code) {
  const button = make("button", { className: "plain", type: "button" });
  code.replaceWith(button);
  button.append(code);
  button.addEventListener("click", () => {
    const field = typed?.isConnected ? typed : one("textarea", button.form);
    field.setRangeText(code.dataset.insert, field.selectionStart, field.selectionEnd, "end");
    field.focus();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
function fileInto(input) {
  const target = one(input.dataset.into);
  if (!target) return;
  // The field has its text, which may be changed before it is sent.
  input.removeAttribute("name");
  const take = async (file) => {
    if (!file) return;
    if (file.size > 1_000_000) return say("This file is too large.");
    target.value = await textOf(file);
    target.dispatchEvent(new Event("input", { bubbles: true }));
  };
  input.addEventListener("change", () => take(input.files[0]));
  target.addEventListener("dragover", (event) => event.preventDefault());
  target.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
}
function once(form) {
  form.addEventListener("submit", (event) => {
    // A file is saved, and the page stays.
    if (event.submitter?.formTarget || "download" in form.dataset) return;
    setTimeout(() => { for (const button of all("button[type=submit]", form)) button.disabled = true; });
    addEventListener("pageshow", () => { for (const button of all("button[type=submit]", form)) button.disabled = false; });
  });
}
/** Sends the form with its file, and shows how far it is. Without this, the browser's own bar does. */
function upload(form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const bar = make("progress", { className: "bar", max: 100, value: 0 });
    bar.setAttribute("aria-label", "Sent of the file");
    form.append(bar);
    const request = new XMLHttpRequest();
    request.upload.onprogress = (sent) => { if (sent.lengthComputable) bar.value = sent.loaded / sent.total * 100; };
    request.onerror = () => { bar.remove(); say("The file broke off. Send it again."); all("button", form).forEach((button) => { button.disabled = false; }); };
    request.onload = () => {
      if (request.responseURL !== form.action) return location.assign(request.responseURL);
      const main = one("main", parse(request.responseText));
      one("main").replaceWith(main);
      enhance(main);
      one("[data-focus]", main)?.focus();
    };
    request.open("POST", form.action);
    request.send(new FormData(form));
  });
}

/** Shows one part at a time: the one with an error, else that of the address, else the one without a name, else the first. */
function tabs(box) {
  const panels = all(":scope > [data-tab]", box);
  if (panels.length < 2) return;
  const row = make("ul");
  row.setAttribute("role", "tablist");
  row.setAttribute("aria-label", box.dataset.tabs);
  const links = panels.map((panel) => {
    const link = make("a", { href: `#${panel.id}`, id: `${panel.id}-tab`, dir: "auto", textContent: panel.dataset.tab || one("legend", panel).textContent });
    link.setAttribute("role", "tab");
    link.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", link.id);
    const item = make("li", {}, link);
    item.setAttribute("role", "presentation");
    row.append(item);
    return link;
  });
  const choose = (chosen) => panels.forEach((panel, place) => {
    panel.hidden = place !== chosen;
    links[place].setAttribute("aria-selected", place === chosen);
    links[place].tabIndex = place === chosen ? 0 : -1;
  });
  row.addEventListener("click", (event) => {
    const place = links.indexOf(event.target.closest("a"));
    if (place >= 0) { event.preventDefault(); choose(place); }
  });
  row.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const place = (links.indexOf(document.activeElement) + by + links.length) % links.length;
    choose(place);
    links[place].focus();
  });
  box.prepend(make("div", { className: "tabs" }, row));
  const first = [(panel) => one(".has-error", panel), (panel) => location.hash === `#${panel.id}`, (panel) => !panel.dataset.tab].map((is) => panels.findIndex(is)).find((place) => place >= 0);
  choose(first ?? 0);
}

function enhance(root) {
  all("[data-tabs]", root).forEach(tabs);
  all("form[data-preview]", root).forEach(preview);
  all("form[data-guard]", root).forEach(guard);
  all("form[method=post]", root).forEach(once);
  all("form[data-upload]", root).forEach(upload);
  all("[data-max]", root).forEach(count);
  all("[data-copy]", root).forEach(copyable);
  all("code[data-insert]", root).forEach(insertable);
  all("input[type=file][data-into]", root).forEach(fileInto);
}

enhance(document);
one("[data-focus]")?.focus();
useKeys();
keepLive();
