// Coding agents as people run them, without a person at the terminal: Claude Code, Codex and opencode, each connected as
// `pyxis connect` says. Their model is a script that lists services, reads, writes after a person approved in Chromium,
// and ends. None of them ever has the secret.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

import { Model } from "./support/model.mjs";
import { SECRET, World, opened } from "./support/world.mjs";

const world = World.forThisFile();
const AGENTS = join(import.meta.dirname, "agents", "node_modules");
const PROMPT = "Pay the invoice.";

/** The configuration that `pyxis connect` prints. */
async function configuration(name) {
  const url = world.server.base;
  const { stdout } = await promisify(execFile)(process.env.PX_TEST_PYXIS, ["connect", name, "--url", url]);
  return stdout;
}

/** Setup of each agent in a new home, and its start. */
const PROGRAMS = {
  "Claude Code": async (home, model) => {
    const servers = join(home, ".mcp.json");
    await writeFile(servers, await configuration("claude-code"));
    return {
      command: join(AGENTS, "@anthropic-ai/claude-code-linux-x64/claude"),
      args: [
        "-p", PROMPT, "--mcp-config", servers, "--strict-mcp-config", "--allowedTools", "mcp__pyxis",
        "--model", "scripted", "--output-format", "stream-json", "--verbose",
      ],
      env: {
        ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-ant-scripted", ENABLE_TOOL_SEARCH: "false",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", MCP_TOOL_TIMEOUT: "90000",
      },
    };
  },
  "Codex": async (home, model) => {
    const folder = join(home, ".codex");
    await mkdir(folder);
    const own = `model = "scripted"\nmodel_provider = "scripted"\napproval_policy = "never"\n`;
    const provider = `\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${model.url}/v1"\n`
      + `wire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n`;
    await writeFile(join(folder, "config.toml"), own + await configuration("codex") + provider);
    return {
      command: join(AGENTS, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
      args: ["exec", "--skip-git-repo-check", "--json", PROMPT],
      env: { SCRIPTED_KEY: "sk-scripted", CODEX_HOME: folder },
    };
  },
  "opencode": async (home, model) => {
    const file = JSON.parse(await configuration("opencode"));
    file.provider = {
      scripted: {
        npm: "@ai-sdk/openai-compatible", options: { baseURL: `${model.url}/v1`, apiKey: "sk-scripted" },
        models: { scripted: { name: "scripted" } },
      },
    };
    file.autoupdate = false;
    file.share = "disabled";
    await writeFile(join(home, "opencode.json"), JSON.stringify(file));
    return {
      command: join(AGENTS, "opencode-linux-x64/bin/opencode"),
      args: ["run", "--model", "scripted/scripted", "--format", "json", PROMPT],
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1", npm_config_fetch_retries: "0",
      },
    };
  },
};

for (const [name, prepare] of Object.entries(PROGRAMS)) {
  test(`${name} lists services, reads, and writes after a person approved`, async () => {
    const home = await mkdtemp(join(tmpdir(), "px-agent-"));
    const temporary = join(home, "tmp");
    await mkdir(temporary);
    const [reason, whose] = [`to pay, says ${name}`, encodeURIComponent(name)];
    const [invoices, payments] = [`/invoices/${whose}`, `/payments/${whose}`];
    world.upstream.answer(invoices, { open: `invoice-of-${whose}` });
    world.upstream.answer(payments, { receipt: `receipt-for-${whose}` });
    const call = (method, path, more) => ({
      tool: "call", arguments: { credential: "billing-api", method, url: world.upstream.url(path), ...more },
    });
    const model = await Model.start([
      { tool: "services", arguments: {} },
      call("GET", invoices),
      call("POST", payments, { body: { amount: 5 }, reason }),
    ]);
    try {
      const { command, args, env } = await prepare(home, model);
      const child = spawn(command, args, {
        cwd: home,
        env: {
          PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, "config"), XDG_DATA_HOME: join(home, "data"),
          TMPDIR: temporary, PX_AGENT_KEY: world.server.bootstrap.agent_key, NO_PROXY: "127.0.0.1,localhost", ...env,
        },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const said = { stdout: "", stderr: "" };
      child.stdout.on("data", (part) => { said.stdout += part; });
      child.stderr.on("data", (part) => { said.stderr += part; });
      const ended = once(child, "exit");
      let processes = [];
      await world.asOwner(async (page) => {
        await page.goto("/app/inbox");
        // The child may end early: then what it said is the best message.
        const asked = page.locator("[id^=r-]").filter({ hasText: reason });
        await Promise.race([asked.waitFor({ timeout: 90_000 }), ended]);
        assert.equal(child.exitCode, null, `${said.stdout}\n${said.stderr}`);
        processes = await family(child.pid);
        const txn = await asked.getAttribute("id");
        await (await opened(page, txn.slice(2))).getByRole("button", { name: "Approve", exact: true }).click();
        await page.getByText("Approved. The request is being sent.").waitFor();
      });
      const [code] = await ended;
      assert.equal(code, 0, `${said.stdout}\n${said.stderr}`);
      assert.match(model.after(1), /billing-api/u, "the result of services names the credential");
      for (const [results, body] of [[2, `invoice-of-${whose}`], [3, `receipt-for-${whose}`]]) {
        assert.ok(!model.after(results - 1).includes(body) && model.after(results).includes(body), body);
      }
      for (const [method, path, body] of [["GET", invoices, ""], ["POST", payments, `{"amount":5}`]]) {
        const arrived = world.upstream.at(path).map((request) => ({ ...request, headers: request.headers.authorization }));
        assert.deepEqual(arrived, [{ method, url: path, headers: `Bearer ${SECRET}`, body }]);
      }
      assert.ok(processes.some((text) => text.includes(PROMPT)), "the agent's own command line was read");
      for (const place of [said.stdout, said.stderr, ...processes, ...model.requests]) {
        assert.ok(!place.includes(SECRET), `${name} has the secret`);
      }
      assert.deepEqual(await filesWith(home, SECRET), []);
    } finally {
      await model.stop();
      await rm(home, { recursive: true, force: true });
    }
  });
}

/** Environments and command lines of a process and its descendants. */
async function family(pid) {
  const parents = new Map();
  for (const entry of (await readdir("/proc")).filter((name) => /^\d+$/u.test(name))) {
    // After the name in parentheses: state, then parent.
    const stat = await readFile(`/proc/${entry}/stat`, "latin1").catch(() => "");
    parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
  }
  const isDescendant = (one) => one === pid || (one > 1 && isDescendant(parents.get(one) ?? 0));
  const texts = [...parents.keys()].filter(isDescendant).flatMap((one) => (
    ["environ", "cmdline"].map((file) => readFile(`/proc/${one}/${file}`, "latin1").catch(() => ""))
  ));
  return Promise.all(texts);
}

/** The files below a folder that hold a text. */
async function filesWith(folder, text) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    if ((await readFile(path, "latin1")).includes(text)) found.push(path);
  }
  return found;
}
