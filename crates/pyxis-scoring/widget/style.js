/** Colors and sizes are custom properties, so that a page sets them on the element. */
const CSS = `
:host {
  --_accent: var(--pyxis-accent, #4338ca);
  --_on-accent: var(--pyxis-on-accent, #ffffff);
  --_text: var(--pyxis-text, #1b1d28);
  --_muted: var(--pyxis-muted, #565b6e);
  --_background: var(--pyxis-background, #ffffff);
  --_surface: var(--pyxis-surface, #f4f5f9);
  --_border: var(--pyxis-border, #d6d9e4);
  --_good: var(--pyxis-good, #0f6b3c);
  --_bad: var(--pyxis-bad, #a1321f);
  --_radius: var(--pyxis-radius, 12px);
  display: block;
  max-inline-size: 30rem;
  color: var(--_text);
  font: 400 1rem/1.5 var(--pyxis-font, system-ui, sans-serif);
  color-scheme: light;
}
@media (prefers-color-scheme: dark) {
  :host(:not([theme="light"])) {
    --_accent: var(--pyxis-accent, #a5a8ff);
    --_on-accent: var(--pyxis-on-accent, #14162b);
    --_text: var(--pyxis-text, #eceef6);
    --_muted: var(--pyxis-muted, #a9afc3);
    --_background: var(--pyxis-background, #171926);
    --_surface: var(--pyxis-surface, #212436);
    --_border: var(--pyxis-border, #3a3e55);
    --_good: var(--pyxis-good, #6fd39c);
    --_bad: var(--pyxis-bad, #ff9d8a);
    color-scheme: dark;
  }
}
:host([theme="dark"]) {
  --_accent: var(--pyxis-accent, #a5a8ff);
  --_on-accent: var(--pyxis-on-accent, #14162b);
  --_text: var(--pyxis-text, #eceef6);
  --_muted: var(--pyxis-muted, #a9afc3);
  --_background: var(--pyxis-background, #171926);
  --_surface: var(--pyxis-surface, #212436);
  --_border: var(--pyxis-border, #3a3e55);
  --_good: var(--pyxis-good, #6fd39c);
  --_bad: var(--pyxis-bad, #ff9d8a);
  color-scheme: dark;
}
:host([hidden]) { display: none; }
*, ::before, ::after { box-sizing: border-box; }
.card {
  padding: 1.25rem;
  background: var(--_background);
  border: 1px solid var(--_border);
  border-radius: var(--_radius);
}
h2, h3, p, ul { margin: 0; padding: 0; }
h2 { font-size: 1.125rem; line-height: 1.3; text-wrap: balance; }
h2:focus { outline: none; }
h3 { margin-block: 1.25rem 0.25rem; font-size: 0.9375rem; }
.card > p { margin-block-start: 0.5rem; }
.muted { color: var(--_muted); font-size: 0.875rem; overflow-wrap: anywhere; }
.row { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-block-start: 1rem; }
button, .button {
  min-block-size: 2.75rem;
  padding: 0.5rem 1.125rem;
  border: 1px solid var(--_border);
  border-radius: calc(var(--_radius) * 0.66);
  background: var(--_background);
  color: var(--_text);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button.primary { background: var(--_accent); border-color: var(--_accent); color: var(--_on-accent); }
button:hover { filter: brightness(0.95); }
:focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px; }
a { color: var(--_accent); font-weight: 600; text-underline-offset: 0.2em; }
.result { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 0.75rem; }
.badge {
  display: inline-flex;
  align-items: center;
  gap: 0.375rem;
  padding: 0.125rem 0.625rem;
  border: 1px solid currentColor;
  border-radius: 999px;
  font-size: 0.875rem;
  font-weight: 600;
}
.good { color: var(--_good); }
.bad { color: var(--_bad); }
.number { margin-block-start: 0.75rem; font-size: 1.25rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.meter { display: block; inline-size: 100%; block-size: 10px; margin-block: 0.5rem; border-radius: 999px; }
.meter .track { fill: var(--_surface); stroke: var(--_border); }
.meter .fill { fill: var(--_accent); }
ul { list-style: none; }
li {
  display: grid;
  grid-template-columns: 1fr auto;
  gap: 0 0.75rem;
  padding-block: 0.5rem;
  border-block-start: 1px solid var(--_border);
}
li .name { font-weight: 600; overflow-wrap: anywhere; }
li .points { justify-self: end; font-variant-numeric: tabular-nums; }
li .muted { grid-column: 1; }
li a { grid-column: 2; justify-self: end; padding-block: 0.25rem; }
li form { grid-column: 1 / -1; display: grid; gap: 0.625rem; justify-items: start; margin-block-start: 0.5rem; }
label { display: grid; gap: 0.25rem; justify-self: stretch; font-size: 0.875rem; }
input {
  min-block-size: 2.75rem;
  inline-size: 100%;
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--_muted);
  border-radius: calc(var(--_radius) * 0.66);
  background: var(--_background);
  color: var(--_text);
  font: inherit;
}
li.off .points { color: var(--_muted); }
summary { padding-block: 0.625rem; color: var(--_accent); font-weight: 600; cursor: pointer; }
.wait { display: flex; align-items: center; gap: 0.75rem; margin-block-start: 0.75rem; }
.spinner {
  inline-size: 1.25rem;
  block-size: 1.25rem;
  flex: none;
  border: 3px solid var(--_border);
  border-block-start-color: var(--_accent);
  border-radius: 50%;
  animation: turn 0.9s linear infinite;
}
.alert { padding: 0.75rem; background: var(--_surface); border-inline-start: 3px solid var(--_bad); border-radius: 4px; }
.sr { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@keyframes turn { to { rotate: 1turn; } }
@media (prefers-reduced-motion: reduce) {
  .spinner { animation: none; border-color: var(--_accent); opacity: 0.6; }
}
@media (forced-colors: active) {
  .meter .fill { fill: Highlight; }
}
`;

let sheet;

/** One style sheet for all elements. Adopted sheets need no style-src of the page. */
function styleSheet() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
  }
  return sheet;
}

