// The weights editor: what a draft amounts to while it is typed, and finding a Stamp among many.
// Weights are counted in hundred-thousandths, as the server does, so that no sum is off by a hair.

const ONE = 100_000n;
const NUMBER = /^(\d{1,7})(?:\.(\d{1,5}))?$/;
const form = document.querySelector("[data-weights]");
const threshold = form.querySelector("[data-threshold]");
const place = (name) => form.querySelector(`[data-${name}]`);
const rows = [...form.querySelectorAll("[data-row]")];
const platforms = [...form.querySelectorAll("[data-platform]")];

/** A weight in hundred-thousandths; null if it is none. */
function read(text) {
  const digits = NUMBER.exec(text.trim() || "0");
  return digits && BigInt(digits[1]) * ONE + BigInt((digits[2] ?? "").padEnd(5, "0"));
}

/** Without zeros at the end, as the server writes it. */
function write(units) {
  const fraction = String(units % ONE).padStart(5, "0").replace(/0+$/, "");
  return fraction ? `${units / ONE}.${fraction}` : String(units / ONE);
}

function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Name and weight of every row that counts, the heaviest first. */
function weights() {
  const all = [...form.querySelectorAll("[data-weight]")].map((input) => ({
    name: input.name === "extra_weight" ? form.elements.extra_name.value.trim() : input.name.slice("weight.".length),
    units: read(input.value),
  }));
  return all.filter(({ units }) => units > 0n).sort((a, b) => (a.units < b.units ? 1 : a.units > b.units ? -1 : 0));
}

function chip({ name, units }) {
  const box = document.createElement("span");
  const label = document.createElement("span");
  box.className = "chip";
  label.className = "mono";
  label.textContent = name;
  box.append(label, ` ${write(units)}`);
  return box;
}

function together(all, needed) {
  let sum = 0n;
  const used = [];
  for (const one of all) {
    sum += one.units;
    used.push(one.name);
    if (sum >= needed) return `At least ${used.length} Stamps, for example ${used.join(" + ")} = ${write(sum)}.`;
  }
  return "All of them together are not enough, so no address can pass.";
}

function count() {
  const all = weights();
  const needed = read(threshold.value);
  place("sum").textContent = write(all.reduce((sum, { units }) => sum + units, 0n));
  place("weighed").textContent = `${counted(all.length, "Stamp")} ${all.length === 1 ? "has" : "have"} a weight`;
  if (needed === null) return;
  place("needed").textContent = write(needed);
  const alone = all.filter(({ units }) => units >= needed);
  const box = place("alone");
  box.replaceChildren(...alone.flatMap((one) => [chip(one), " "]));
  if (alone.length === 0) box.textContent = "none";
  place("together-box").hidden = alone.length > 0;
  place("together").textContent = alone.length > 0 ? "" : together(all, needed);
}

function mark(input) {
  if (read(input.value) === null) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

form.addEventListener("input", (event) => {
  if (event.target.matches("[data-weight], [data-threshold]")) mark(event.target);
  if (event.target.matches("[data-weight], [data-threshold], [name=extra_name]")) count();
});

// Finding. Hidden rows are sent with the form like any other.
const find = document.querySelector("[data-find]");
const search = find.querySelector("input[type=search]");
const onlyWeighed = find.querySelector("[data-only-weighed]");

function filter() {
  const wanted = search.value.trim().toLowerCase();
  for (const row of rows) {
    const platform = row.closest("[data-platform]").dataset.platform;
    const text = `${platform} ${row.textContent}`.toLowerCase();
    const weighed = read(row.querySelector("[data-weight]").value) !== 0n;
    row.hidden = !text.includes(wanted) || (onlyWeighed.checked && !weighed);
  }
  for (const platform of platforms) platform.hidden = !platform.querySelector("[data-row]:not([hidden])");
}

find.hidden = false;
find.addEventListener("input", filter);
// Enter in the search field finds; it must not save.
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") event.preventDefault();
});

// Where the chart is wider than the window, what is needed to pass is in the middle of it.
const chart = document.querySelector(".preview .chart-scroll");
const needed = chart?.querySelector("line.needed:not(.old)");
if (needed) {
  const middle = chart.getBoundingClientRect().left + chart.clientWidth / 2;
  chart.scrollLeft += needed.getBoundingClientRect().left - middle;
}
