// Tables: headings that sort by the keyboard, files of what was found, and the requests that are counted.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { PHONE } from "./support/layout.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile({}, async () => {
  for (const name of ["alpha-bot", "zulu-bot"]) {
    const answer = await world.admin("POST", "/admin/agents", { name });
    assert.ok(answer.ok, await answer.text());
  }
});

/** The names of the agents on the page, from top to bottom. */
function names(page) {
  return page.locator("tbody th a").allInnerTexts();
}

test("a heading turns the order of its table by the keyboard, and says so", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/agents");
    const heading = page.getByRole("columnheader", { name: "Agent" });
    assert.equal(await heading.getAttribute("aria-sort"), "ascending");
    assert.deepEqual(await names(page), ["alpha-bot", "default-agent", "zulu-bot"]);
    await page.getByRole("link", { name: "CSV" }).focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/app/agents?sort=%2Dname");
    assert.equal(await heading.getAttribute("aria-sort"), "descending");
    assert.deepEqual(await names(page), ["zulu-bot", "default-agent", "alpha-bot"]);
    assert.equal(await page.locator("th[aria-sort]").count(), 1, "one order at a time");
  });
});

test("a search keeps the order, and a file has what was found in it", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/agents?sort=-name");
    await page.getByRole("searchbox", { name: "Search agents" }).fill("bot");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/app/agents?q=bot&sort=-name");
    assert.deepEqual(await names(page), ["zulu-bot", "alpha-bot"]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download this list as CSV" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "pyxis-agents.csv");
    const [head, ...rows] = (await readFile(await download.path(), "utf8")).trim().split("\r\n");
    assert.match(head, /^name,key,state,/);
    assert.deepEqual(rows.map((row) => row.split(",")[0]), ["zulu-bot", "alpha-bot"]);
  });
});

test("on a phone a table is sorted as well, and is no wider than the window", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/agents");
    await page.getByRole("link", { name: "Agent", exact: true }).click();
    await page.waitForURL("**/app/agents?sort=%2Dname");
    assert.deepEqual(await names(page), ["zulu-bot", "default-agent", "alpha-bot"]);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.width);
  }, { viewport: PHONE });
});

test("a request is counted on the page of usage, by who made it", async () => {
  await world.agent.ask("/counted");
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    const navigation = page.getByRole("navigation", { name: "Main", exact: true });
    await navigation.getByRole("list", { name: "Record" }).getByRole("link", { name: "Usage" }).click();
    const row = page.getByRole("row", { name: /default-agent/ });
    await row.getByRole("img", { name: /^Requests of default-agent over time, highest 1 at/ }).waitFor();
    assert.match(await row.innerText(), /1\s+1\s+0$/);
    await page.getByRole("img", { name: "Agent requests" }).waitFor();
    await page.getByRole("link", { name: "30 days" }).click();
    await page.waitForURL("**/app/usage?range=30d");
    assert.match(await row.innerText(), /1\s+1\s+0$/);
  });
});
