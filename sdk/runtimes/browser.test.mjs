// The installed package in Chromium, in a page of another origin than the server's.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { chromium } from "playwright-core";

import { Quickstart } from "../support/quickstart.mjs";
import { Installation } from "./support/packages.mjs";
import { servePage } from "./support/page.mjs";
import { SEEN } from "./support/seen.mjs";
import { SilentServer } from "./support/silent.mjs";

const { PX_TEST_CHROMIUM: executablePath, PX_TEST_STRICT: strict } = process.env;
if (!executablePath && strict) throw new Error("PX_TEST_CHROMIUM is not set: run ci/sdk-typescript.sh");

suite("Browser", { skip: executablePath ? false : "PX_TEST_CHROMIUM is not set" }, () => {
  let installation;
  let server;
  let silent;
  let browser;
  let origin;
  let endPage;

  before(async () => {
    [installation, server, silent] = await Promise.all([Installation.make(), Quickstart.start(), SilentServer.start()]);
    [origin, endPage] = await servePage(installation.directory);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  });
  after(async () => {
    await browser?.close();
    endPage?.();
    await Promise.all([installation?.remove(), server?.stop(), silent?.stop()]);
  });

  /** Runs a function in the page. */
  async function inPage(body, argument) {
    const page = await browser.newPage();
    try {
      await page.goto(origin);
      return await page.evaluate(body, argument);
    } finally {
      await page.close();
    }
  }

  test("a page of another origin sees what it must", async () => {
    const { sample, url } = server;
    const seen = await inPage(async (options) => {
      const [{ Pyxis }, { Verification }] = [await import("@pyxis/sdk"), await import("@pyxis/sdk/verification")];
      const { visit } = await import("/visit.mjs");
      return visit({ Pyxis, Verification }, options);
    }, { url, apiKey: sample.api_key, address: sample.proved_address, silentUrl: silent.url });
    assert.deepEqual(seen, SEEN);
  });

  test("a page reads when a limit ends", async () => {
    const { apiKey } = await server.apiKey("page");
    const [status, retryAfterMs] = await inPage(async ([url, key]) => {
      const { Pyxis } = await import("@pyxis/sdk");
      const pyxis = new Pyxis({ url, apiKey: key, retry: { maxWaitMs: 0 } });
      const reads = await Promise.allSettled(Array.from({ length: 130 }, () => pyxis.score(1, `0x${"0".repeat(40)}`)));
      const { reason } = reads.find(({ status }) => status === "rejected");
      return [reason.status, reason.retryAfterMs];
    }, [server.url, apiKey]);
    assert.equal(status, 429);
    assert.ok(retryAfterMs > 0 && retryAfterMs <= 900_000, `${retryAfterMs} ms`);
  });
});
