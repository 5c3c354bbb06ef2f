// Where things stand on the screen: panels that open, answers next to each other, the columns of the inbox.

import assert from "node:assert/strict";
import test from "node:test";

import { PHONE, SIZES } from "./support/layout.mjs";
import { proposeTask } from "./support/task.mjs";
import { World, card, opened } from "./support/world.mjs";

const world = World.forThisFile();
/** Windows too low for a panel: it scrolls inside. */
const LOW = [{ width: 1280, height: 360 }, { width: 390, height: 420 }];

/**
 * The open panel, its last button and the room for them, once the panel stands on the screen or a second has
 * passed. Runs in the page.
 */
async function openPanel() {
  const panel = document.querySelector("details.pop[open] > .panel");
  const bar = document.querySelector(".bar")?.getBoundingClientRect().height ?? 0;
  let found;
  for (let frame = 0; frame < 60; frame += 1) {
    await new Promise(requestAnimationFrame);
    const { top, bottom, left, right } = panel.getBoundingClientRect();
    // Pixels are whole where the page ends.
    const fits = top > -1 && bottom < innerHeight - bar + 1 && left >= 0 && right <= innerWidth;
    found = { fits, top, bottom, left, right, room: innerHeight - bar, scrolls: panel.scrollHeight > panel.clientHeight };
    if (fits) break;
  }
  if (found.scrolls) panel.scrollTop = panel.scrollHeight;
  const button = [...panel.querySelectorAll("button")].at(-1).getBoundingClientRect();
  const at = document.elementFromPoint(button.left + button.width / 2, button.top + button.height / 2);
  return { ...found, reached: panel.contains(at) };
}

/** Opens a panel with its button at the end and at the start of the window, and asserts that all of it is shown. */
async function assertStaysOnScreen(page, summary, where) {
  for (const block of ["end", "start"]) {
    await summary.evaluate((one, edge) => {
      const bar = document.querySelector(".bar")?.getBoundingClientRect().height ?? 0;
      const { top, bottom } = one.getBoundingClientRect();
      scrollBy(0, edge === "end" ? bottom - (innerHeight - bar) : top);
    }, block);
    await summary.click();
    const panel = await page.evaluate(openPanel);
    const what = `${where}, button at the ${block}: ${JSON.stringify(panel)}`;
    assert.ok(panel.fits && panel.reached, what);
    await page.keyboard.press("Escape");
  }
}

for (const viewport of [...SIZES, ...LOW]) {
  const size = `${viewport.width} by ${viewport.height}`;
  test(`every panel that opens stays on a screen of ${size}`, async () => {
    const txn = await world.agent.ask("/panels", { reason: "to see it all", body: JSON.stringify({ rows: [..."abcdefghij"] }) });
    const task = await proposeTask(world, "Refund the March orders", { "/refunds/*": 3 });
    await world.asOwner(async (page) => {
      const check = (scope, text, where) =>
        assertStaysOnScreen(page, scope.locator("summary.button", { hasText: text }), `${text} ${where}`);
      for (const path of [`/app/approvals/${txn}`, `/approve/${txn}`, "/app/inbox"]) {
        await page.goto(path);
        const scope = path === "/app/inbox" ? await opened(page, txn) : card(page, txn);
        if (!path.startsWith("/approve/")) await check(scope, "Approve for 30 min", path);
        await check(scope, "Deny", path);
      }
      await page.goto(`/app/tasks/${task.task_id}`);
      await check(page, "Deny", "on a proposed task");
      await page.getByRole("button", { name: "Approve task" }).click();
      await page.getByText("Task approved.").waitFor();
      await check(page, "Stop task", "on a running task");
      // The button keeps its distance to the table above it.
      const table = await page.locator(".table").first().boundingBox();
      const stop = await page.locator("summary", { hasText: "Stop task" }).boundingBox();
      assert.ok(stop.y - table.y - table.height >= 12, `${JSON.stringify(table)} ${JSON.stringify(stop)}`);
    }, { viewport });
    await world.agent.withdraw(txn);
  });
}

test("without script a panel is reached by scrolling", async () => {
  for (const viewport of SIZES) {
    const txn = await world.agent.ask("/no-script");
    await world.asOwner(async (page) => {
      await page.goto(`/app/approvals/${txn}`);
      await page.locator("summary", { hasText: "Approve for 30 min" }).click();
      await page.getByRole("radio").first().check();
      await page.getByRole("button", { name: "Approve and allow" }).click();
      await page.getByText("Approved").first().waitFor();
    }, { viewport, javaScriptEnabled: false });
    assert.equal((await world.agent.outcome(txn)).upstream_status, 200);
    for (const { id } of (await (await world.admin("GET", "/admin/grants")).json()).grants) {
      assert.equal((await world.admin("DELETE", `/admin/grants/${id}`)).status, 204);
    }
  }
});

test("Approve and Deny stand on one line, and a row of the inbox tells age and time left", async () => {
  const txn = await world.agent.ask("/aside");
  await world.asOwner(async (page) => {
    for (const viewport of SIZES) {
      await page.setViewportSize(viewport);
      for (const path of [`/app/approvals/${txn}`, `/approve/${txn}`, "/app/inbox"]) {
        await page.goto(path);
        const scope = path === "/app/inbox" ? await opened(page, txn) : card(page, txn);
        const approve = await scope.getByRole("button", { name: "Approve", exact: true }).boundingBox();
        const deny = await scope.locator("[data-deny]").boundingBox();
        const where = `${path} at ${viewport.width}: ${JSON.stringify({ approve, deny })}`;
        assert.ok(Math.abs(approve.y + approve.height / 2 - deny.y - deny.height / 2) <= 1, where);
        assert.ok(approve.x + approve.width < deny.x, where);
      }
      const row = card(page, txn).locator("[data-row] > summary");
      assert.match(await row.locator(".line-age").innerText(), /^(just now|\d+ s ago)$/);
      const left = row.locator(".line-left [data-left]");
      const before = await left.innerText();
      assert.match(before, /^(59:\d\d|1 h 0 min)$/);
      const frame = await row.boundingBox();
      for (const part of [".line-age", ".line-left"]) {
        const box = await row.locator(part).boundingBox();
        assert.ok(box.x >= frame.x && box.x + box.width <= frame.x + frame.width, `${part} at ${viewport.width}: ${JSON.stringify(box)}`);
      }
      // It counts.
      await row.locator(".line-left").getByText(before, { exact: true }).waitFor({ state: "detached" });
    }
  }, { viewport: PHONE });
  await world.agent.withdraw(txn);
});
