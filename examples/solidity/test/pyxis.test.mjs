// A real installation signs, and everybody else verifies: the contracts on a chain, viem, jose and OpenZeppelin's own
// Merkle tree. PX_TEST_PYXIS names the program; ci/solidity.sh sets it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { StandardMerkleTree } from "@openzeppelin/merkle-tree";
import { scoreOf, verifyScore, verifyToken } from "../out/verify.js";
import { artifact, startChain } from "./chain.mjs";
import { PROGRAM, startPyxis } from "./installation.mjs";

const HERE = new URL("..", import.meta.url).pathname;
const run = promisify(execFile);

suite("a real installation", { skip: PROGRAM ? false : "PX_TEST_PYXIS is not set" }, () => {
  let installation, chain, base, directory, scorer, key, passing, failing, signer, get, answer, pyxis;

  before(async () => {
    [installation, chain] = await Promise.all([startPyxis(), startChain()]);
    ({ base, directory, scorer, key, passing, failing, signer, get, answer, pyxis } = installation);
  });

  after(async () => {
    chain?.stop();
    await installation?.stop();
  });

  const score = (account, query) => get(`/v2/stamps/${scorer}/score/${account}?${query}`);

  test("the airdrop pays who passes, once, as its guide shows", async () => {
    const env = { ...process.env, PYXIS_URL: base, PYXIS_API_KEY: key, PYXIS_SCORER_ID: scorer, RPC_URL: chain.url };
    const script = async (...args) => (await run(process.execPath, ["airdrop.mjs", ...args], { cwd: HERE, env })).stdout;
    [, env.CONTRACT] = (await script("deploy")).trim().split("=");
    assert.equal(await script("claim", passing), `paid 100 to ${passing}\n`);
    const refused = async (account) => (await script("claim", account).catch((error) => error)).stdout;
    assert.equal(await refused(passing), "refused: AlreadyClaimed\n");
    assert.equal(await refused(failing), "refused: DoesNotPass\n");
  });

  test("viem recovers the published key, and a changed score is refused", async () => {
    const contract = chain.wallet(5).account.address;
    const signed = await score(passing, `signed=eip712&chain_id=${chain.id}&verifying_contract=${contract}`);
    const account = passing;
    const expected = { signers: [signer], scorer, account, chainId: chain.id, verifyingContract: contract, maxAge: 3600 };
    const found = await verifyScore(signed, expected);
    assert.deepEqual([found.passing, found.score], [true, scoreOf(signed).score]);
    for (const change of [{ chainId: 1 }, { scorer: 9 }, { account: failing }, { challenge: "1" }, { signers: [failing] }]) {
      await assert.rejects(verifyScore(signed, { ...expected, ...change }), undefined, JSON.stringify(change));
    }
    await assert.rejects(verifyScore(signed, { ...expected, now: signed.typed_data.message.expiresAt }), /expired/);
    signed.typed_data.message.score = "9900000";
    await assert.rejects(verifyScore(signed, expected), /unknown signer/);
  });

  test("jose verifies a token for its audience and challenge, before and after a rotation", async () => {
    const { issuer } = await get("/.well-known/pyxis-score-keys");
    assert.equal(issuer, base);
    const expected = { issuer, scorer, account: passing };
    const { jwt } = await score(passing, "signed=jwt");
    assert.equal((await verifyToken(jwt, expected)).passing_score, true);
    const body = JSON.stringify({ challenge: "c-1", audience: "https://app.example" });
    const path = `/v2/stamps/${scorer}/score/${passing}?signed=jwt`;
    const alone = { method: "POST", body, headers: { Accept: "application/jwt" } };
    const token = await (await answer(path, alone)).text();
    await verifyToken(token, { ...expected, audience: "https://app.example", challenge: "c-1" });
    await assert.rejects(verifyToken(token, { ...expected, audience: "https://other.example", challenge: "c-1" }));
    await assert.rejects(verifyToken(token, { ...expected, audience: "https://app.example", challenge: "c-2" }), /another challenge/);
    await assert.rejects(verifyToken(token, { ...expected, challenge: "c-1" }), /for another audience/);
    await assert.rejects(verifyToken(jwt, { ...expected, account: failing }), /of 0x/);
    await assert.rejects(verifyToken(`${jwt.slice(0, -8)}AAAAAAAA`, expected));
    const [rotated] = JSON.parse(await pyxis("score-key", "rotate", "es256", "--json"));
    assert.equal(rotated.status, "active");
    assert.equal((await verifyToken(jwt, expected)).passing_score, true, "the earlier key is still published");
  });

  const rust = process.env.PX_TEST_EXAMPLE_VERIFY;
  const verifiers = { TypeScript: [process.execPath, "out/verify.js"], ...(rust && { Rust: [rust] }) };
  const says = async ([program, ...first], ...args) => {
    const env = { PYXIS_URL: base, PYXIS_API_KEY: key, PYXIS_SCORER_ID: `${scorer}` };
    return (await run(program, [...first, ...args], { cwd: HERE, env })).stdout;
  };

  for (const [name, verifier] of Object.entries(verifiers)) {
    test(`the ${name} example verifies both forms, also for a challenge and a contract`, async () => {
      assert.match(await says(verifier, passing), /^signed for contracts: passes, until [0-9]+\nsigned as a token: [0-9.]+ of [0-9.]+\n$/);
      assert.match(await says(verifier, failing), /^signed for contracts: does not pass, until [0-9]+\nsigned as a token: [0-9.]+ of [0-9.]+\n$/);
      const bound = ["--challenge", "order 7", "--audience", "https://app.example", "--contract", `10:0x${"c0".repeat(20)}`];
      assert.match(await says(verifier, passing, ...bound), /^signed for contracts: passes, .*\nsigned as a token: /);
    });
  }

  test("OpenZeppelin's tree loads the list, and its contract admits who is on it", async () => {
    const file = join(directory, "list.json");
    const made = JSON.parse(await pyxis("score", "merkle", "--scorer", `${scorer}`, "--out", file, "--json"));
    const tree = StandardMerkleTree.load(JSON.parse(await readFile(file, "utf8")));
    tree.validate();
    assert.deepEqual([tree.root, made.count, [...tree.entries()].flat(2).includes(passing)], [made.root, 1, true]);
    const ours = JSON.parse(await pyxis("score", "proof", passing, "--list", file, "--json"));
    assert.deepEqual(ours.proof, tree.getProof([passing]));
    await assert.rejects(pyxis("score", "proof", failing, "--list", file), /is not on the list/);
    await assert.rejects(pyxis("score", "merkle", "--scorer", `${scorer}`, "--out", file), /exists/);
    const gate = await chain.deploy(await artifact("MerkleAirdrop"), [made.root]);
    assert.equal(await gate.read("isListed", [passing, ours.proof]), true);
    assert.equal(await gate.read("isListed", [failing, ours.proof]), false);
  });

  test("OpenZeppelin's contract follows proofs through a list of many", async () => {
    const accounts = Array.from({ length: 100 }, (_, number) => chain.wallet(number % 10).account.address.slice(0, 38)
      .toLowerCase() + number.toString(16).padStart(4, "0"));
    const tree = StandardMerkleTree.of(accounts.map((account) => [account]), ["address"]);
    const gate = await chain.deploy(await artifact("MerkleAirdrop"), [tree.root]);
    for (const account of accounts.slice(0, 5)) {
      assert.equal(await gate.read("isListed", [account, tree.getProof([account])]), true);
      assert.equal(await gate.read("isListed", [passing, tree.getProof([account])]), false);
    }
  });

  // The last test: nothing that was signed before it is good after it.
  test("verifiers refuse what a withdrawn key signed, and accept what the next one signs", async () => {
    const files = {};
    for (const form of ["jwt", "eip712"]) {
      files[form] = join(directory, `${form}.json`);
      await writeFile(files[form], JSON.stringify(await score(passing, `signed=${form}`)));
      for (const verifier of Object.values(verifiers)) await says(verifier, passing, "--signed", files[form]);
    }
    for (const scheme of ["es256", "eip712"]) {
      // Not by command: a running server reads what that changed ten seconds later.
      await installation.manage("POST", `/admin/score-keys/${scheme}/rotate`, { compromised: true });
    }
    for (const [name, verifier] of Object.entries(verifiers)) {
      const reason = { jwt: /unknown key|no applicable key/, eip712: /unknown (key|signer)/ };
      for (const [form, file] of Object.entries(files)) {
        await assert.rejects(says(verifier, passing, "--signed", file), (error) => {
          assert.match(error.stderr, reason[form], `${name}: ${form}`);
          return true;
        });
      }
      assert.match(await says(verifier, passing), /^signed for contracts: passes, .*\nsigned as a token: /, name);
    }
  });
});
