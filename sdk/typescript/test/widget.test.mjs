// The widget in the package: the same bytes as the server's, harmless where there is no browser, and in every language.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { PyxisPassport } from "@pyxis/sdk/widget";

import { Quickstart } from "../../support/quickstart.mjs";

const MODULE = new URL("../dist/widget.js", import.meta.url);
const PARTS = new URL("../../../crates/pyxis-scoring/widget/", import.meta.url);

test("the widget can be imported where a page is rendered on a server", () => {
  assert.equal(typeof PyxisPassport, "function");
  assert.equal(globalThis.customElements, undefined);
});

test("the widget has no import, so one file is all that a page loads", async () => {
  const text = await readFile(MODULE, "utf8");
  assert.doesNotMatch(text, /\bimport\b[\s(]/);
  assert.equal(text.match(/^export /gm).length, 1);
});

test("the widget is byte for byte the one that the server serves", async () => {
  const server = await Quickstart.start();
  try {
    const response = await fetch(new URL("/assets/widget/v1/pyxis-passport.js", server.url));
    assert.deepEqual([response.status, response.headers.get("content-type")], [200, "text/javascript; charset=utf-8"]);
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(await readFile(MODULE)));
  } finally {
    await server.stop();
  }
});

test("every language of the widget has every text, with the same values in it", async () => {
  const { TEXTS } = new Function(`${await readFile(new URL("messages.js", PARTS), "utf8")}\nreturn { TEXTS };`)();
  assert.deepEqual(Object.keys(TEXTS).sort(), ["de", "en", "es", "fr"]);
  const values = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const [language, texts] of Object.entries(TEXTS)) {
    assert.deepEqual(Object.keys(texts).sort(), Object.keys(TEXTS.en).sort(), language);
    for (const [name, text] of Object.entries(texts)) {
      assert.ok(text.trim(), `${language}: ${name} is empty`);
      assert.deepEqual(values(text), values(TEXTS.en[name]), `${language}: ${name}`);
    }
  }
});

test("every text that the widget shows by name is there", async () => {
  const { TEXTS } = new Function(`${await readFile(new URL("messages.js", PARTS), "utf8")}\nreturn { TEXTS };`)();
  const names = new Set();
  for (const part of ["view.js", "element.js"]) {
    const text = await readFile(new URL(part, PARTS), "utf8");
    for (const [, name] of text.matchAll(/\bthis\.(?:t|#translate)\("(\w+)"/g)) names.add(name);
  }
  assert.ok(names.size >= 15, `${names.size} names were found`);
  for (const name of names) assert.ok(name in TEXTS.en, name);
});
