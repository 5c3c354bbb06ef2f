// A real installation with sample addresses, as `pyxis quickstart` makes it. PX_TEST_PYXIS names the program.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

export const PROGRAM = process.env.PX_TEST_PYXIS;
if (!PROGRAM && process.env.PX_TEST_STRICT) throw new Error("PX_TEST_PYXIS is not set: run ci/solidity.sh");

export async function startPyxis(settings = {}) {
  const directory = await mkdtemp(join(tmpdir(), "px-solidity-"));
  const env = { PX_DATA_DIR: join(directory, "data"), PX_METRICS_LISTEN: "off", ...settings };
  const pyxis = async (...command) => (await promisify(execFile)(PROGRAM, command, { cwd: directory, env })).stdout;
  const { owner_session_token: session } = JSON.parse(await pyxis("bootstrap", "--json"));
  const args = ["quickstart", "--json", "--listen", "127.0.0.1:0"];
  const server = spawn(PROGRAM, args, { cwd: directory, env, stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const { base_url: base } = JSON.parse((await lines.next()).value);
  const { api_key: key, scorer_id: scorer, sample_addresses: samples } = JSON.parse((await lines.next()).value);

  async function answer(path, options = {}) {
    return fetch(new URL(path, base), { ...options, headers: { "X-API-KEY": key, ...options.headers } });
  }
  async function get(path, options) {
    const found = await answer(path, options);
    if (!found.ok) throw new Error(`${found.status}: ${await found.text()}`);
    return found.json();
  }
  const { keys } = await get("/.well-known/pyxis-score-keys");

  return {
    base, directory, key, scorer, answer, get,
    /** An address that passes, and one that does not. */
    passing: samples[0],
    failing: samples[1],
    signer: keys.find(({ address }) => address).address,
    /** Runs a command of the program and returns its output. */
    pyxis,
    /** Calls an operation of the owner. */
    async manage(method, path, body) {
      const headers = { authorization: `Bearer ${session}`, "content-type": "application/json" };
      const found = await fetch(new URL(path, base), { method, headers, body: JSON.stringify(body) });
      if (!found.ok) throw new Error(`${found.status}: ${await found.text()}`);
      return found.json();
    },
    async stop() {
      server.kill();
      await once(server, "exit");
      await rm(directory, { recursive: true, force: true });
    },
  };
}
