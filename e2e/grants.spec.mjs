// Approving and letting identical requests through for a while.

import assert from "node:assert/strict";
import test from "node:test";

import { World } from "./support/world.mjs";

const world = World.forThisFile();

test("a grant from the approval page lets the next request through, is listed, and asks again once revoked", async () => {
  const { agent, upstream } = world;
  await world.asOwner(async (page) => {
    const txn = await agent.ask("/items");
    await page.goto(`/approve/${txn}`);
    await page.getByLabel(/Also allow every .* for 30 min/).check();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Approved with a grant.").waitFor();
    assert.equal((await agent.outcome(txn)).upstream_status, 200);

    assert.equal((await agent.forward("POST", "/items", { body: `{"note":"hello"}` })).status, 200);
    assert.equal(upstream.at("/items").length, 2);
    // Another path is not covered.
    await agent.ask("/items/1");

    await page.goto("/app/policies");
    const grant = page.getByRole("row", { name: `POST ${upstream.url("/items")}` });
    assert.equal(await grant.locator("[data-label=Credential]").textContent(), "billing-api");
    assert.equal(await grant.locator("[data-label=Uses]").textContent(), "1 time");
    await grant.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Grant revoked. The next matching request needs approval.").waitFor();
    assert.equal(await grant.count(), 0);

    await agent.ask("/items");
    assert.equal(upstream.at("/items").length, 2);
    assert.deepEqual(upstream.at("/items/1"), []);
  });
});
