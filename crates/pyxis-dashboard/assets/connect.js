// The page that connects a program to an agent's key: it says when the first call has arrived. The server is asked every
// two seconds, and no longer than half an hour.

const PAUSE = 2000;
const LAST = Date.now() + 30 * 60 * 1000;
const status = document.querySelector("[data-seen]");
const text = status.querySelector("[data-seen-text]");
const since = Date.parse(status.dataset.since);
const isActive = "active" in status.dataset;

async function ask() {
  if (Date.now() > LAST) {
    if (!isActive) text.textContent = "No call has arrived. Reload this page to wait again.";
    return;
  }
  try {
    const answer = await fetch(status.dataset.seen, { headers: { Accept: "application/json" } });
    const { last_seen } = answer.ok ? await answer.json() : {};
    if (last_seen && Date.parse(last_seen) >= since) {
      status.classList.add("arrived");
      text.textContent = isActive ? "Connected. A new call has arrived." : "Connected. A call has arrived.";
      return;
    }
  } catch {
    // The server restarts, or the network is gone: the next question may be answered.
  }
  setTimeout(ask, PAUSE);
}

// An agent that has called before is not waited for.
if (!isActive) text.textContent = "Waiting for a call from this agent…";
ask();
