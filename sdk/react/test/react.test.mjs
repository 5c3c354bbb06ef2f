// The hook and the component, rendered by React, with scores of a real server.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { createElement, press, render, root, until } from "./support/screen.mjs";

import axe from "axe-core";
import { StrictMode } from "react";
import { renderToString } from "react-dom/server";

import { fromPyxis, fromRoute, PyxisProvider, PyxisScore, useScore } from "@pyxis/react";
import { Pyxis } from "@pyxis/sdk";

import { Quickstart } from "../../support/quickstart.mjs";
import { serveRoute } from "./support/route.mjs";

const status = () => root.querySelector("[role=status]")?.textContent;
const score = (props) => createElement(PyxisScore, props);
const provide = (props, child) => createElement(PyxisProvider, props, child);

suite("React", () => {
  let server;
  let pyxis;
  let source;
  let human;
  let other;

  before(async () => {
    server = await Quickstart.start();
    pyxis = new Pyxis({ url: server.url, apiKey: server.sample.api_key, retry: { attempts: 1 } });
    source = fromPyxis(pyxis, 1);
    [human, other] = server.sample.sample_addresses;
  });
  after(() => server?.stop());

  test("shows that it reads, then the score, and another when the address changes", async () => {
    // Answers only when it is told to, so that the moment before can be seen.
    let release;
    const held = (...asked) => new Promise((resolve) => (release = resolve)).then(() => source(...asked));
    await render(provide({ source: held }, score({ address: human })), async ({ update }) => {
      assert.equal(root.querySelector(".pyxis-score").getAttribute("aria-busy"), "true");
      assert.equal(status(), "Reading the score…");
      release();
      await until(() => status() === "Passes: 22.598 of 20 points");
      await update(provide({ source: held }, score({ address: other, className: "wide" })));
      assert.equal(status(), "Reading the score…");
      release();
      await until(() => status() === "Does not pass: 4.241 of 20 points");
      assert.equal(root.querySelector(".pyxis-score.wide").dataset.state, "fails");
    });
  });

  test("has no fault that an examination of accessibility finds", async () => {
    await render(provide({ source }, score({ address: "0x12" })), async () => {
      await until(() => root.querySelector("button"));
      const { violations } = await axe.run(root.ownerDocument, { rules: { "color-contrast": { enabled: false } } });
      assert.deepEqual(violations.map(({ id, help }) => `${id}: ${help}`), []);
    });
  });

  test("shows a failure as one, keeps its button while it reads again, and recovers", async () => {
    let isDown = true;
    const [route, end] = await serveRoute((address) => {
      if (isDown) throw Object.assign(new Error(), { status: 503, detail: "down" });
      return pyxis.score(1, address);
    });
    const labels = { error: (error) => `${error.status} ${error.detail}`, refresh: "Again" };
    try {
      await render(provide({ route }, score({ address: human, labels })), async () => {
        await until(() => status() === "503 down");
        isDown = false;
        await press(root.querySelector("button"));
        assert.equal(status(), "Reading the score…");
        assert.equal(root.querySelector("button").textContent, "Again");
        await until(() => status() === "Passes: 22.598 of 20 points");
        assert.equal(root.querySelector("button"), null);
      });
    } finally {
      end();
    }
  });

  test("gives up a route that stays silent", async () => {
    const [route, end] = await serveRoute(() => new Promise(() => {}));
    try {
      const silent = fromRoute(route, { timeoutMs: 50 });
      await render(provide({ source: silent }, score({ address: human })), async () => {
        await until(() => status() === "The score cannot be read now.");
      });
    } finally {
      end();
    }
  });

  test("takes a response without a score for a failure", async () => {
    const [route, end] = await serveRoute(() => ({ hello: "world" }));
    try {
      await render(provide({ route }, score({ address: human })), async () => {
        await until(() => status() === "The score cannot be read now.");
      });
    } finally {
      end();
    }
  });

  test("forgets the score that was there before a failed refresh", async () => {
    const states = [];
    const seen = () => states.at(-1);
    const Probe = ({ address }) => {
      states.push(useScore(address));
      return null;
    };
    let isDown = false;
    const flaky = (...call) => (isDown ? Promise.reject(new Error("down")) : source(...call));
    await render(provide({ source: flaky }, createElement(Probe, { address: human })), async ({ update }) => {
      await until(() => seen().score);
      isDown = true;
      await press({ click: seen().refresh });
      await until(() => !seen().loading);
      assert.deepEqual([seen().score, seen().error.message], [null, "down"]);
      await update(provide({ source: flaky }, createElement(Probe, { address: null })));
      assert.deepEqual([seen().score, seen().error, seen().loading], [null, null, false]);
    });
    assert.ok(states.every((state) => !(state.score && state.error)));
  });

  test("aborts what it reads when it is unmounted, and reads once more in strict mode", async () => {
    const signals = [];
    const silent = (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    };
    const strict = createElement(StrictMode, null, provide({ source: silent }, score({ address: human })));
    await render(strict, async ({ unmount }) => {
      assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false]);
      await unmount();
      assert.ok(signals.every(({ aborted }) => aborted));
    });
  });

  test("renders on a server without a request, and hydrates into the same page", async () => {
    let reads = 0;
    const counted = (...call) => {
      reads += 1;
      return source(...call);
    };
    const initialScore = await pyxis.score(1, human);
    const loading = provide({ source: counted }, score({ address: human }));
    const ready = provide({ source: counted }, score({ address: human, initialScore }));
    assert.match(renderToString(loading), /Reading the score…/);
    root.innerHTML = renderToString(ready);
    assert.equal(status(), "Passes: 22.598 of 20 points");
    await render(ready, async () => assert.equal(status(), "Passes: 22.598 of 20 points"), { hydrate: true });
    assert.equal(reads, 0);
  });

  test("says that a provider is missing", () => {
    assert.throws(() => renderToString(score({ address: human })), /PyxisProvider above it/);
    assert.throws(() => renderToString(provide({}, null)), /needs a route or a source/);
  });
});
