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

/** Classes of the widget, with the page's globals that a test gives. */
async function load(globals) {
  const read = (part) => readFile(new URL(`${part}.js`, PARTS), "utf8");
  const parts = await Promise.all(["messages", "wallets", "server", "view"].map(read));
  const scope = { document: { createElement: (tag) => new Element(tag) }, ...globals };
  const body = `${parts.join("")}\nreturn { ScoreServer, View, translator };`;
  return new Function(...Object.keys(scope), body)(...Object.values(scope));
}

/** Element of a page: as much of one as the widget's content needs. */
class Element {
  attributes = {};
  children = [];

  constructor(tag) {
    this.tag = tag;
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  addEventListener() {}

  append(...children) {
    this.children.push(...children);
  }
}

/** Texts of the elements with a tag, in their order. */
function texts(content, tag) {
  const elements = [content].flat(9).filter((child) => child instanceof Element);
  return elements.flatMap((element) => [
    ...(element.tag === tag ? [element.children.filter((child) => typeof child === "string").join("")] : []),
    ...texts(element.children, tag),
  ]);
}

test("without an answer, the console gets a hint, and the page too if its visitor is its developer", async () => {
  for (const hostname of ["localhost", "127.0.0.1", "[::1]", "shop.example", "localhost.example"]) {
    const [origin, warnings] = [`http://${hostname}:3000`, []];
    const { ScoreServer, View, translator } = await load({
      location: { hostname, origin },
      console: { warn: (text) => warnings.push(text) },
      fetch: () => Promise.reject(new TypeError("Failed to fetch")),
    });
    const failure = await new ScoreServer("http://pyxis.example", "1", "px_pub_1").view().catch((error) => error);
    assert.deepEqual([failure.code, failure.values], ["offline", {}]);
    const [warning] = warnings;
    assert.match(warning, /^<pyxis-passport>: No answer from http:\/\/pyxis.example\/widget\/v1\/1\. /);
    assert.ok(warning.includes(`add the origin ${origin} to the publishable key`), warning);
    const said = texts(new View(translator("en"), "en", {}, () => undefined).failed(failure, true), "p");
    const expected = ["The score server cannot be reached. Check your connection and try again."];
    if (!hostname.endsWith(".example")) expected.push(warning.replace("<pyxis-passport>: ", ""));
    assert.deepEqual(said, expected, hostname);
  }
});

test("a key that the server does not know, or has revoked, is named", async () => {
  const answer = (body) => ({ fetch: async () => Response.json(body, { status: 401 }) });
  for (const [body, code, detail] of [
    [{ detail: "Invalid API Key." }, "setup", "the publishable key is unknown or revoked"],
    [{ detail: "Sign in first.", code: "session_needed" }, "expired", "Sign in first."],
    [{ detail: "No.", code: "wrong_signature" }, "signature", "No."],
  ]) {
    const { ScoreServer } = await load(answer(body));
    const failure = await new ScoreServer("http://pyxis.example", "1", "px_pub_1").view().catch((error) => error);
    assert.deepEqual([failure.code, failure.values.detail], [code, detail]);
  }
});

test("Stamps without a link or a button are not announced as some that the visitor can add", async () => {
  const { View, translator } = await load({});
  const record = { address: "0x12", passing_score: false, stamps: {} };
  const stamp = (name, issued_here) => ({ name, weight: "1", issued_here });
  for (const [stamps, link, heading] of [
    [[stamp("Lens"), stamp("Ens")], undefined, "Stamps that add points"],
    [[stamp("Lens"), stamp("Ens")], "https://issuer.example/", "Stamps that you can add"],
    [[stamp("Lens"), stamp("EarlyMember", "list")], undefined, "Stamps that you can add"],
  ]) {
    const view = new View(translator("en"), "en", {}, () => link);
    const content = view.addable(record, { stamps, platforms: {} });
    assert.deepEqual(texts(content, "h3"), [heading]);
    assert.equal(content[1].attributes["aria-label"], heading);
  }
});
