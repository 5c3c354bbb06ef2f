// Selecting several requests of the inbox: x or Space toggles the focused one, Shift-click a range. Only
// requests on this page can be selected, and there is no button that selects them all.

const boxes = [...document.querySelectorAll("[data-select]")];
const count = document.querySelector("[data-selected]");
let last = -1;

function show() {
  const selected = boxes.filter((box) => box.checked).length;
  if (count) count.textContent = `${selected} selected`;
}

function toggle(box) {
  box.checked = !box.checked;
  last = boxes.indexOf(box);
  show();
}

for (const [place, box] of boxes.entries()) {
  box.addEventListener("click", (event) => {
    if (event.shiftKey && last >= 0) {
      const [from, to] = [Math.min(last, place), Math.max(last, place)];
      for (const other of boxes.slice(from, to + 1)) other.checked = box.checked;
    }
    last = place;
    show();
  });
}

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
  if (!box) return;
  event.preventDefault();
  toggle(box);
});

// Going back brings the selection back.
addEventListener("pageshow", show);
show();
