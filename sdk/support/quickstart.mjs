// A real server with sample data, in a directory of its own, for the tests of the SDKs.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);
const PROGRAM = process.env.PX_TEST_PYXIS;

export class Quickstart {
  #directory;
  #child;
  /** The public origin. */
  url;
  /** Output of `bootstrap` and `quickstart`: keys, addresses and the demo's target. */
  sample;

  static async start(env = {}) {
    if (!PROGRAM) throw new Error("PX_TEST_PYXIS must name the built program; run ci/sdk-typescript.sh");
    const server = new Quickstart();
    server.#directory = await mkdtemp(join(tmpdir(), "px-sdk-"));
    try {
      const bootstrap = JSON.parse(await server.command("bootstrap", "--json"));
      const { base_url, ...sample } = await server.#serve(env);
      server.url = base_url;
      const { agent_key, owner_session_token } = bootstrap;
      server.sample = { ...sample, agent_key, owner_session_token };
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** Folder in which its commands run. */
  get directory() {
    return this.#directory;
  }

  get #env() {
    return { PX_DATA_DIR: join(this.#directory, "data"), PX_METRICS_LISTEN: "off" };
  }

  async #serve(env) {
    const log = await open(join(this.#directory, "stderr.log"), "a");
    this.#child = spawn(PROGRAM, ["quickstart", "--json", "--listen", "127.0.0.1:0"], {
      cwd: this.#directory,
      env: { ...this.#env, ...env },
      stdio: ["ignore", "pipe", log.fd],
    });
    await log.close();
    const lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    const [address, sample] = [await lines.next(), await lines.next()];
    if (sample.done) throw new Error(await readFile(join(this.#directory, "stderr.log"), "utf8"));
    return { ...JSON.parse(address.value), ...JSON.parse(sample.value) };
  }

  /** Output of a command of the program, next to the running server. */
  async command(...args) {
    return (await run(PROGRAM, args, { cwd: this.#directory, env: this.#env })).stdout;
  }

  /** A new API key: each has a limit of its own. Returns the key and its id. */
  async apiKey(name, ...options) {
    const { key: apiKey, id } = JSON.parse(await this.command("api-key", "add", name, "--json", ...options));
    return { apiKey, id };
  }

  /** Decides a request as the owner. */
  async decide(txnId, decision, body = {}) {
    const response = await fetch(new URL(`/approvals/${txnId}/${decision}`, this.url), {
      method: "POST",
      headers: { authorization: `Bearer ${this.sample.owner_session_token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
  }

  async stop() {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}
