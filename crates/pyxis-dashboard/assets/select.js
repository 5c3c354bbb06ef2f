// Selecting several requests of the inbox: x or Space toggles the focused one, Shift-click a range. Only
// requests on this page can be selected, and there is no button that selects them all.

const boxes = () => [...document.querySelectorAll("[data-select]")];
const count = document.querySelector("[data-selected]");
let last;

function show() {
  const selected = boxes().filter((box) => box.checked).length;
  if (count) count.textContent = `${selected} selected`;
}

function toggle(box) {
  box.checked = !box.checked;
  last = box;
  show();
}

document.addEventListener("click", (event) => {
  const box = event.target;
  if (!box.matches?.("[data-select]")) return;
  const all = boxes();
  const place = all.indexOf(box);
  const start = all.indexOf(last);
  if (event.shiftKey && start >= 0) {
    const [from, to] = [Math.min(start, place), Math.max(start, place)];
    for (const other of all.slice(from, to + 1)) other.checked = box.checked;
  }
  last = box;
  show();
});

/** The checkbox of the request that has the focus, or that contains what has it. */
function current(target) {
  return target.closest?.("[data-request]")?.querySelector("[data-select]");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  // Enter on a checkbox would send the form.
  if (event.key === "Enter" && target.matches?.("[data-select]")) event.preventDefault();
  const types = target.matches?.("input:not([data-select]), textarea, select");
  // Space presses what has the focus, unless that is the request itself.
  const wanted = (event.key === "x" && !types) || (event.key === " " && target.matches?.("[data-request]"));
  const box = wanted ? current(target) : undefined;
  if (!box || box.disabled) return;
  event.preventDefault();
  toggle(box);
});

// Requests come and go, and going back brings the selection back.
document.addEventListener("px:added", show);
addEventListener("pageshow", show);
show();
