// The page of one request or task. While it is pending, a change elsewhere reloads the page, or offers to if a person
// is about to decide. Once a request is approved, its page shows the outcome when it arrives.

const AGAIN = 3000;
const news = document.querySelector("[data-news]");
const request = document.querySelector("[data-live]");
const { txn, task } = request.dataset;
const address = `/app/events?${new URLSearchParams(task ? { task } : { txn })}`;
let mark = request.dataset.live;
let events;

const underWay = () => document.querySelector("[data-follow]") !== null;

function busy() {
  return document.querySelector("details.pop[open], details.edit[open], textarea:focus, [type=checkbox]:checked")
    || String(getSelection());
}

/** Current version of this page. The browser parses it: the content security policy lets no script parse text. */
function load() {
  return new Promise((resolve, reject) => {
    const asked = new XMLHttpRequest();
    asked.open("GET", location.href);
    asked.responseType = "document";
    asked.onload = () => {
      const found = asked.status === 200 && asked.response?.querySelector("[data-live]");
      if (found) resolve(asked.response);
      else reject(new Error(String(asked.status)));
    };
    asked.onerror = () => reject(new Error("no connection"));
    asked.send();
  });
}

function reload() {
  events.close();
  location.reload();
}

/** Puts the outcome into the page, without losing the place or the focus. */
async function follow() {
  const page = await load();
  const now = page.querySelector("[data-live]");
  mark = now.dataset.live;
  const focused = document.querySelector("main").contains(document.activeElement);
  // What became of the person's own answer is told once, and stays.
  const notice = document.querySelector("main .flash[role=status]");
  document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
  if (notice) document.querySelector("[data-live]").before(notice);
  document.dispatchEvent(new Event("px:added"));
  if (focused) document.querySelector("[data-request]").focus();
  if (underWay()) return;
  events.close();
  const outcome = document.querySelector(".settled");
  document.querySelector("[data-announce]").textContent = outcome?.textContent.trim().replaceAll(/\s+/g, " ") ?? "";
}

async function changed() {
  if (!underWay()) {
    if (!document.hidden && busy()) news.hidden = false;
    else reload();
    return;
  }
  try {
    await follow();
  } catch {
    reload();
  }
}

function listen() {
  events = new EventSource(address);
  events.addEventListener("inbox", (event) => {
    if (JSON.parse(event.data).mark !== mark) changed();
  });
  // If the server has no stream left, try again later.
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED && underWay()) setTimeout(changed, AGAIN);
  });
}

document.querySelector("[data-news-show]").addEventListener("click", (event) => {
  event.preventDefault();
  reload();
});
// The person's own answer changes the request too; the page that follows shows it.
document.addEventListener("submit", () => events.close());
addEventListener("pagehide", () => events.close());
listen();
