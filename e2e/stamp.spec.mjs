// docs/guides/score-an-address.md: an issuer of one's own, its Stamps, and a score that passes. The script issues them.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Server } from "./support/server.mjs";

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("../examples/viem/stamp.mjs", import.meta.url));
const [FIRST, SECOND] = ["11", "22"].map((byte) => `0x${byte.repeat(20)}`);

suite("stamp.mjs", () => {
  let directory;
  let server;
  let key;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "px-stamp-"));
    key = join(directory, "issuer.key");
    server = await Server.start();
  });

  after(async () => {
    await server?.remove();
    if (directory) await rm(directory, { recursive: true, force: true });
  });

  const script = async (...args) => (await run("node", [SCRIPT, key, ...args])).stdout;

  /** Imports what the script issues; what the program prints. */
  async function issue(...stamps) {
    const lines = await Promise.all(stamps.map((stamp) => script(...stamp)));
    const file = join(directory, `${stamps[0].join("-")}.jsonl`);
    await writeFile(file, lines.join(""));
    return server.command("stamps", "import", file);
  }

  async function score(address) {
    const { api_key: apiKey, scorer_id: scorer } = server.bootstrap;
    const answer = await fetch(server.url(`/v2/stamps/${scorer}/score/${address}`), { headers: { "x-api-key": apiKey } });
    return answer.json();
  }

  test("makes a key once, and names its issuer", async () => {
    const did = await script();
    assert.match(did, /^did:ethr:0x[0-9a-f]{40}\n$/);
    assert.equal(await script(), did);
    assert.equal((await stat(key)).mode & 0o777, 0o600);
    await server.command("issuer", "add", did.trim(), "--name", "My verifier");
  });

  test("issues Stamps that count, and one account counts for one address", async () => {
    assert.match(await issue([FIRST, "Discord", "discord:4711"], [FIRST, "Google", "google:4711"]), /2 stored/);
    await server.command("scorer", "set-weights", String(server.bootstrap.scorer_id), "Discord=12", "Google=9.5");
    const first = await score(FIRST);
    assert.deepEqual([first.score, first.passing_score], ["21.50000", true]);

    await issue([SECOND, "Discord", "discord:4711"]);
    const second = await score(SECOND);
    assert.deepEqual([second.score, second.stamps.Discord.dedup], ["0.00000", true]);
  });
});
