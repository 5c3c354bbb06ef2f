// Snapshot's own client against a running Pyxis (`docs/guides/set-up-a-snapshot-space.md`).

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import snapshot from "@snapshot-labs/snapshot.js";

import { Quickstart } from "../../sdk/support/quickstart.mjs";
import { startScoreServer } from "./score-server.mjs";

const { getFormattedAddress, getScores, validate } = snapshot.utils;
const SCORES = { passes: 20, fails_by_one: 19, duplicate: 1, expired: 0, revoked: 0, unknown: 0 };

suite("Snapshot's client", () => {
  let pyxis;
  let scoreServer;
  let wallets;
  let scorer;

  before(async () => {
    pyxis = await Quickstart.start({ PX_VOTE_SCORERS: "1,2" });
    const { api_key: apiKey, sandbox_scorer_id, sandbox_wallets } = pyxis.sample;
    scorer = sandbox_scorer_id;
    wallets = sandbox_wallets;
    const platforms = { Human: ["Sandbox#Human"], Account: ["Sandbox#Account"] };
    const timeOf = (height) => (height === "latest" ? Date.now() : Date.UTC(2020, 0, 1));
    scoreServer = await startScoreServer({ url: pyxis.url, apiKey, scorer, platforms, timeOf });
  });
  after(async () => {
    scoreServer?.stop();
    await pyxis?.stop();
  });

  const ask = (strategy) => getScores("space.eth", [strategy], "10", Object.values(wallets), "latest", scoreServer.url);
  const power = (of) => Object.fromEntries(
    Object.entries(wallets).map(([state, address]) => [getFormattedAddress(address), of(SCORES[state])]),
  );
  const api = (additionalParameters, decimals = 0, strategy = "snapshot-strategies/score") =>
    ({ name: "api", params: { api: pyxis.url, symbol: "", decimals, strategy, additionalParameters } });
  const apiV2 = (params) =>
    ({ name: "api-v2", params: { url: `${pyxis.url}/snapshot-strategies/score`, decimals: 0, ...params } });

  test("counts one vote for each address that passes, by every kind of strategy", async () => {
    const additionalParameters = `scorer-id=${scorer}&threshold=scorer`;
    const expected = [power((score) => Number(score >= 20))];
    assert.deepEqual(await ask(api(additionalParameters)), expected);
    assert.deepEqual(await ask(apiV2({ type: "api-get", additionalParameters })), expected);
    assert.deepEqual(await ask(apiV2({ type: "api-post", additionalParameters })), expected);
  });

  test("counts as many votes as points with decimals", async () => {
    const strategy = api(`scorer-id=${scorer}&decimals=5`, 5);
    assert.deepEqual(await ask(strategy), [power((score) => score)]);
  });

  test("counts proofs of a unique human", async () => {
    const strategy = api("action-id=123456789", 0, "snapshot-strategies/sybil-resistance/gov-id");
    assert.deepEqual(await ask(strategy), [power(() => 0)]);
    const addresses = [pyxis.sample.proved_address];
    const proved = await getScores("space.eth", [strategy], "10", addresses, "latest", scoreServer.url);
    assert.deepEqual(proved, [{ [getFormattedAddress(addresses[0])]: 1 }]);
  });

  test("gets an error and no votes if Pyxis refuses", async () => {
    await assert.rejects(ask(api("scorer-id=999")), { code: 500, data: /scorer/i });
    await assert.rejects(ask(apiV2({ type: "api-post", additionalParameters: "" })), { code: 500, data: /scorer-id/ });
  });

  const gate = (state, params, height = "latest") =>
    validate("passport-gated", wallets[state], "space.eth", "10", height, params, { url: scoreServer.url });

  test("lets those propose whose score reaches the space's threshold, also exactly", async () => {
    for (const [state, score] of Object.entries(SCORES)) {
      for (const scoreThreshold of [1, 19, 20, 21]) {
        assert.equal(await gate(state, { scoreThreshold }), score >= scoreThreshold, `${state}, ${scoreThreshold}`);
      }
    }
    // Evidence would decide alone, and by the scorer's threshold.
    const { api_key: apiKey } = pyxis.sample;
    const body = JSON.stringify({ address: wallets.passes, scorer_id: String(scorer) });
    const headers = { "X-API-Key": apiKey, "Content-Type": "application/json" };
    const submitted = await fetch(`${pyxis.url}/registry/submit-passport`, { method: "POST", headers, body });
    const { status, evidence } = await submitted.json();
    assert.deepEqual([status, evidence], ["DONE", null]);
    // Without a threshold and platforms there is no gate, and nothing is asked.
    assert.equal(await gate("unknown", {}), true);
  });

  test("lets those propose who have the Stamps of platforms at the proposal's block", async () => {
    const both = { operator: "AND", stamps: ["Human", "Account"] };
    const holders = { passes: true, duplicate: true };
    for (const state of Object.keys(SCORES)) {
      assert.equal(await gate(state, both), holders[state] ?? false, state);
    }
    assert.equal(await gate("fails_by_one", { ...both, operator: "OR" }), true);
    assert.equal(await gate("passes", both, 1_000_000), false, "the Stamps are newer than the block");
    assert.equal(await gate("passes", { ...both, scoreThreshold: 20 }), true);
    assert.equal(await gate("duplicate", { ...both, scoreThreshold: 20 }), false);
    await assert.rejects(gate("passes", { stamps: ["Human"] }), { data: "Operator is required" });
    await assert.rejects(gate("passes", { operator: "OR", stamps: ["Unheard"] }), { data: "Stamp not supported" });
  });

  test("is told of a scorer that does not exist", async () => {
    const { api_key: apiKey } = pyxis.sample;
    const other = await startScoreServer({ url: pyxis.url, apiKey, scorer: 999, platforms: {}, timeOf: Date.now });
    try {
      const params = { scoreThreshold: 1 };
      const asked = validate("passport-gated", wallets.passes, "space.eth", "10", "latest", params, { url: other.url });
      await assert.rejects(asked, { code: 500, data: /Scorer error/ });
    } finally {
      other.stop();
    }
  });
});
