// examples/nextjs, built and run, with a person's browser in front of it.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import axe from "axe-core";
import { chromium } from "playwright-core";

import { answers, holder, inject } from "../../e2e/support/holder.mjs";
import { Quickstart } from "../support/quickstart.mjs";

const run = promisify(execFile);
const APP = fileURLToPath(new URL("../../examples/nextjs", import.meta.url));
const NEXT = join(APP, "node_modules", "next", "dist", "bin", "next");
const { PX_TEST_CHROMIUM: executablePath, PX_TEST_STRICT: strict } = process.env;
if (!executablePath && strict) throw new Error("PX_TEST_CHROMIUM is not set: run ci/sdk-typescript.sh");
/** Holders of the scorer's Stamps: one that passes, and one that has none. */
const [RICH, POOR] = [holder(11), holder(12)];

suite("Next.js example", { skip: executablePath ? false : "PX_TEST_CHROMIUM is not set" }, () => {
  let server;
  let app;
  let origin;
  let browser;
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, NEXT_TELEMETRY_DISABLED: "1" };

  before(async () => {
    server = await Quickstart.start();
    await server.command("scorer", "set-weights", "1", "Member=25");
    const [file, member] = [join(server.directory, "credentials.jsonl"), ["--provider", "Member", "--nullifier", "member:1"]];
    await server.command("stamps", "sign", RICH.address, ...member, "--out", file);
    await server.command("stamps", "import", file);
    await run(process.execPath, [NEXT, "build"], { cwd: APP, env });
    const options = ["--kind", "publishable", "--scorer", "1", "--origin", "http://localhost:*"];
    const { apiKey: publishableKey, id } = await server.apiKey("page", ...options);
    const key = { PYXIS_URL: server.url, PYXIS_API_KEY: server.sample.api_key, PYXIS_SCORER_ID: "1" };
    [app, origin] = await startApp({ ...env, ...key, PYXIS_PUBLISHABLE_KEY: publishableKey });
    await server.command("api-key", "set-origins", id, origin);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  });
  after(async () => {
    await browser?.close();
    app?.kill();
    await server?.stop();
  });

  /** Opens a page, and fails on what its console reports, except for the statuses that are meant. */
  async function open(path, body, { account, ...options } = {}) {
    const page = await browser.newPage(options);
    if (account) {
      await page.exposeFunction("askHolder", answers(account));
      await page.addInitScript(inject, { wallets: [{ name: "Wallet" }] });
    }
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    try {
      await page.goto(origin + path);
      await body(page);
      assert.deepEqual(problems, []);
    } finally {
      await page.close();
    }
  }

  test("shows the score of the address that a person enters", async () => {
    await open("/", async (page) => {
      const [human] = server.sample.sample_addresses;
      await page.getByLabel("Address").fill(human);
      await page.getByRole("button", { name: "Read score" }).click();
      await page.getByText("Passes: 22.598 of 20 points").waitFor();
      assert.equal(new URL(page.url()).searchParams.get("address"), human);
    });
  });

  test("shows the widget, which asks for a wallet", async () => {
    await open("/passport", async (page) => {
      await page.getByRole("button", { name: "Connect wallet" }).waitFor();
      assert.equal(await page.locator("pyxis-passport").evaluate((element) => element.state), "idle");
      await page.getByRole("button", { name: "Connect wallet" }).click();
      await page.getByText("No wallet was found in this browser.").first().waitFor();
    });
  });

  for (const [account, shown, said] of [[RICH, "Passed", "passes."], [POOR, "Not enough yet", "does not pass yet."]]) {
    test(`connects a wallet, and the page learns that it ${said}`, async () => {
      await open("/passport", async (page) => {
        await page.getByRole("button", { name: "Connect wallet" }).click();
        await page.getByText(shown, { exact: true }).waitFor();
        await page.getByText(`${account.address.toLowerCase()} ${said}`, { exact: true }).waitFor();
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.equal(width, 390, "nothing is wider than a phone");
        await page.getByRole("button", { name: "Disconnect" }).click();
        await page.getByRole("button", { name: "Connect wallet" }).waitFor();
        assert.equal(await page.getByText(said, { exact: false }).count(), 0);
      }, { account, viewport: { width: 390, height: 844 } });
    });
  }

  test("says that an address is not valid, and does not offer to read it again", async () => {
    await open("/?address=vitalik.eth", async (page) => {
      await page.getByText("Not a valid address.").waitFor();
      assert.equal(await page.getByRole("button", { name: "Read again" }).count(), 0);
    });
    const response = await fetch(`${origin}/api/score/vitalik.eth`);
    assert.deepEqual([response.status, await response.json()], [400, { detail: "Invalid address." }]);
  });

  test("has an icon of its own", async () => {
    await open("/", async (page) => {
      const response = await fetch(await page.locator("link[rel=icon]").evaluate((link) => link.href));
      assert.deepEqual([response.status, response.headers.get("content-type")], [200, "image/svg+xml"]);
    });
  });

  test("names a variable that is not set in the log, and not in the page", async () => {
    const settings = { PYXIS_URL: server.url, PYXIS_API_KEY: server.sample.api_key };
    for (const missing of Object.keys(settings)) {
      const [child, address] = await startApp({ ...env, ...settings, [missing]: "" }, "pipe");
      try {
        let log = "";
        child.stderr.setEncoding("utf8").on("data", (text) => (log += text));
        const response = await fetch(`${address}/api/score/${RICH.address}`);
        assert.deepEqual([response.status, (await response.text()).includes("PYXIS")], [502, false]);
        while (!log.includes("is not set")) await once(child.stderr, "data");
        assert.match(log, new RegExp(`^${missing} is not set`, "m"));
      } finally {
        child.kill();
      }
    }
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`has no fault that an examination of accessibility finds, in ${colorScheme} colors`, async () => {
      await open(`/?address=${server.sample.sample_addresses[1]}`, async (page) => {
        await page.getByText("Does not pass: 4.241 of 20 points").waitFor();
        await page.evaluate(axe.source);
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        assert.deepEqual(violations.map(({ id, help }) => `${id}: ${help}`), []);
      }, { colorScheme });
    });
  }

  test("keeps the key and the server's address out of everything that a page gets", async () => {
    const secrets = [server.sample.api_key, new URL(server.url).host, "PYXIS_API_KEY"];
    for (const path of await files(join(APP, ".next", "static"))) {
      const text = await readFile(path, "utf8");
      for (const secret of secrets) assert.ok(!text.includes(secret), `${secret.slice(0, 8)}… in ${path}`);
    }
    const page = await (await fetch(`${origin}/?address=${server.sample.proved_address}`)).text();
    for (const secret of secrets) assert.ok(!page.includes(secret));
  });
});

/** Starts the built application on a free port. */
async function startApp(env, stderr = "inherit") {
  const options = { cwd: APP, env, stdio: ["ignore", "pipe", stderr] };
  const child = spawn(process.execPath, [NEXT, "start", "--port", "0", "--hostname", "127.0.0.1"], options);
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /http:\/\/[\w.]+:\d+/.exec(line)?.[0];
    if (address) return [child, address.replace("localhost", "127.0.0.1")];
  }
  throw new Error("the application ended at once");
}

async function files(directory) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
