// Everything in the inbox without a pointer.

import assert from "node:assert/strict";
import test from "node:test";

import { World, card } from "./support/world.mjs";

const world = World.forThisFile();

/** Waits until `locator` has the focus. */
async function focused(locator) {
  await locator.and(locator.page().locator(":focus")).waitFor();
}

test("j, k, a and d reach every request and both answers", async () => {
  const { agent, upstream } = world;
  const older = await agent.ask("/older");
  const newer = await agent.ask("/newer");
  await world.asOwner(async (page) => {
    const { keyboard } = page;
    await page.goto("/app/inbox");
    await card(page, newer).waitFor();
    for (const [key, txn] of [["j", older], ["j", newer], ["j", newer], ["k", older], ["k", older], ["j", newer]]) {
      await keyboard.press(key);
      await focused(card(page, txn));
    }

    await keyboard.press("d");
    await focused(card(page, newer).getByLabel("Reason"));
    // Letters are text here, not commands.
    await keyboard.type("jkad?");
    await keyboard.press("Escape");
    await focused(card(page, newer).locator("[data-deny]"));
    await keyboard.press("d");
    await keyboard.press("Tab");
    await focused(card(page, newer).getByRole("button", { name: "Deny this request" }));
    await keyboard.press("Enter");
    await page.getByText("Denied. Nothing was sent.").waitFor();
    // Its script hears keys only once the page has loaded.
    await page.waitForLoadState();
    assert.equal((await agent.outcome(newer)).reason, "jkad?");

    await keyboard.press("j");
    await focused(card(page, older));
    await keyboard.press("a");
    await focused(card(page, older).getByRole("button", { name: "Approve", exact: true }));
    assert.equal((await agent.poll(older)).status, "pending");
    await keyboard.press("Enter");
    await page.getByText("Approved. The request is being sent.").waitFor();
    assert.equal((await agent.outcome(older)).upstream_status, 200);
    assert.deepEqual(upstream.requests.map(({ url }) => url), ["/older"]);
  });
});

test("a question mark shows the shortcuts and a second one hides them", async () => {
  await world.asOwner(async (page) => {
    const help = page.getByRole("heading", { name: "Keyboard shortcuts" });
    await page.goto("/app/inbox");
    assert.equal(await help.isVisible(), false);
    await page.keyboard.press("?");
    await help.waitFor();
    await page.keyboard.press("?");
    await help.waitFor({ state: "hidden" });
  });
});
