// The hook and the component, rendered by React, with scores of a real server.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { createElement, press, render, root, until } from "./support/screen.mjs";

import axe from "axe-core";
import { StrictMode } from "react";
import { renderToString } from "react-dom/server";

import { fromPyxis, fromRoute, PyxisProvider, PyxisScore, useScore } from "@pyxis/react";
import { Pyxis, ResponseError } from "@pyxis/sdk";

import { Quickstart } from "../../support/quickstart.mjs";
import { serveRoute } from "./support/route.mjs";

const status = () => root.querySelector("[role=status]")?.textContent;
const score = (props) => createElement(PyxisScore, props);
const provide = (props, child) => createElement(PyxisProvider, props, child);
const INVALID = "Not a valid address. Enter 0x and 40 hexadecimal digits; mixed case must match the checksum.";
const FAILED = "The score cannot be read now.";

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
    const rules = { "color-contrast": { enabled: false } };
    for (const [from, address, state] of [[source, "0x12", "invalid"], [fromPyxis(pyxis, 999), human, "error"]]) {
      await render(provide({ source: from }, score({ address })), async () => {
        await until(() => root.querySelector(`[data-state=${state}]`));
        const { violations } = await axe.run(root.ownerDocument, { rules });
        assert.deepEqual(violations.map(({ id, help }) => `${id}: ${help}`), []);
      });
    }
  });

  test("says that an address is not valid, without a button, from the server and through a route", async () => {
    const wrongChecksum = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD";
    const [route, end] = await serveRoute((address) => pyxis.score(1, address));
    try {
      for (const props of [{ source }, { route }]) {
        for (const address of ["0x12", "vitalik.eth", "a/b?c", wrongChecksum]) {
          await render(provide(props, score({ address })), async ({ update }) => {
            await until(() => status() === INVALID);
            assert.equal(root.querySelector(".pyxis-score").dataset.state, "invalid");
            assert.equal(root.querySelector("button"), null);
            await update(provide(props, score({ address, labels: { invalid: "Wrong address" } })));
            assert.equal(status(), "Wrong address");
            await update(provide(props, score({ address: human })));
            await until(() => status() === "Passes: 22.598 of 20 points");
          });
        }
      }
    } finally {
      end();
    }
  });

  test("takes only the status 400 of a response for an address that is not valid", async () => {
    const failure = (status) => new ResponseError({ status, detail: "Invalid address." });
    for (const [error, state] of [
      [failure(400), "invalid"],
      [failure(404), "error"],
      [failure(422), "error"],
      [failure(503), "error"],
      [Object.assign(new Error("Invalid address."), { status: 400 }), "error"],
    ]) {
      await render(provide({ source: () => Promise.reject(error) }, score({ address: human })), async () => {
        await until(() => status() !== "Reading the score…");
        assert.equal(root.querySelector(".pyxis-score").dataset.state, state, String(error));
        assert.equal(status(), state === "invalid" ? INVALID : FAILED);
        assert.equal(root.querySelector("button") !== null, state === "error");
      });
    }
    // A scorer that does not exist is no fault of the address.
    for (const scorerId of [999, "abc"]) {
      await render(provide({ source: fromPyxis(pyxis, scorerId) }, score({ address: human })), async () => {
        await until(() => status() === FAILED);
      });
    }
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
        await until(() => status() === FAILED);
      });
    } finally {
      end();
    }
  });

  test("takes a response without a score for a failure", async () => {
    const [route, end] = await serveRoute(() => ({ hello: "world" }));
    try {
      await render(provide({ route }, score({ address: human })), async () => {
        await until(() => status() === FAILED);
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
