// Nobody answers in time.

import assert from "node:assert/strict";
import test from "node:test";

import { World, card } from "./support/world.mjs";

/** A short window, in which a page is opened even on a slow machine. */
const WINDOW_SECS = 20;

const world = World.forThisFile();

async function shortWindow() {
  const policy = { approval_timeout_secs: WINDOW_SECS };
  assert.equal((await world.admin("PUT", "/admin/policies/billing-api", policy)).status, 200);
}

test("an expired request leaves the inbox automatically", async () => {
  await shortWindow();
  await world.asOwner(async (inbox) => {
    const txn = await world.agent.ask("/expired");
    await inbox.goto("/app/inbox");
    await card(inbox, txn).waitFor();

    const outcome = await world.agent.outcome(txn);
    assert.deepEqual([outcome.status, outcome.response, outcome.error], ["expired", null, null]);
    await inbox.getByText("No pending requests").waitFor();
    await inbox.getByText("No decision in time").waitFor();
    assert.equal(await inbox.locator("[data-approve]").count(), 0);
    assert.equal((await world.agent.poll(txn)).status, "expired");
    assert.deepEqual(world.upstream.requests, []);
  });
});

test("an expired request cannot be approved from a page that does not update itself", async () => {
  await shortWindow();
  await world.asOwner(async (page) => {
    const txn = await world.agent.ask("/stale");
    await page.goto(`/app/approvals/${txn}`);
    assert.equal((await world.agent.outcome(txn)).status, "expired");
    await card(page, txn).getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Already decided or expired").waitFor();
    await card(page, txn).getByText("No decision in time").waitFor();
    assert.equal(await page.locator("[data-approve]").count(), 0);
    assert.deepEqual(world.upstream.requests, []);
  }, { javaScriptEnabled: false });
});
