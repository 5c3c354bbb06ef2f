// The viem example: an attestation of a real server, its signature, and a contract on a real chain that
// trusts it. ci/chain.sh names node and compiler. Then an issuer that is a wallet, and the Rust client.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Server } from "./support/server.mjs";

const run = promisify(execFile);
const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = join(HERE, "..");
const PROVED = `0x${"1a".repeat(20)}`;
const OTHER = `0x${"2b".repeat(20)}`;
/** Optimism's id, which the attestation is bound to. */
const CHAIN = "10";
/** The first account of the node: it signs for anyone who asks. */
const SENDER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/** Typed data that wallets sign, by name: docs/reference/verification.md. */
const TYPES = Object.fromEntries([
  "Register(string kind,string network,string subject,uint256 actionId,uint256 nullifier,"
    + "uint64 issuedAt,uint64 expiresAt,string nonce)",
  "Revoke(string kind,string network,string subject,uint256 actionId,string reason,"
    + "uint64 issuedAt,string nonce)",
  "Rebind(string kind,string from,string to,uint256 actionId,uint256 nullifier,uint64 issuedAt,string nonce)",
].map((text) => {
  const [name, fields] = text.slice(0, -1).split("(");
  const field = (said) => (([type, name]) => ({ name, type }))(said.split(" "));
  return [name, fields.split(",").map(field)];
}));
const { PX_TEST_ANVIL: ANVIL, PX_TEST_SOLC: SOLC, PX_TEST_STRICT: STRICT } = process.env;

if (!ANVIL && STRICT) throw new Error("PX_TEST_ANVIL is not set: run ci/chain.sh");

suite("viem example", { skip: ANVIL ? false : "PX_TEST_ANVIL is not set" }, () => {
  let directory;
  let server;
  let node;
  let url;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "px-viem-"));
    await compile(directory);
    server = await Server.start();
    await register(server, directory);
    [node, url] = await startNode();
  });

  after(async () => {
    node?.kill();
    await server?.remove();
    if (directory) await rm(directory, { recursive: true, force: true });
  });

  /** Output of the example, and true if it succeeds. */
  async function ask(address, env = {}) {
    const own = { PATH: process.env.PATH, HOME: process.env.HOME, PYXIS_URL: server.base, ...env };
    try {
      const { stdout } = await run("node", [join(directory, "attestation.js"), address], { env: own });
      return { ok: true, lines: stdout.trim().split("\n") };
    } catch (error) {
      return { ok: false, lines: error.stdout.trim().split("\n"), error: error.stderr };
    }
  }

  test("trusts the server's signature, and so does a contract that knows its key", async () => {
    const asked = `/attestation/evm/gov-id/optimism?user=${PROVED}&action-id=123456789`;
    const { signer } = await (await fetch(server.url(asked))).json();
    const contract = await deploy(url, directory, signer);
    const answer = await ask(PROVED, { RPC_URL: url, CONTRACT: contract });
    assert.equal(answer.ok, true, answer.error);
    assert.match(answer.lines[0].toLowerCase(), new RegExp(`^signed by ${signer.toLowerCase()}, until \\d+$`));
    assert.equal(answer.lines[1], "the contract accepts it");

    const stranger = await deploy(url, directory, OTHER);
    const refused = await ask(PROVED, { RPC_URL: url, CONTRACT: stranger });
    assert.deepEqual([refused.ok, refused.lines[1]], [false, "the contract rejects it"]);
  });

  test("has nothing to trust about somebody else, and takes no error for a no", async () => {
    assert.deepEqual(await ask(OTHER), { ok: true, lines: ["no proof"] });
    const wrong = await ask("0x12");
    assert.equal(wrong.ok, false);
    assert.match(wrong.error, /400.*Invalid user address/);
  });

  test("a wallet signs typed data as an issuer: its proof counts, moves and ends", async () => {
    const { privateKeyToAccount } = createRequire(join(ROOT, "examples", "viem", "package.json"))("viem/accounts");
    const account = privateKeyToAccount(`0x${"42".repeat(32)}`);
    await server.command("proofs", "issuer", "add", account.address, "--kinds", "phone", "--name", "A wallet");
    const now = BigInt(Math.floor(Date.now() / 1000));
    /** Signs a statement and sends it, or another one than was signed: status and answer. */
    const say = async (primaryType, message, other = {}) => {
      const [domain, type] = [{ name: "Pyxis Registry", version: "1" }, primaryType.toLowerCase()];
      const signature = await account.signTypedData({ domain, types: TYPES, primaryType, message });
      const statement = Object.entries({ ...message, ...other }).map(([name, value]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        name.endsWith("At") ? Number(value) : String(value),
      ]);
      const answer = await fetch(server.url("/registry/proofs"), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...Object.fromEntries(statement), type, issuer: account.address, signature }),
      });
      return [answer.status, (await answer.json()).error];
    };
    const check = async (address) => {
      const path = `/sybil-resistance/phone/optimism?user=${address}&action-id=123456789`;
      return (await fetch(server.url(path))).json();
    };
    const proof = { kind: "phone", actionId: 123456789n, nullifier: 99n };
    const forged = [403, "bad_signature"];
    const until = { result: true, expirationDate: Number(now) + 3600 };

    const first = { network: "optimism", subject: OTHER, issuedAt: now - 20n, nonce: "first" };
    const registered = { ...proof, ...first, expiresAt: now + 3600n };
    assert.deepEqual(await say("Register", registered, { subject: PROVED }), forged);
    assert.deepEqual(await say("Register", registered), [201, undefined]);
    assert.deepEqual(await check(OTHER), until);

    const moved = { ...proof, from: OTHER, to: PROVED, issuedAt: now - 10n, nonce: "second" };
    assert.deepEqual(await say("Rebind", moved, { to: `0x${"3c".repeat(20)}` }), forged);
    assert.deepEqual(await say("Rebind", moved), [201, undefined]);
    assert.deepEqual([(await check(OTHER)).result, await check(PROVED)], [false, until]);

    const { nullifier, ...what } = proof;
    const third = { network: "optimism", subject: PROVED, issuedAt: now, nonce: "third" };
    const ended = { ...what, ...third, reason: "lost" };
    assert.deepEqual(await say("Revoke", ended, { reason: "sold" }), forged);
    assert.equal((await check(PROVED)).result, true);
    assert.deepEqual(await say("Revoke", ended), [201, undefined]);
    assert.equal((await check(PROVED)).result, false);
  });

  test("the Rust client tells yes, no and an error apart", async () => {
    const client = process.env.PX_TEST_EXAMPLE_CHECK;
    assert.ok(client, "PX_TEST_EXAMPLE_CHECK must name the built client; run ci/e2e.sh");
    const check = (...args) => run(client, args, { env: { PYXIS_URL: server.base } }).catch((error) => error);
    assert.match((await check(PROVED)).stdout, /^a unique human, until \d+\n$/);
    assert.equal((await check(PROVED, "biometrics")).stdout, "no proof\n");
    const wrong = await check("0x12");
    assert.deepEqual([wrong.code, wrong.stdout], [1, ""]);
    assert.match(wrong.stderr, /400.*Invalid user address/);
  });
});

/** With its types checked, and so that older Node runs it too. */
async function compile(directory) {
  const example = join(ROOT, "examples", "viem");
  for (const name of ["attestation.ts", "package.json"]) await copyFile(join(example, name), join(directory, name));
  await symlink(join(example, "node_modules"), join(directory, "node_modules"));
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify({
    compilerOptions: {
      target: "es2022", lib: ["es2022", "dom"], module: "nodenext", strict: true, skipLibCheck: true,
      types: ["node"], typeRoots: [join(HERE, "node_modules", "@types")],
    },
    files: ["attestation.ts"],
  }));
  const compiler = join(HERE, "node_modules", "typescript", "bin", "tsc");
  const done = await run("node", [compiler, "--project", directory, "--noEmitOnError"]).catch((error) => error);
  assert.ok(!(done instanceof Error), done.stdout);
}

/** An issuer, and a proof that it signs. */
async function register(server, directory) {
  const key = join(directory, "issuer.key");
  const { issuer } = JSON.parse(await server.command("proofs", "keygen", key, "--json"));
  await server.command("proofs", "issuer", "add", issuer, "--kinds", "gov-id", "--name", "Ours");
  const signed = await server.command(
    "proofs", "sign", PROVED, "--kind", "gov-id", "--network", "optimism", "--action-id", "123456789",
    "--nullifier", "7", "--key", `file:${key}`,
  );
  await writeFile(join(directory, "proofs.jsonl"), signed);
  await server.command("proofs", "import", join(directory, "proofs.jsonl"));
}

/** A node with a chain of its own: the process and its URL. */
async function startNode() {
  const node = spawn(ANVIL, ["--port", "0", "--host", "127.0.0.1", "--chain-id", CHAIN], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(node, "exit").then(() => { throw new Error("the node ended at once"); });
  const listening = async () => {
    for await (const line of createInterface({ input: node.stdout })) {
      const found = line.match(/^Listening on (\S+)/);
      if (found) return `http://${found[1]}`;
    }
    throw new Error("the node does not listen");
  };
  const url = await Promise.race([listening(), ended]);
  ended.catch(() => {});
  // Whatever else it prints must not fill the pipe.
  node.stdout.resume();
  return [node, url];
}

async function rpc(url, method, ...params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  const { result, error } = await answer.json();
  assert.equal(error, undefined);
  return result;
}

/** Deploys the contract of the example that trusts `signer`; where it is. */
async function deploy(url, directory, signer) {
  const output = join(directory, "contracts");
  await run(SOLC, ["--optimize", "--bin", "-o", output, "Gate.sol"], { cwd: join(ROOT, "examples", "viem") });
  const name = (await readdir(output)).find((file) => file.endsWith("_Gate.bin"));
  const code = (await readFile(join(output, name), "utf8")).trim();
  const data = `0x${code}${signer.slice(2).toLowerCase().padStart(64, "0")}`;
  const hash = await rpc(url, "eth_sendTransaction", { from: SENDER, data });
  for (;;) {
    const receipt = await rpc(url, "eth_getTransactionReceipt", hash);
    if (receipt) return receipt.contractAddress;
  }
}
