// The home page: where people land, what it lists, and its accessibility in both schemes.

import assert from "node:assert/strict";
import test from "node:test";

import { findings } from "./support/axe.mjs";
import { DESKTOP, SIZES } from "./support/layout.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile();

for (const colorScheme of ["light", "dark"]) {
  test(`the home page has no finding on a desktop and a phone, ${colorScheme}`, async () => {
    await world.agent.ask(`/home-${colorScheme}`);
    await world.asOwner(async (page) => {
      for (const viewport of SIZES) {
        await page.setViewportSize(viewport);
        await page.goto("/app");
        await page.getByRole("heading", { name: "Last 24 hours" }).waitFor();
        assert.deepEqual(await findings(page), []);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewport.width);
      }
    }, { colorScheme });
  });
}

test("the oldest pending request is one click away, and Sign out is in view at 1280 by 900", async () => {
  const txn = await world.agent.ask("/home-oldest");
  await world.asOwner(async (page) => {
    await page.setViewportSize(DESKTOP);
    await page.goto("/app");
    const box = await page.getByRole("button", { name: "Sign out" }).first().boundingBox();
    assert.ok(box.y + box.height <= 900, JSON.stringify(box));
    await page.locator(".figure a[href^='/app/approvals/']").click();
    await page.waitForURL("**/app/approvals/*");
  });
  await world.agent.withdraw(txn);
});

test("the keyboard reaches every figure and line in the order of the page", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app");
    const wanted = await page.locator("main :is(a, button)").evaluateAll((all) => all.map((one) => one.textContent.trim()));
    assert.ok(wanted.length > 8, JSON.stringify(wanted));
    await page.locator("main :is(a, button)").first().focus();
    const reached = [];
    for (const _ of wanted) {
      reached.push(await page.evaluate(() => document.activeElement.textContent.trim()));
      assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none", reached.at(-1));
      await page.keyboard.press("Tab");
    }
    assert.deepEqual(reached, wanted);
  });
});

test("a step is skipped for good by the keyboard, and the others stay", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app");
    await page.getByRole("link", { name: "Set up backups" }).waitFor();
    await page.getByRole("button", { name: /^Skip\s*: Set up backups$/ }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Set up backups" }).waitFor({ state: "detached" });
    await page.reload();
    assert.equal(await page.getByRole("link", { name: "Set up backups" }).count(), 0);
    assert.equal(await page.getByRole("link", { name: "Add a passkey" }).count(), 1);
  });
});
