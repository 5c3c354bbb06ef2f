// Scores and Stamps, of a real server.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { compareDecimals, isFailed, Pyxis, ResponseError } from "@pyxis/sdk";

import { Quickstart } from "../../support/quickstart.mjs";

const NOBODY = `0x${"0".repeat(38)}aa`;

suite("Scores", () => {
  let server;
  let pyxis;
  let human;
  let others;

  before(async () => {
    server = await Quickstart.start();
    const { apiKey, id } = await server.apiKey("sdk", "--write");
    await server.command("api-key", "allow-history", id);
    pyxis = new Pyxis({ url: server.url, apiKey });
    [human, ...others] = server.sample.sample_addresses;
  });
  after(() => server?.stop());

  test("has a score with its Stamps, and explains it on request", async () => {
    const score = await pyxis.score(1, human);
    assert.deepEqual([score.address, score.score, score.passing_score], [human, "22.59800", true]);
    assert.equal(compareDecimals(score.score, score.threshold), 1);
    assert.equal(score.stamps["NFTScore#50"].score, "16.24600");
    assert.equal(score.explain, undefined);
    assert.equal((await pyxis.score("1", human, { explain: true })).explain.margin, "2.59800");
  });

  test("has a score as a token, which answers a challenge for its audience if it is asked so", async () => {
    const claims = ({ jwt }) => JSON.parse(Buffer.from(jwt.split(".")[1], "base64url"));
    const plain = await pyxis.signedScore(1, human, "jwt");
    assert.deepEqual([plain.score, plain.passing_score, plain.address], ["22.59800", true, human]);
    const { issuer, keys } = await pyxis.scoreKeys();
    const said = claims(plain);
    assert.deepEqual([said.iss, said.sub, said.scorer_id, said.nonce, said.aud], [issuer, human, 1, undefined, undefined]);
    const { kid } = JSON.parse(Buffer.from(plain.jwt.split(".")[0], "base64url"));
    assert.ok(keys.some((key) => key.scheme === "es256" && key.kid === kid));
    assert.ok((await pyxis.tokenKeys()).keys.some((key) => key.kid === kid));
    const options = { challenge: "order 7", audience: "https://app.example.com" };
    const bound = claims(await pyxis.signedScore("1", human, "jwt", options));
    assert.deepEqual([bound.nonce, bound.aud], ["order 7", "https://app.example.com"]);
    await assert.rejects(pyxis.signedScore(1, human, "jwt", { audience: "https://app.example.com" }), /audience needs a challenge/);
  });

  test("has a score as typed data for one contract", async () => {
    const contract = `0x${"c0".repeat(20)}`;
    const found = await pyxis.signedScore(1, human, "eip712", { chainId: 10, verifyingContract: contract, challenge: "round-2" });
    const { domain, message, primaryType, types } = found.typed_data;
    assert.deepEqual([domain.chainId, domain.verifyingContract.toLowerCase(), primaryType], [10, contract, "Score"]);
    assert.deepEqual([message.account.toLowerCase(), message.score, message.challenge], [human, "2259800", "round-2"]);
    assert.equal(types.Score.length, Object.keys(message).length);
    assert.match(found.signature, /^0x[0-9a-f]{130}$/);
    const { keys } = await pyxis.scoreKeys();
    assert.ok(keys.some(({ address }) => address === found.signer));
    const unbound = await pyxis.signedScore(1, human, "eip712");
    assert.deepEqual([unbound.typed_data.domain.chainId, unbound.typed_data.message.challenge], [undefined, ""]);
    const refused = [
      [() => pyxis.signedScore(1, human, "eip712", { verifyingContract: contract }), 422],
      [() => pyxis.signedScore(1, human, "jwt", { chainId: 10 }), 422],
      [() => pyxis.signedScore(1, human, "jwt", { challenge: "" }), 422],
      [() => pyxis.signedScore(77, human, "jwt"), 404],
    ];
    for (const [call, status] of refused) {
      await assert.rejects(call, (error) => error instanceof ResponseError && error.status === status);
    }
  });

  test("reads any number of addresses in their order, in requests of the size that fits", async () => {
    const addresses = [human, NOBODY, ...others];
    const scores = [];
    for await (const { address } of pyxis.scores(1, addresses, { batchSize: 3 })) scores.push(address);
    assert.deepEqual(scores, addresses);

    let count = 0;
    const many = function* () {
      for (let number = 0; number < 1001; number++) yield `0x${number.toString(16).padStart(40, "0")}`;
    };
    for await (const { score } of pyxis.scores(1, many())) count += Number(score === "0.00000");
    assert.equal(count, 1001);
  });

  test("counts a bad address from the start of the whole list", async () => {
    const read = async () => {
      const addresses = [human, ...others, "0x12"];
      for await (const score of pyxis.scores(1, addresses, { batchSize: 2 })) assert.ok(score.address);
    };
    await assert.rejects(read, (error) => {
      assert.ok(error instanceof ResponseError);
      assert.deepEqual([error.status, error.invalid.length, error.invalid[0].value], [400, 1, "0x12"]);
      assert.equal(error.invalid[0].index, 3);
      return true;
    });
  });

  test("has an entry for a bad address, counted from the start of the whole list", async () => {
    const addresses = [human, "0x12", ...others, "0x13"];
    const entries = [];
    for await (const entry of pyxis.scoreEntries(1, addresses, { batchSize: 2 })) entries.push(entry);
    assert.equal(entries.length, addresses.length);
    const failed = entries.filter(isFailed).map(({ address, error }) => [address, error.index, error.code]);
    assert.deepEqual(failed, [["0x12", 1, "invalid_address"], ["0x13", addresses.length - 1, "invalid_address"]]);
    assert.equal(entries[0].score, (await pyxis.score(1, human)).score);
  });

  test("iterates over all Stamps by the cursor, page by page", async () => {
    const names = [];
    for await (const { credential } of pyxis.stamps(human, { pageSize: 4 })) {
      names.push(credential.credentialSubject.provider);
    }
    assert.equal(new Set(names).size, 6);

    const first = await pyxis.stampPage(human, { limit: 4, includeMetadata: true });
    const second = await pyxis.stampPage(human, { limit: 4, token: first.next });
    assert.deepEqual([first.items.length, second.items.length, second.next], [4, 2, null]);
    assert.ok(first.items.every(({ metadata }) => metadata.hash.startsWith("0x")));
  });

  test("has the last score before a moment, or null", async () => {
    await pyxis.score(1, human);
    assert.equal((await pyxis.history(1, human, new Date(Date.now() + 1000))).score, "22.59800");
    assert.equal(await pyxis.history(1, human, "2020-01-31"), null);
  });

  test("has model scores and the catalogue", async () => {
    const { details } = await pyxis.modelScore(human, { model: "nft" });
    assert.deepEqual(details.models, { nft: { score: -1 } });
    const platforms = await pyxis.catalogue();
    assert.ok(platforms.some(({ groups }) => groups.some(({ stamps }) => stamps.some(({ name }) => name === "Discord"))));
  });

  test("moves a Stamp: removes it, and stores it again", async () => {
    const [, holder] = others;
    const { items } = await pyxis.stampPage(holder);
    const { credential } = items.find((item) => item.credential.credentialSubject.provider === "CivicLivenessPass");
    assert.equal(await pyxis.removeStamps(holder, ["CivicLivenessPass", "Google"]), 2);
    assert.equal((await pyxis.score(1, holder)).score, "0.00000");
    const outcomes = await pyxis.addStamps(holder, [credential, {}]);
    assert.deepEqual(outcomes.map(({ status }) => status), ["accepted", "rejected"]);
    assert.equal((await pyxis.score(1, holder)).score, "3.03800");
  });

  test("says what the server refused, once", async () => {
    const refusals = [
      [() => pyxis.score(1, "vitalik.eth"), 400, "Invalid address."],
      [() => pyxis.score(77, human), 404, "No scorer matches the given criteria."],
      [() => new Pyxis({ url: server.url, apiKey: "wrong" }).score(1, human), 401, "Invalid API Key."],
      [() => pyxis.history(1, human, "yesterday"), 422, /created_at: /],
    ];
    for (const [call, status, detail] of refusals) {
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof ResponseError);
        assert.deepEqual([error.status, error.code, error.attempts], [status, null, 1]);
        assert.match(error.detail, new RegExp(detail));
        assert.ok(error.title.length > 3);
        return true;
      });
    }
  });

  test("reports a limit with the time at which it ends, if that is far", async () => {
    const { apiKey } = await server.apiKey("busy");
    const busy = new Pyxis({ url: server.url, apiKey, retry: { maxWaitMs: 0 } });
    const reads = Array.from({ length: 130 }, () => busy.catalogue());
    const failed = (await Promise.allSettled(reads)).filter(({ status }) => status === "rejected");
    assert.ok(failed.length >= 5, `${failed.length} were refused`);
    for (const { reason } of failed) {
      assert.deepEqual([reason.status, reason.attempts], [429, 1]);
      assert.ok(reason.retryAfterMs > 0 && reason.retryAfterMs <= 900_000);
    }
  });
});
