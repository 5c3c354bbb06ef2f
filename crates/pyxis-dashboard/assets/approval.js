// The page of one request that waits. When it is decided, withdrawn or expires elsewhere, the page is
// reloaded; a person in the middle of an answer is told first.

const request = document.querySelector("[data-live]");
const news = document.querySelector("[data-news]");
const events = new EventSource(`/app/events?txn=${encodeURIComponent(request.dataset.txn)}`);

function busy() {
  return document.querySelector("details.pop[open], details.edit[open], textarea:focus, [type=checkbox]:checked")
    || String(getSelection());
}

function show() {
  events.close();
  location.reload();
}

events.addEventListener("inbox", (event) => {
  if (JSON.parse(event.data).mark === request.dataset.live) return;
  if (!document.hidden && busy()) news.hidden = false;
  else show();
});

document.querySelector("[data-news-show]").addEventListener("click", (event) => {
  event.preventDefault();
  show();
});
// The person's own answer changes the request too; the page that follows shows it.
document.addEventListener("submit", () => events.close());
addEventListener("pagehide", () => events.close());
