// The verifiers in TypeScript and Rust, which are handed a signed score: what they accept, and what they
// refuse. An issuer of this test signs, so that it can also sign what no installation would.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { types, verify } from "../out/verify.js";

const rust = process.env.PX_TEST_EXAMPLE_VERIFY;
/** Each verifier, as a function of arguments and environment that returns what it prints. */
const VERIFIERS = {
  TypeScript: async (args, env) => (await verify(args, env)).map((line) => `${line}\n`).join(""),
  ...(rust && { Rust: async (args, env) => (await promisify(execFile)(rust, args, { env })).stdout }),
};
if (!rust && process.env.PX_TEST_STRICT) throw new Error("PX_TEST_EXAMPLE_VERIFY is not set: run ci/solidity.sh");

const ACCOUNT = `0x${"5a".repeat(19)}a1`;
const OTHER = `0x${"2b".repeat(20)}`;
const CONTRACT = `0x${"c0".repeat(20)}`;
const DOMAIN = { name: "Pyxis Score", version: "1", chainId: 10, verifyingContract: CONTRACT };
const AUDIENCE = "https://app.example";
const signer = privateKeyToAccount(generatePrivateKey());
const stranger = privateKeyToAccount(generatePrivateKey());
const now = () => Math.floor(Date.now() / 1000);

/** A key of tokens, as it is published. */
async function tokenKey() {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...await exportJWK(publicKey), alg: "ES256", use: "sig" };
  return { privateKey, jwk: { ...jwk, kid: await calculateJwkThumbprint(jwk) } };
}

suite("verifiers of signed scores", () => {
  let directory, server, issuer, key, unpublished;
  /** Keys that the issuer publishes at the moment. */
  const published = { signers: [signer.address], tokens: [] };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "px-verifiers-"));
    [key, unpublished] = [await tokenKey(), await tokenKey()];
    published.tokens = [key];
    const times = { signs_from: "2026-01-01T00:00:00Z", signs_until: null, trusted_until: null };
    server = createServer(({ url }, response) => {
      const keys = published.tokens.map(({ jwk }) => jwk);
      const all = [
        ...keys.map(({ kid }) => ({ scheme: "es256", kid, ...times })),
        ...published.signers.map((address) => ({ scheme: "eip712", address, ...times })),
      ];
      const body = url === "/.well-known/jwks.json" ? { keys } : { issuer, domain: { name: "Pyxis Score", version: "1" }, keys: all };
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    issuer = `http://127.0.0.1:${server.address().port}`;
  });

  after(async () => {
    server?.closeAllConnections();
    server?.close();
    await rm(directory, { recursive: true, force: true });
  });

  let files = 0;
  const expectations = ["--challenge", "c-1", "--audience", AUDIENCE, "--contract", `10:${CONTRACT}`];

  /** Verdicts of all verifiers about a record. */
  async function verdicts(record, options = expectations) {
    const file = join(directory, `${files++}.json`);
    await writeFile(file, JSON.stringify(record));
    const env = { PYXIS_URL: issuer, PYXIS_API_KEY: "none", PYXIS_SCORER_ID: "7" };
    const ask = async ([name, verifier]) => {
      const said = verifier([ACCOUNT, "--signed", file, ...options], env).then((stdout) => ({ accepted: true, stdout, stderr: "" }));
      return [name, await said.catch((error) => ({ accepted: false, stdout: error.stdout ?? "", stderr: error.stderr ?? String(error) }))];
    };
    return Object.fromEntries(await Promise.all(Object.entries(VERIFIERS).map(ask)));
  }

  async function accepts(record, line, options) {
    for (const [name, { stdout, stderr }] of Object.entries(await verdicts(record, options))) assert.match(stdout, line, `${name}: ${stderr}`);
  }

  async function refuses(what, record, reason) {
    for (const [name, { accepted, stdout, stderr }] of Object.entries(await verdicts(record))) {
      assert.deepEqual([accepted, stdout], [false, ""], `${name} accepts ${what}`);
      assert.match(stderr, reason, `${name} refuses ${what} for another reason`);
    }
  }

  async function typed({ by = signer, domain = {}, signed = {}, shown = {} } = {}) {
    const message = {
      scorer: "7", account: ACCOUNT, score: "2259800", threshold: "2000000", passing: true,
      computedAt: now() - 100, issuedAt: now() - 10, expiresAt: now() + 3000, challenge: "c-1", ...signed,
    };
    const signature = await by.signTypedData({ domain: { ...DOMAIN, ...domain }, types, primaryType: "Score", message });
    return { signature, typed_data: { domain: { ...DOMAIN, ...domain }, types, primaryType: "Score", message: { ...message, ...shown } } };
  }

  const claimsOf = (change) => ({
    iss: issuer, sub: ACCOUNT, aud: AUDIENCE, nonce: "c-1", iat: now() - 10, exp: now() + 3000, computed_at: now() - 100,
    scorer_id: 7, score: "22.59800", threshold: "20.00000", passing_score: true, ...change,
  });
  async function token({ by = key, kid = by.jwk.kid, header = {}, claims = {} } = {}) {
    const set = { alg: "ES256", typ: "pyxis-score+jwt", kid, ...header };
    const secret = set.alg === "HS256" ? new TextEncoder().encode(JSON.stringify(by.jwk)) : by.privateKey;
    return { jwt: await new SignJWT(claimsOf(claims)).setProtectedHeader(set).sign(secret) };
  }

  test("typed data for this verifier is accepted, with and without a contract", async () => {
    await accepts(await typed(), /^signed for contracts: passes, until \d+\n$/);
    await accepts(await typed({ signed: { passing: false } }), /^signed for contracts: does not pass, until \d+\n$/);
    const unbound = await typed({ domain: { chainId: undefined, verifyingContract: undefined }, signed: { challenge: "" } });
    await accepts(unbound, /^signed for contracts: passes/, []);
  });

  test("forged typed data and typed data for others are refused", async () => {
    const unknown = /unknown (signer|key)/;
    await refuses("a stranger's signature", await typed({ by: stranger }), unknown);
    for (const [name, value] of Object.entries({ passing: false, score: "9900000", expiresAt: now() + 9000, account: OTHER, challenge: "c-2" })) {
      await refuses(`a changed ${name}`, await typed({ signed: { [name]: value }, shown: { [name]: (await typed()).typed_data.message[name] } }), unknown);
    }
    await refuses("another contract's", await typed({ domain: { verifyingContract: OTHER } }), unknown);
    await refuses("another chain's", await typed({ domain: { chainId: 1 } }), unknown);
    await refuses("nobody's", await typed({ domain: { chainId: undefined, verifyingContract: undefined } }), unknown);
    await refuses("another scorer's", await typed({ signed: { scorer: "8" } }), /of scorer 8/);
    await refuses("another address's", await typed({ signed: { account: OTHER } }), /of 0x2b/i);
    await refuses("another challenge's", await typed({ signed: { challenge: "c-2" } }), /another challenge/);
    await refuses("an expired one", await typed({ signed: { expiresAt: now() } }), /expired/);
    const { typed_data } = await typed();
    for (const signature of ["0x12", `0x${"00".repeat(64)}1b`]) {
      await refuses("no signature", { signature, typed_data }, /./);
    }
    await refuses("a signature without data", { signature: (await typed()).signature }, /nothing is signed/);
    await refuses("nothing", {}, /nothing is signed/);
  });

  test("a token for this verifier is accepted, with and without a challenge", async () => {
    await accepts(await token(), /^signed as a token: 22\.59800 of 20\.00000\n$/);
    await accepts(await token({ claims: { aud: undefined, nonce: undefined } }), /^signed as a token/, []);
  });

  test("forged tokens and tokens for others are refused", async () => {
    await refuses("a stranger's signature", await token({ by: unpublished, kid: key.jwk.kid }), /signature/i);
    await refuses("an unknown key's", await token({ by: unpublished }), /unknown key|no applicable key/i);
    const [head, , proof] = (await token({ claims: { passing_score: false } })).jwt.split(".");
    const [, claims] = (await token()).jwt.split(".");
    await refuses("changed claims", { jwt: [head, claims, proof].join(".") }, /signature/i);
    await refuses("an unsigned one", { jwt: new UnsecuredJWT(claimsOf()).encode() }, /./);
    await refuses("one signed with the public key", await token({ header: { alg: "HS256" } }), /./);
    await refuses("another kind of token", await token({ header: { typ: "JWT" } }), /typ|not a score's token/);
    await refuses("another installation's", await token({ claims: { iss: "https://other.example" } }), /iss/i);
    await refuses("another audience's", await token({ claims: { aud: "https://other.example" } }), /aud/i);
    await refuses("anybody's", await token({ claims: { aud: undefined } }), /aud/i);
    await refuses("another challenge's", await token({ claims: { nonce: "c-2" } }), /another challenge/);
    await refuses("no challenge's", await token({ claims: { nonce: undefined } }), /another challenge/);
    await refuses("another scorer's", await token({ claims: { scorer_id: 8 } }), /of scorer 8/);
    await refuses("another address's", await token({ claims: { sub: OTHER } }), /of 0x2b/);
    await refuses("an expired one", await token({ claims: { exp: now() - 1 } }), /exp/i);
    await refuses("an eternal one", await token({ claims: { exp: undefined } }), /exp/i);
  });

  test("a verifier that asked without an audience refuses a token for somebody else", async () => {
    for (const [name, { accepted, stderr }] of Object.entries(await verdicts(await token(), ["--challenge", "c-1"]))) {
      assert.equal(accepted, false, name);
      assert.match(stderr, /for another audience/);
    }
  });

  test("a key that was rotated out is refused, and the next one accepted", async () => {
    const [typedBefore, tokenBefore] = [await typed(), await token()];
    const next = await tokenKey();
    published.signers = [stranger.address];
    published.tokens = [next];
    try {
      await refuses("the withdrawn key's typed data", typedBefore, /unknown (signer|key)/);
      await refuses("the withdrawn key's token", tokenBefore, /unknown key|no applicable key/i);
      await accepts(await typed({ by: stranger }), /^signed for contracts: passes/);
      await accepts(await token({ by: next }), /^signed as a token/);
    } finally {
      published.signers = [signer.address];
      published.tokens = [key];
    }
  });
});
