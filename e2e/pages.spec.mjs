// What holds for every page: it fits a phone, both color schemes are readable, and it has the exact CSP
// and a silent console (which every visit checks).

import assert from "node:assert/strict";
import test from "node:test";

import { faintTexts } from "./support/contrast.mjs";
import { DESKTOP, PHONE, cutLabels } from "./support/layout.mjs";
import { addAgent } from "./support/new-agent.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile();
const LONG = "/a/path/that/goes/on/and/on/until/it/needs/cutting/items/12345?force=true&notify=everybody";

const PAGES = [
  "/app", "/app/inbox", "/app/policies", "/app/policies/billing-api", "/app/agents", "/app/new/agent", "/app/credentials",
  "/app/credentials/billing-api", "/app/new/credential", "/app/new/credential?kind=header",
  "/app/new/credential?kind=hmac", "/app/new/credential?kind=oauth2_refresh", "/app/new/credential?kind=mtls",
  "/app/new/credential?kind=jwt_bearer", "/app/new/credential?kind=oauth1", "/app/import/credentials", "/app/people",
  "/app/people?q=nobody", "/app/account", "/app/new/person", "/app/audit", "/app/usage?range=7d", "/app/settings", "/app/nothing", "/app/scorers", "/app/scorers/1", "/app/scorers/1/population", "/app/score-jobs", "/app/new/scorer",
  "/app/api-keys", "/app/new/api-key", "/app/explorer", "/app/explorer?address=vitalik.eth",
  `/app/explorer?address=0x${"1a".repeat(20)}`, "/app/catalogue", "/app/catalogue/ETH", "/app/new/platform",
  "/app/issuers", "/app/inbox?q=nothing", "/app/tasks", "/app/decided", "/app/decided?q=nothing", "/app/notifications", "/app/brand",
  "/app/webhooks", "/app/new/webhook", "/app/verification",
  `/app/verification/strategy?addresses=0x${"1a".repeat(20)}%0Avitalik.eth`, "/app/models",
];

/** Every page, with a request that waits and one that was withdrawn, and the Connect page of the first agent. */
async function everyPage() {
  const { agents } = await (await world.admin("GET", "/admin/agents")).json();
  const waiting = await world.agent.ask(LONG, { reason: "an-unbroken-reason-".repeat(12) });
  const settled = await world.agent.ask("/settled", { body: JSON.stringify({ text: "x".repeat(400) }) });
  await world.agent.withdraw(settled);
  return [...PAGES, `/app/agents/${agents[0].id}/connect`, ...[waiting, settled].flatMap((txn) => [`/app/approvals/${txn}`, `/approve/${txn}`])];
}

/** Fails unless the page fits its window, has the scheme's background, only text that can be read, and "Sign out" in sight. */
async function assertReadable(page, path, colorScheme) {
  const { width } = page.viewportSize();
  const where = `${path} at ${width} px`;
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `width of ${where}`);
  const { background, faint } = await page.evaluate(faintTexts);
  assert.equal(background > 0.5 ? "light" : "dark", colorScheme, `background of ${where}`);
  assert.deepEqual(faint, [], `contrast of ${where}`);
  assert.deepEqual(await page.evaluate(cutLabels), [], `labels of charts of ${where}`);
  if (width === DESKTOP.width && await page.locator(".side").count() > 0) {
    const box = await page.locator(".side").getByRole("button", { name: "Sign out" }).boundingBox();
    assert.ok(box.y >= 0 && box.y + box.height <= DESKTOP.height, `Sign out is out of sight of ${where}`);
  }
}

for (const colorScheme of ["light", "dark"]) {
  test(`every page is ${colorScheme} on request, readable, and fits a phone and a desktop`, async () => {
    const pages = await everyPage();
    await world.asOwner(async (page) => {
      for (const path of pages) {
        await page.goto(path);
        for (const viewport of [DESKTOP, PHONE]) {
          await page.setViewportSize(viewport);
          await assertReadable(page, path, colorScheme);
        }
      }
      // The answer to a form, which no address leads to.
      await addAgent(page, `a-${colorScheme}-agent`);
      for (const viewport of [DESKTOP, PHONE]) {
        await page.setViewportSize(viewport);
        await assertReadable(page, "the key of a new agent", colorScheme);
      }
    }, { colorScheme, refusals: [404] });
  });

  test(`the doors are ${colorScheme} on request, readable, and fit a phone`, async () => {
    await world.asStranger(async (page) => {
      for (const path of ["/sign-in", "/link/unknown"]) {
        await page.goto(path);
        await assertReadable(page, path, colorScheme);
      }
    }, { colorScheme, viewport: PHONE, refusals: [404] });
  });
}

/** Words of tables and cards that are broken inside, although they fit on a line. Runs in the page. */
function brokenWords() {
  const found = [];
  const places = "main :is(table:not(.keep) :is(td, th), .row, .request-head, .figure, .step, .attention)";
  for (const place of document.querySelectorAll(places)) {
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const { 0: word, index } of node.data.matchAll(/[\p{L}\p{N}_]{2,20}/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const tops = new Set([...range.getClientRects()].filter((rect) => rect.width > 1).map((rect) => Math.round(rect.top)));
        const isPart = /[\p{L}\p{N}_]/u;
        const isLong = isPart.test(node.data[index - 1] ?? "") || isPart.test(node.data[index + word.length] ?? "");
        if (tops.size > 1 && !isLong) {
          found.push(word);
        }
      }
    }
  }
  return found;
}

test("a word in a table or card is never broken inside on a phone", async () => {
  await world.credential("api-of-a-provider-with-a-long-name");
  const pages = [...await everyPage(), "/app/decided", "/app/inbox"];
  await world.asOwner(async (page) => {
    for (const viewport of [PHONE, DESKTOP]) {
      await page.setViewportSize(viewport);
      for (const path of new Set(pages)) {
        await page.goto(path);
        assert.deepEqual(await page.evaluate(brokenWords), [], `${path} at ${viewport.width} px`);
      }
    }
  }, { refusals: [404] });
});

test("an inline style that gets into a page is refused, and the visit fails", async () => {
  const visit = world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.evaluate(() => {
      const style = document.createElement("style");
      style.textContent = "body { display: none }";
      document.head.append(style);
    });
    assert.equal(await page.locator("body").isVisible(), true);
  });
  await assert.rejects(visit, /Content Security Policy/);
});
