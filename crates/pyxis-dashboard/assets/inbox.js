// The live inbox. The server says how many requests wait; the page reloads itself only when that
// cannot move anything under a finger or take away what the person is doing. Else it offers a button.

const CALM = 5000;
const inbox = document.querySelector("[data-inbox]");
const news = document.querySelector("[data-news]");
const newsText = document.querySelector("[data-news-text]");
const shown = Number(inbox.dataset.pending);
const title = document.title;
// Loading counts as a touch: whatever the server says, the page reloads at most every few seconds.
let lastTouch = Date.now();
let waiting = false;
// The first message of a connection repeats what is known; each later one means a change.
let first = true;
// The very first one only offers the button, so that no disagreement can make the page reload for ever.
let connected = false;

for (const kind of ["pointermove", "pointerdown", "keydown", "scroll"]) {
  addEventListener(kind, () => { lastTouch = Date.now(); }, { passive: true });
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

function words(pending) {
  const more = pending - shown;
  if (more === 1) return "1 new request";
  return more > 1 ? `${more} new requests` : "The inbox has changed";
}

function showCount(pending) {
  for (const count of document.querySelectorAll("[data-pending-count]")) {
    count.textContent = String(pending);
    count.hidden = pending === 0;
  }
  document.title = pending > 0 ? `(${pending}) ${title}` : title;
}

function settle() {
  if (busy()) setTimeout(settle, CALM);
  else location.reload();
}

function onInbox(event) {
  const { pending } = JSON.parse(event.data);
  showCount(pending);
  const repeats = first && pending === shown;
  first = false;
  if (!repeats) {
    newsText.textContent = words(pending);
    news.hidden = false;
    if (connected && !waiting) {
      waiting = true;
      settle();
    }
  }
  connected = true;
}

document.querySelector("[data-news-show]").addEventListener("click", (event) => {
  event.preventDefault();
  location.reload();
});

showCount(shown);
const events = new EventSource("/app/events");
events.addEventListener("inbox", onInbox);
// After a lost connection the next message is a repetition again.
events.addEventListener("error", () => { first = true; });
addEventListener("pagehide", () => events.close());
