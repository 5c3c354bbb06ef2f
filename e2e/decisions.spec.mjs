// What a person answers, and what becomes of the request.

import assert from "node:assert/strict";
import test from "node:test";

import { SECRET, World, card, opened } from "./support/world.mjs";

const world = World.forThisFile();

test("a request appears in the open inbox, is approved, sent once with the secret and answered without it", async () => {
  const { agent, upstream } = world;
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.getByText("No requests yet").waitFor();
    await page.evaluate(() => { globalThis.notReloaded = true; });

    // It is added automatically, without a reload.
    const txn = await agent.ask("/invoices", { reason: "to bill the customer" });
    await card(page, txn).waitFor();
    assert.equal(await page.title(), "(1) Inbox · Pyxis");
    assert.equal(await page.evaluate(() => globalThis.notReloaded), true);
    assert.equal(upstream.requests.length, 0);

    await opened(page, txn);
    await card(page, txn).getByText("to bill the customer").waitFor();
    await card(page, txn).getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Approved. The request is being sent.").waitFor();

    const outcome = await agent.outcome(txn);
    assert.equal(outcome.status, "approved");
    assert.deepEqual(JSON.parse(outcome.response.body), { done: true, you_sent: "Bearer [REDACTED:billing-api]" });
    assert.ok(!JSON.stringify(outcome).includes(SECRET));
    assert.deepEqual(upstream.at("/invoices").map(({ method, headers, body }) => [method, headers.authorization, body]), [
      ["POST", `Bearer ${SECRET}`, `{"note":"hello"}`],
    ]);

    await page.goto(`/app/approvals/${txn}`);
    await card(page, txn).getByText("200 from upstream").waitFor();
    assert.ok(!(await page.content()).includes(SECRET));
  });
});

test("a denied request is not sent, and the agent reads the reason", async () => {
  await world.asOwner(async (page) => {
    const txn = await world.agent.ask("/denied");
    await page.goto("/app/inbox");
    await opened(page, txn);
    await card(page, txn).getByText("Deny…").click();
    await card(page, txn).getByLabel("Reason").fill("not this customer");
    await card(page, txn).getByRole("button", { name: "Deny this request" }).click();
    await page.getByText("Denied. Nothing was sent.").waitFor();

    const outcome = await world.agent.outcome(txn);
    assert.deepEqual([outcome.status, outcome.reason, outcome.response], ["denied", "not this customer", null]);
    assert.deepEqual(world.upstream.at("/denied"), []);
  });
});

test("a request that its agent withdrew cannot be approved from a page that does not update itself", async () => {
  await world.asOwner(async (page) => {
    const txn = await world.agent.ask("/withdrawn");
    await page.goto(`/app/approvals/${txn}`);
    await world.agent.withdraw(txn);
    await card(page, txn).getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Already decided or expired").waitFor();
    await card(page, txn).getByText("Withdrawn by the agent").waitFor();
    assert.equal(await page.locator("[data-approve]").count(), 0);
    assert.deepEqual(world.upstream.at("/withdrawn"), []);
  }, { javaScriptEnabled: false });
});

test("without scripts the approval page works the same", async () => {
  await world.asOwner(async (page) => {
    const txn = await world.agent.ask("/no-script");
    await page.goto(`/approve/${txn}`);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    // Told once: the page may have looked again by now.
    const approved = page.getByText("Approved. The request is being sent.");
    await approved.or(page.getByText("200 from upstream")).first().waitFor();
    assert.equal((await world.agent.outcome(txn)).upstream_status, 200);
    // The page looks again automatically until the answer is there.
    await page.getByText("200 from upstream").waitFor();
    assert.equal(world.upstream.at("/no-script").length, 1);
  }, { javaScriptEnabled: false });
});

test("a request is found in the inbox by what stands in it, and among the decided ones after the answer", async () => {
  const txn = await world.agent.ask("/searched", { reason: "the unusual word marmalade" });
  const other = await world.agent.ask("/not-searched");
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.keyboard.press("/");
    await page.keyboard.type("MARMALADE");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/app/inbox?q=MARMALADE*");
    await card(page, txn).waitFor();
    assert.equal(await card(page, other).count(), 0);
    await opened(page, txn);
    await card(page, txn).getByText("Deny…").click();
    await card(page, txn).getByRole("button", { name: "Deny this request" }).click();
    await page.getByText("Denied. Nothing was sent.").waitFor();
    await page.getByRole("link", { name: "All decided requests" }).click();
    await page.waitForURL("**/app/decided");
    await page.getByRole("searchbox").fill("marmalade");
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL("**/app/decided?q=marmalade*");
    assert.equal(await page.getByRole("main").locator("tbody tr").count(), 1);
    await page.getByRole("searchbox").fill("no such thing");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("No results for").waitFor();
  });
});
