// The live inbox. Requests decided elsewhere are removed and new ones added to the end of the list, without a reload.
// What a person reads never moves: many new requests, or new ones above it, are offered instead.

const CALM = 5000;
/** Maximum number of new requests that are added without asking; more are offered. */
const BURST = 5;
/** Requests on a page of the server. */
const PAGE = 50;
const inbox = document.querySelector("[data-inbox]");
const news = document.querySelector("[data-news]");
const newsText = document.querySelector("[data-news-text]");
const { list } = inbox.dataset;
const newestFirst = inbox.dataset.order === "newest";
const title = document.title;
let lastTouch = Date.now();
let known = Number(inbox.dataset.pending);
/** Shows what is offered. */
let accept = () => location.reload();
let syncing = false;
let again = false;
let settling = false;

for (const kind of ["pointermove", "pointerdown", "keydown", "scroll"]) {
  addEventListener(kind, () => { lastTouch = Date.now(); }, { passive: true });
}

const rows = () => [...inbox.querySelectorAll("[data-request]")];
const txnOf = (row) => row.id.slice(2);
const moreLink = () => document.querySelector("[data-more]");
const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const announce = (text) => { document.querySelector("[data-announce]").textContent = text; };
const added = () => document.dispatchEvent(new Event("px:added"));

function beyond(link, query) {
  return `${link}${link.includes("?") ? "&" : "?"}${query}`;
}

/** A page as a document. The browser parses it: the content security policy lets no script parse text. */
function load(url) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "document";
    request.onload = () => {
      const found = request.status === 200 && request.response?.querySelector("[data-inbox]");
      if (found) resolve(request.response);
      else reject(new Error(`${url}: ${request.status}`));
    };
    request.onerror = () => reject(new Error(url));
    request.send();
  });
}

function busy() {
  if (Date.now() - lastTouch < CALM) return true;
  if (document.hidden) return false;
  const active = document.activeElement;
  return (active && active !== document.body)
    || document.querySelector("main details[open], :popover-open, [data-select]:checked")
    || String(getSelection())
    || inbox.querySelector("[data-request]:hover");
}

function showCount(pending) {
  known = pending;
  for (const place of document.querySelectorAll("[data-pending-count]")) {
    place.textContent = String(pending);
    place.hidden = pending === 0;
  }
  document.title = pending > 0 ? `(${pending}) ${title}` : title;
}

/** Updates the summary below the list to the number of rows in it. */
function showTotal(total) {
  const summary = document.querySelector("[data-summary]");
  if (!summary) return;
  const noun = summary.textContent.trim().split(" ").at(-1);
  summary.textContent = `${rows().length} of ${total.toLocaleString("en-US")} ${noun}`;
}

function offer(text, show) {
  newsText.textContent = text;
  news.hidden = false;
  accept = show;
  settle();
}

/** Shows what is offered as soon as no one is disturbed. */
function settle() {
  if (settling) return;
  settling = true;
  const look = async () => {
    if (busy()) {
      setTimeout(look, CALM);
      return;
    }
    settling = false;
    await show();
  };
  setTimeout(look, CALM);
}

async function show() {
  news.hidden = true;
  const chosen = accept;
  accept = refresh;
  try {
    await chosen();
  } catch {
    location.reload();
  }
}

/** Parts of a page that are not here yet. */
function unseen(page) {
  const here = new Set(rows().map((row) => row.id));
  const parts = [...page.querySelector("[data-inbox]").children].filter((part) => !part.matches("[data-empty]"));
  return parts.filter((part) => {
    const inside = part.matches("[data-request]") ? [part] : [...part.querySelectorAll("[data-request]")];
    const left = inside.filter((row) => !here.has(row.id));
    for (const row of inside) if (here.has(row.id)) row.remove();
    return left.length > 0;
  });
}

/** Adds a page to the end of the list. */
async function append(url) {
  const page = await load(url);
  inbox.querySelector("[data-empty]")?.remove();
  const parts = unseen(page);
  inbox.append(...parts);
  const next = page.querySelector("[data-more]");
  const pager = document.querySelector("[data-pager]");
  const total = page.querySelector("[data-summary]")?.textContent.match(/of ([\d,]+)/);
  if (pager) {
    moreLink()?.remove();
    if (next) pager.lastElementChild.append(next);
  } else if (next) {
    page.querySelector("[data-start]")?.remove();
    document.getElementById("several").after(page.querySelector("[data-pager]"));
  }
  if (total) showTotal(Number(total[1].replaceAll(",", "")));
  added();
  return parts;
}

/** Adds what is new above the list. */
async function prepend() {
  const page = await load(list);
  inbox.querySelector("[data-empty]")?.remove();
  inbox.prepend(...unseen(page));
  added();
}

/** Replaces the list with the current one. An open request stays as it is. */
async function refresh() {
  const page = await load(location.href);
  const fresh = page.querySelector("[data-inbox]");
  const kept = inbox.querySelector("[data-request]:has([data-row][open])");
  const focus = document.activeElement?.closest?.("[data-request]")?.id;
  const checked = new Set([...inbox.querySelectorAll("[data-select]:checked")].map((box) => box.value));
  if (kept) fresh.querySelector(`#${CSS.escape(kept.id)}`)?.replaceWith(kept);
  inbox.replaceChildren(...fresh.childNodes);
  for (const box of inbox.querySelectorAll("[data-select]")) box.checked = checked.has(box.value);
  const anchors = { "[data-pager]": "#several", "[data-decided]": "[data-pager], #several" };
  for (const [part, anchor] of Object.entries(anchors)) {
    const place = document.querySelector(part);
    const now = page.querySelector(part);
    if (place && now) place.replaceWith(now);
    else if (place) place.remove();
    else if (now) [...document.querySelectorAll(anchor)].at(-1).after(now);
  }
  if (!document.querySelector(".narrow")) {
    const filters = page.querySelector(".narrow");
    if (filters) document.querySelector(".page-head").after(filters);
  }
  if (focus && !document.activeElement?.closest?.("[data-request]")) document.getElementById(focus)?.focus();
  added();
}

/** Takes a request out of the list. */
function remove(row) {
  const group = row.closest(".group");
  row.remove();
  if (!group) return;
  group.querySelector(`[data-of="${CSS.escape(txnOf(row))}"]`)?.remove();
  const left = group.querySelectorAll("[data-request]").length;
  if (left === 0) group.remove();
  else group.querySelector("[data-group-count]").textContent = count(left, "request");
}

/** Removes a request that was decided elsewhere. An open one says so, and stays until it is closed. */
function leave(row) {
  if (row.dataset.sending || row.dataset.over) return;
  const details = row.querySelector("[data-row]");
  if (!details.open && !row.contains(document.activeElement)) {
    remove(row);
    return;
  }
  row.dataset.over = "yes";
  for (const control of row.querySelectorAll("button, [data-select]")) control.disabled = true;
  const box = row.querySelector("[data-select]");
  if (box) box.checked = false;
  const warning = document.createElement("p");
  const outcome = document.createElement("a");
  warning.className = "warn";
  warning.setAttribute("role", "status");
  outcome.href = `/app/approvals/${encodeURIComponent(txnOf(row))}`;
  outcome.textContent = "Show the outcome";
  warning.append("This request has been decided or has expired. ", outcome);
  row.querySelector(".request").prepend(warning);
  details.addEventListener("toggle", () => { if (!details.open) remove(row); });
}

/** Compares the list with what is pending now. */
async function sync() {
  const answer = await fetch(beyond(list, "part=ids"), { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(String(answer.status));
  const { ids } = await answer.json();
  const pending = new Set(ids);
  const before = rows().length;
  for (const row of rows()) if (!pending.has(txnOf(row))) leave(row);
  const here = new Set(rows().map(txnOf));
  showTotal(ids.length);
  if (here.size === 0 && (before > 0 || ids.length > 0)) {
    await refresh();
    return;
  }
  const places = ids.map((id, place) => (here.has(id) ? place : -1)).filter((place) => place >= 0);
  const from = document.querySelector("[data-start]") ? places[0] ?? ids.length : 0;
  const between = ids.slice(from, places.at(-1) ?? from).filter((id) => !here.has(id));
  const after = moreLink() ? [] : ids.slice((places.at(-1) ?? -1) + 1);
  if (between.length > 0) {
    const above = newestFirst && between.length <= PAGE;
    offer(count(between.length, "new request"), above ? prepend : () => location.assign(list));
  } else if (after.length > BURST) {
    offer(count(after.length, "new request"), appendLatest);
  } else if (after.length > 0) {
    await appendLatest();
    announce(count(after.length, "new request"));
  } else {
    news.hidden = true;
    if (here.size < before) {
      accept = rows().length <= PAGE ? refresh : () => {};
      settle();
    }
  }
}

function appendLatest() {
  const last = rows().at(-1);
  return append(last ? beyond(list, `after=${encodeURIComponent(last.dataset.cursor)}`) : list);
}

async function onChange() {
  if (syncing) {
    again = true;
    return;
  }
  syncing = true;
  try {
    await sync();
  } catch {
    offer("The inbox has changed", () => location.reload());
  }
  // At most one look a second, also in a burst of changes.
  setTimeout(() => {
    syncing = false;
    if (again) {
      again = false;
      onChange();
    }
  }, 1000);
}

document.querySelector("[data-news-show]").addEventListener("click", (event) => {
  event.preventDefault();
  show();
});

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("[data-more]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.dataset.loading) return;
  link.dataset.loading = "yes";
  try {
    const [first] = await append(link.href);
    (first?.matches("[data-request]") ? first : first?.querySelector("[data-request]"))?.focus();
  } catch {
    location.assign(link.href);
  }
});

/** Shows the result of a decision, with a link to the outcome. */
function showResult(text, row) {
  let toast = document.querySelector("[data-toast]");
  if (!toast) {
    toast = document.createElement("p");
    toast.className = "toast flash good";
    toast.dataset.toast = "";
    toast.setAttribute("role", "status");
    document.querySelector("main").append(toast);
  }
  const link = document.createElement("a");
  link.href = `/app/approvals/${encodeURIComponent(txnOf(row))}`;
  link.textContent = "Show the outcome";
  toast.replaceChildren(`${text} `, link);
}

/** Sends one decision without leaving the page; the next request gets the focus. */
async function answer(form, row) {
  row.dataset.sending = "yes";
  const fields = new URLSearchParams(new FormData(form));
  fields.set("in_place", "yes");
  const response = await fetch(form.getAttribute("action"), {
    method: "POST", body: fields, headers: { accept: "application/json" }, redirect: "manual",
  });
  const isJson = response.ok && response.headers.get("content-type")?.includes("json");
  const { settled, text, location: there } = isJson ? await response.json() : {};
  if (!settled) {
    location.assign(there ?? `/app/approvals/${encodeURIComponent(txnOf(row))}`);
    return;
  }
  const all = rows();
  const at = all.indexOf(row);
  const next = all[at + 1] ?? all[at - 1];
  showResult(text, row);
  remove(row);
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  if (next) return;
  if (moreLink()) {
    await append(moreLink().href);
    rows()[0]?.focus();
  } else {
    await refresh();
    document.getElementById("main").focus();
  }
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const row = form.closest("[data-request]");
  // A decision with a passkey loads a page.
  if (!row || event.defaultPrevented || form.dataset.ceremony !== undefined) return;
  event.preventDefault();
  try {
    await answer(form, row);
  } catch {
    delete row.dataset.sending;
    delete form.dataset.sent;
    location.assign(`/app/approvals/${encodeURIComponent(txnOf(row))}`);
  }
});

/** Opens the request that the address names. */
function openNamed() {
  const row = location.hash.startsWith("#r-") && document.getElementById(location.hash.slice(1));
  const details = row && row.querySelector("[data-row]");
  if (details) details.open = true;
}

// The first message of a connection repeats what is known; each later one means a change.
let first = true;

function onInbox(event) {
  const { pending } = JSON.parse(event.data);
  const repeats = first && pending === known;
  first = false;
  showCount(pending);
  if (!repeats) onChange();
}

addEventListener("hashchange", openNamed);
openNamed();
showCount(known);
const events = new EventSource("/app/events");
events.addEventListener("inbox", onInbox);
// After a lost connection the next message is a repetition again.
events.addEventListener("error", () => { first = true; });
addEventListener("pagehide", () => events.close());
