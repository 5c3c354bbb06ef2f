// The rule of repetition, with servers in trouble.

import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { ConnectionError, Pyxis, ResponseError } from "@pyxis/sdk";
import { Agent } from "@pyxis/sdk/agent";

import { withAnswers } from "../../support/answers.mjs";

const ADDRESS = `0x${"5a".repeat(20)}`;
const SCORE = { address: ADDRESS, score: "35.76600", passing_score: true, stamps: {} };
const DETAIL = { detail: "Request timed out." };
const GOOD = [200, {}, SCORE];
/** Long enough for a busy machine: a request that does not arrive is none that can be counted. */
const TIMEOUT_MS = 3000;

/** A client whose delays are noted by their lengths, and short. */
function client(url, options = {}) {
  const delays = [];
  const jitter = (delay) => {
    delays.push(delay);
    return 1;
  };
  const pyxis = new Pyxis({ url, apiKey: "key", ...options, retry: { jitter, ...options.retry } });
  return { pyxis, delays };
}

suite("Repetition", { concurrency: true }, () => {
  test("repeats a read after silence and 502 to 504, and doubles the delay each time", async () => {
    const answers = [null, [504, {}, DETAIL], [503, {}, DETAIL], [502, {}, DETAIL], GOOD];
    await withAnswers(answers, async (url, arrivals) => {
      const { pyxis, delays } = client(url, { timeoutMs: TIMEOUT_MS });
      assert.equal((await pyxis.score(1, ADDRESS)).score, "35.76600");
      assert.deepEqual(delays, [500, 1000, 2000, 4000]);
      for (const arrival of arrivals) {
        assert.deepEqual([arrival.url, arrival.headers["x-api-key"]], [`/v2/stamps/1/score/${ADDRESS}`, "key"]);
      }
    });
  });

  test("waits as long as Retry-After says, and no longer than the caller allows", async () => {
    await withAnswers([[429, { "retry-after": "1" }, DETAIL], GOOD], async (url) => {
      const began = performance.now();
      await client(url).pyxis.score(1, ADDRESS);
      assert.ok(performance.now() - began >= 990, "it came back too early");
    });
    await withAnswers([[429, { "retry-after": "61" }, DETAIL]], async (url, arrivals) => {
      const rejection = await client(url).pyxis.score(1, ADDRESS).catch((error) => error);
      assert.deepEqual([rejection.status, rejection.retryAfterMs, arrivals.length], [429, 61_000, 1]);
    });
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    await withAnswers([[503, { "retry-after": date }, "<html>"]], async (url, arrivals) => {
      const rejection = await client(url).pyxis.score(1, ADDRESS).catch((error) => error);
      assert.ok(rejection.retryAfterMs > 3_500_000);
      assert.equal(arrivals.length, 1);
    });
  });

  test("gives up after the attempts that the caller allows, and says how many they were", async () => {
    await withAnswers([[503, { "x-request-id": "r-1" }, DETAIL]], async (url, arrivals) => {
      const { pyxis } = client(url, { retry: { attempts: 3 } });
      await assert.rejects(pyxis.score(1, ADDRESS), (error) => {
        assert.ok(error instanceof ResponseError);
        assert.equal(error.message, "given up after 3 attempts: 503: Request timed out.");
        assert.deepEqual([error.attempts, error.requestId, arrivals.length], [3, "r-1", 3]);
        return true;
      });
    });
    const { pyxis } = client("http://127.0.0.1:1", { retry: { attempts: 2 } });
    await assert.rejects(pyxis.score(1, ADDRESS), (error) => {
      assert.ok(error instanceof ConnectionError);
      assert.deepEqual([error.attempts, error.timedOut], [2, false]);
      return true;
    });
  });

  test("asks again when a body breaks off or never ends", async () => {
    const begin = (status) => (_, response) => {
      response.writeHead(status, { "content-type": "application/json", "content-length": "400" });
      response.write('{"score":');
      return response;
    };
    const breaksOff = (request, response) => setImmediate(() => begin(503)(request, response).destroy());
    await withAnswers([begin(200), breaksOff, GOOD], async (url, arrivals) => {
      const { pyxis } = client(url, { timeoutMs: TIMEOUT_MS });
      assert.equal((await pyxis.score(1, ADDRESS)).score, "35.76600");
      assert.equal(arrivals.length, 3);
    });
  });

  test("never repeats a removal after silence, because it may have happened", async () => {
    await withAnswers([null], async (url, arrivals) => {
      const { pyxis } = client(url, { timeoutMs: TIMEOUT_MS });
      await assert.rejects(pyxis.removeStamps(ADDRESS, ["NFTScore#50"]), { timedOut: true, attempts: 1 });
      assert.deepEqual([arrivals.length, arrivals[0].url], [1, `/v2/stamps/${ADDRESS}?provider=NFTScore%2350`]);
    });
    await withAnswers([[429, {}, DETAIL], [200, {}, { removed: 1 }]], async (url) => {
      assert.equal(await client(url).pyxis.removeStamps(ADDRESS, ["Discord"]), 1);
    });
  });

  test("repeats a forwarded change only with an idempotency key", async () => {
    const busy = [503, { "px-error": "unavailable" }, { code: "unavailable", detail: "…" }];
    const done = [201, { "x-upstream": "yes" }, {}];
    const change = { credential: "demo", target: "https://example.org/", method: "POST", body: "{}" };
    const agent = (url) => new Agent({ url, agentKey: "key", retry: { jitter: () => 1 } });
    await withAnswers([busy, done], async (url, arrivals) => {
      await assert.rejects(agent(url).forward(change), { code: "unavailable", attempts: 1 });
      assert.equal(arrivals.length, 1);
    });
    await withAnswers([busy, done], async (url, arrivals) => {
      const { response } = await agent(url).forward({ ...change, idempotencyKey: "k" });
      assert.deepEqual([response.status, response.headers.get("x-upstream")], [201, "yes"]);
      assert.deepEqual(arrivals.map(({ body, headers }) => [body, headers["idempotency-key"]]), [["{}", "k"], ["{}", "k"]]);
    });
    // A 503 of the target itself is its answer, and no failure of the proxy.
    await withAnswers([[503, {}, {}]], async (url, arrivals) => {
      const { response } = await agent(url).forward({ ...change, idempotencyKey: "k" });
      assert.deepEqual([response.status, arrivals.length], [503, 1]);
    });
  });

  test("ends with the caller's reason, while it waits for a response and between attempts", async () => {
    await withAnswers([null], async (url) => {
      const reason = new Error("left the page");
      const stop = new AbortController();
      const call = client(url).pyxis.score(1, ADDRESS, { signal: stop.signal });
      stop.abort(reason);
      await assert.rejects(call, reason);
    });
    await withAnswers([[429, { "retry-after": "30" }, DETAIL]], async (url) => {
      const stop = new AbortController();
      const jitter = () => {
        setImmediate(() => stop.abort());
        return 1;
      };
      const call = client(url, { retry: { jitter } }).pyxis.score(1, ADDRESS, { signal: stop.signal });
      await assert.rejects(call, { name: "AbortError" });
    });
  });
});
