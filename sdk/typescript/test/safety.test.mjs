// Keys that stay where they belong.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { inspect } from "node:util";

import { compareDecimals, ConfigurationError, Pyxis } from "@pyxis/sdk";
import { Verification } from "@pyxis/sdk/verification";

import { withAnswers } from "../../support/answers.mjs";

const KEY = "px_api_0123456789abcdef";
const ADDRESS = `0x${"5a".repeat(20)}`;

suite("Safety", () => {
  test("refuses to send a key over plain http to another machine, and says why", () => {
    for (const url of ["http://pyxis.example.com", "http://10.0.0.7:8700", "http://127.0.0.1.example.com", "http://[::2]/"]) {
      assert.throws(() => new Pyxis({ url, apiKey: KEY }), (error) => {
        assert.ok(error instanceof ConfigurationError);
        assert.match(error.message, /anyone on the way could read it/);
        return true;
      });
    }
    const accepted = ["https://pyxis.example.com", "http://localhost:8700", "http://127.0.0.1", "http://[::1]:8700", "http://px.localhost"];
    for (const url of accepted) assert.ok(new Pyxis({ url, apiKey: KEY }));
    assert.ok(new Verification({ url: "http://pyxis.example.com" }), "a check without a key has nothing to hide");
  });

  test("refuses addresses that are none, and keys that no header holds, without repeating them", () => {
    const wrong = [
      { url: "pyxis.example.com", apiKey: KEY },
      { url: "ftp://pyxis.example.com", apiKey: KEY },
      { url: `https://user:${KEY}@pyxis.example.com`, apiKey: KEY },
      { url: "https://pyxis.example.com?x=1", apiKey: KEY },
      { url: "", apiKey: KEY },
      { url: "https://pyxis.example.com", apiKey: `${KEY}\n` },
      { url: "https://pyxis.example.com", apiKey: undefined },
      { url: "https://pyxis.example.com", apiKey: "" },
    ];
    for (const options of wrong) {
      assert.throws(() => new Pyxis(options), (error) => {
        assert.equal(error.name, "ConfigurationError");
        assert.ok(!inspect(error).includes(KEY));
        return true;
      });
    }
  });

  test("shows the key to no log, and in no error", async () => {
    const pyxis = new Pyxis({ url: "http://127.0.0.1:1", apiKey: KEY, retry: { attempts: 1 } });
    assert.ok(!inspect(pyxis, { depth: 9, showHidden: true }).includes(KEY));
    assert.ok(!JSON.stringify(pyxis).includes(KEY));
    const error = await pyxis.score(1, ADDRESS).catch((reason) => reason);
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(KEY));
  });

  test("follows no redirect, because the key would go along", async () => {
    await withAnswers([[200, {}, {}]], async (elsewhere, leaks) => {
      await withAnswers([[302, { location: `${elsewhere}/` }, ""]], async (url) => {
        const call = new Pyxis({ url, apiKey: KEY }).score(1, ADDRESS);
        await assert.rejects(call, { status: 302, detail: /^the server redirects to .*: correct url$/ });
      });
      assert.equal(leaks.length, 0);
    });
  });

  test("lets no value name another path", async () => {
    await withAnswers([[200, {}, {}]], async (url, arrivals) => {
      const pyxis = new Pyxis({ url: `${url}/prefix/`, apiKey: KEY });
      await pyxis.score(1, "../../../admin?x#y");
      assert.equal(arrivals[0].url, "/prefix/v2/stamps/1/score/..%2F..%2F..%2Fadmin%3Fx%23y");
      for (const address of ["", "..", undefined]) await assert.rejects(pyxis.score(1, address), TypeError);
      assert.equal(arrivals.length, 1);
    });
  });

  test("says so when another server answers", async () => {
    await withAnswers([[200, { "content-type": "text/html" }, "<h1>Welcome</h1>"]], async (url, arrivals) => {
      const call = new Pyxis({ url, apiKey: KEY }).catalogue();
      await assert.rejects(call, { status: 200, detail: /not JSON/ });
      assert.equal(arrivals.length, 1);
    });
  });

  test("compares decimals as numbers, whatever their length", () => {
    assert.deepEqual(["9.5", "21.50000", "-3", "21.5"].sort(compareDecimals), ["-3", "9.5", "21.50000", "21.5"]);
    assert.equal(compareDecimals("20.00000", "20"), 0);
    assert.equal(compareDecimals("9007199254740993.00001", "9007199254740993"), 1);
    assert.throws(() => compareDecimals("1e5", "2"), TypeError);
  });
});
