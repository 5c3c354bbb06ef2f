// The airdrop on a chain of its own, with scores that a key of this test signs: what it pays, and what it refuses.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { hexToBigInt, numberToHex, sliceHex, concatHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { types } from "../out/verify.js";
import { artifact, startChain } from "./chain.mjs";

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const SCORER = 335n;
const ROUND = "season-1";
const signer = privateKeyToAccount(generatePrivateKey());
let chain, token, airdrop, holder;

before(async () => {
  chain = await startChain();
  holder = chain.wallet(1);
  token = await chain.deploy(await artifact("Token"));
  const parts = [token.address, 100n, SCORER, 3600n, signer.address, ROUND];
  airdrop = await chain.deploy(await artifact("Airdrop"), parts);
  await token.write("mint", [airdrop.address, 1000n]);
});
after(() => chain?.stop());

async function scoreOf(account, change = {}) {
  const { timestamp } = await chain.reader.getBlock();
  const times = { computedAt: timestamp - 100n, issuedAt: timestamp - 10n, expiresAt: timestamp + 3590n };
  const score = 2250000n;
  return { scorer: SCORER, account, score, threshold: 2000000n, passing: true, ...times, challenge: ROUND, ...change };
}

function sign(message, by = signer, change = {}) {
  const domain = { name: "Pyxis Score", version: "1", chainId: chain.id, verifyingContract: airdrop.address };
  return by.signTypedData({ domain: { ...domain, ...change }, types, primaryType: "Score", message });
}

const claim = (score, signature, by = holder) => airdrop.write("claim", [score, signature], by);
const refusal = (name) => (error) => {
  assert.match(error.message, new RegExp(`\\b${name}\\b`));
  return true;
};

test("a passing score is paid once, and once more in the next round", async () => {
  const score = await scoreOf(holder.account.address);
  const signature = await sign(score);
  await claim(score, signature);
  assert.equal(await token.read("balanceOf", [holder.account.address]), 100n);
  await assert.rejects(claim(score, signature), refusal("AlreadyClaimed"));
  await airdrop.write("startRound", ["season-2"]);
  await assert.rejects(claim(score, signature), refusal("OtherChallenge"));
  const next = await scoreOf(holder.account.address, { challenge: "season-2" });
  await claim(next, await sign(next));
  assert.equal(await token.read("balanceOf", [holder.account.address]), 200n);
  await airdrop.write("startRound", [ROUND]);
});

test("a score of somebody else, of another scorer or one that does not pass is not paid", async () => {
  const other = chain.wallet(2);
  const theirs = await scoreOf(holder.account.address);
  await assert.rejects(claim(theirs, await sign(theirs), other), refusal("NotYourScore"));
  const failing = await scoreOf(other.account.address, { passing: false });
  await assert.rejects(claim(failing, await sign(failing), other), refusal("DoesNotPass"));
  const foreign = await scoreOf(other.account.address, { scorer: 336n });
  await assert.rejects(claim(foreign, await sign(foreign), other), refusal("OtherScorer"));
});

test("a changed member, another domain or another key is an unknown signer", async () => {
  const by = chain.wallet(2);
  const score = await scoreOf(by.account.address, { passing: false });
  const changes = { passing: true, score: 9900000n, expiresAt: score.expiresAt + 1n, issuedAt: score.issuedAt + 1n };
  for (const [name, value] of Object.entries(changes)) {
    const signature = await sign(score);
    await assert.rejects(claim({ ...score, [name]: value }, signature, by), refusal("UnknownSigner"), name);
  }
  const passing = await scoreOf(by.account.address);
  const domains = [{ chainId: 1 }, { verifyingContract: token.address }, { name: "Pyxis Attestation" }, { version: "2" }];
  for (const domain of [...domains, { chainId: undefined, verifyingContract: undefined }]) {
    await assert.rejects(claim(passing, await sign(passing, signer, domain), by), refusal("UnknownSigner"));
  }
  const stranger = privateKeyToAccount(generatePrivateKey());
  await assert.rejects(claim(passing, await sign(passing, stranger), by), refusal("UnknownSigner"));
});

test("a signature in another form is refused, also the variant that anyone can derive", async () => {
  const by = chain.wallet(2);
  const score = await scoreOf(by.account.address);
  const signature = await sign(score);
  const [r, s, v] = [sliceHex(signature, 0, 32), hexToBigInt(sliceHex(signature, 32, 64)), sliceHex(signature, 64)];
  const high = concatHex([r, numberToHex(ORDER - s, { size: 32 }), v === "0x1b" ? "0x1c" : "0x1b"]);
  const zero = concatHex([r, numberToHex(s, { size: 32 }), "0x00"]);
  for (const bad of ["0x", sliceHex(signature, 0, 64), `${signature}00`, high, zero, `0x${"00".repeat(64)}1b`]) {
    await assert.rejects(claim(score, bad, by), refusal("MalformedSignature"), bad);
  }
});

test("a score ends with its expiry and with the contract's maximum age", async () => {
  const by = chain.wallet(2);
  const { timestamp } = await chain.reader.getBlock();
  const ended = await scoreOf(by.account.address, { expiresAt: timestamp });
  await assert.rejects(claim(ended, await sign(ended), by), refusal("Expired"));
  const old = await scoreOf(by.account.address, { issuedAt: timestamp - 3700n });
  await assert.rejects(claim(old, await sign(old), by), refusal("TooOld"));
  const good = await scoreOf(by.account.address);
  const signature = await sign(good);
  await chain.clock.setNextBlockTimestamp({ timestamp: good.expiresAt });
  await chain.clock.mine({ blocks: 1 });
  await assert.rejects(claim(good, signature, by), refusal("Expired"));
});

test("the owner changes the signers, and nobody else does", async () => {
  const by = chain.wallet(2);
  const next = privateKeyToAccount(generatePrivateKey());
  await assert.rejects(airdrop.write("setSigner", [next.address, true], by), refusal("NotOwner"));
  await assert.rejects(airdrop.write("startRound", ["mine"], by), refusal("NotOwner"));
  await airdrop.write("setSigner", [next.address, true]);
  const score = await scoreOf(by.account.address);
  await claim(score, await sign(score, next), by);
  await airdrop.write("setSigner", [next.address, false]);
  assert.equal(await airdrop.read("trusts", [next.address]), false);
  const third = chain.wallet(3);
  const late = await scoreOf(third.account.address);
  await assert.rejects(claim(late, await sign(late, next), third), refusal("UnknownSigner"));
});
