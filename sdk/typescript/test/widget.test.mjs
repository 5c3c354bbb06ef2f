// The widget in the package: the same bytes as the server's, and harmless where there is no browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { PyxisPassport } from "@pyxis/sdk/widget";

test("the widget can be imported where a page is rendered on a server", () => {
  assert.equal(typeof PyxisPassport, "function");
  assert.equal(globalThis.customElements, undefined);
});

test("the widget has no import, so one file is all that a page loads", async () => {
  const text = await readFile(new URL("../dist/widget.js", import.meta.url), "utf8");
  assert.doesNotMatch(text, /\bimport\b[\s(]/);
  assert.equal(text.match(/^export /gm).length, 1);
});
