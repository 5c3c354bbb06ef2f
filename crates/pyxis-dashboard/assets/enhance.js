// What makes a finished page nicer. Every page works without this file.
// Only textContent and attributes are written; no HTML, no inline style.

const SECOND = 1000;
const announcer = document.querySelector("[data-announce]");

function announce(text) {
  if (announcer) announcer.textContent = text;
}

// Moments in the reader's own time zone; the server wrote UTC.
const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", timeZoneName: "short" });

/** Writes the moments of the page, and those of parts that a script has added. */
function tellTimes() {
  for (const time of document.querySelectorAll("time[datetime]:not([data-told-time])")) {
    time.dataset.toldTime = "";
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) time.title = local.format(at);
  }
  for (const place of document.querySelectorAll("[data-clock]")) {
    place.textContent = `at ${clock.format(new Date(place.dataset.clock))}`;
  }
  for (const place of document.querySelectorAll("[data-until]")) {
    place.textContent = clock.format(new Date(place.dataset.until));
  }
}
tellTimes();

// Countdowns. The absolute time is next to them and stays.
function remaining(milliseconds) {
  const seconds = Math.ceil(milliseconds / SECOND);
  if (seconds <= 0) return "expired, ";
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours > 0) return `in ${hours} h ${minutes} min, `;
  if (minutes > 0) return `in ${minutes} min ${String(seconds % 60).padStart(2, "0")} s, `;
  return `in ${seconds} s, `;
}

/** The same in a narrow column: minutes and seconds. */
function left(milliseconds) {
  const seconds = Math.ceil(milliseconds / SECOND);
  if (seconds <= 0) return "expired";
  if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)} d`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function tick() {
  const now = Date.now();
  for (const place of document.querySelectorAll("[data-countdown], [data-left]")) {
    const time = Date.parse(place.dataset.countdown ?? place.dataset.left) - now;
    place.textContent = place.dataset.left ? left(time) : remaining(time);
    place.classList.toggle("urgent", time < 300 * SECOND);
  }
}
tick();
setInterval(tick, SECOND);
document.addEventListener("px:added", () => {
  tellTimes();
  tick();
});

// Copy buttons appear only where copying can work.
if (navigator.clipboard) {
  for (const box of document.querySelectorAll("[data-copyable]")) {
    const button = box.querySelector("[data-copy]");
    const label = box.querySelector("[data-copy-label]");
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(box.querySelector("[data-copy-source]").textContent);
        label.textContent = "Copied";
      } catch {
        label.textContent = "Select the text and copy it";
      }
      announce(label.textContent);
      setTimeout(() => { label.textContent = "Copy"; }, 2 * SECOND);
    });
  }
}

// A form is sent once, however often the button is hit. Going back makes it usable again.
document.addEventListener("submit", (event) => {
  // getAttribute: a field named "method" would hide the property.
  if (event.target.getAttribute("method") !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  else event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// Panels close when the person turns elsewhere or presses Escape.
function closePanels(except) {
  for (const panel of document.querySelectorAll("details.pop[open], details.more[open]")) {
    if (!except || !panel.contains(except)) panel.open = false;
  }
}
document.addEventListener("pointerdown", (event) => closePanels(event.target));

/** Keeps an open panel on the screen: above its button if it fits only there, and else scrolled into view. */
function place(panel) {
  const bar = document.querySelector(".bar")?.getBoundingClientRect().height ?? 0;
  const isShown = () => {
    const { top, bottom } = panel.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight - bar;
  };
  panel.classList.remove("above");
  if (isShown()) return;
  panel.classList.add("above");
  if (isShown()) return;
  panel.classList.remove("above");
  panel.scrollIntoView({ block: "nearest" });
}

// The event of a <details> does not bubble.
document.addEventListener("toggle", ({ target }) => {
  if (target.matches?.("details.pop[open]")) place(target.querySelector(".panel"));
}, true);

function typing(element) {
  return element instanceof HTMLElement && element.matches("input:not([data-select]), textarea, select");
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const open = document.querySelector("details.pop[open]");
    closePanels();
    open?.querySelector("summary").focus();
    return;
  }
  if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "?") {
    document.getElementById("help")?.togglePopover();
  } else if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (search) search.focus();
    else if (document.body.classList.contains("app")) location.assign("/app/audit");
    event.preventDefault();
  }
});

// Requests: j and k move, Enter opens, a goes to Approve (Enter confirms) or to the page that has it, d opens Deny.
const requests = () => [...document.querySelectorAll("[data-request]")];

function current(all) {
  return all.find((request) => request.contains(document.activeElement)) ?? (all.length === 1 ? all[0] : undefined);
}

function move(step) {
  const all = requests();
  const at = all.indexOf(current(all));
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  closePanels();
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function decide(selector, words) {
  const all = requests();
  const request = current(all) ?? all[0];
  const control = request?.querySelector(selector);
  if (!control) return;
  closePanels();
  const row = request.querySelector("[data-row]");
  if (row) row.open = true;
  if (control.matches("a")) {
    control.click();
    return;
  }
  if (control.matches("summary")) {
    control.parentElement.open = true;
    control.parentElement.querySelector("textarea").focus();
  } else {
    control.focus();
  }
  announce(`${words} ${request.dataset.what}`);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches?.("[data-request]")) return;
  const row = event.target.querySelector("[data-row]");
  if (row) row.open = !row.open;
});

document.addEventListener("keydown", (event) => {
  if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = {
    j: () => move(1),
    k: () => move(-1),
    a: () => decide("[data-approve], [data-read]", "Press Enter to approve"),
    d: () => decide("[data-deny]", "Deny"),
  }[event.key];
  if (!action || requests().length === 0) return;
  event.preventDefault();
  action();
});
