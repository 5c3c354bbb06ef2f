// Deciding several requests of the inbox at once.

import assert from "node:assert/strict";
import test from "node:test";

import { PHONE, SIZES, assertFine } from "./support/layout.mjs";
import { registerPasskey, withAuthenticator } from "./support/passkey.mjs";
import { World, card } from "./support/world.mjs";

const world = World.forThisFile();

async function policy(document) {
  const answer = await world.admin("PUT", "/admin/policies/billing-api", document);
  assert.equal(answer.status, 200, await answer.text());
}

/** Asks for as many refunds, which differ in their amounts. */
async function refunds(count, name) {
  const asked = [];
  for (let amount = 1; amount <= count; amount += 1) {
    asked.push(await world.agent.ask(`/${name}`, { body: JSON.stringify({ amount, currency: "eur" }) }));
  }
  return asked;
}

/** The checkbox of a request. */
function box(page, txn) {
  return card(page, txn).getByRole("checkbox", { name: /^Select/ });
}

/** Denies what is left, so that each test has the inbox to itself. */
async function clear() {
  const { approvals } = await (await world.admin("GET", "/approvals?state=pending")).json();
  if (approvals.length === 0) return;
  const decisions = approvals.map(({ txn_id }) => ({ txn_id, verdict: "deny" }));
  const answer = await world.admin("POST", "/approvals/decide", { decisions });
  assert.equal(answer.status, 200, await answer.text());
}

test("requests of one route stand together, and those that are selected are approved", async () => {
  const asked = await refunds(3, "refunds");
  const other = await world.agent.ask("/other");
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.getByRole("heading", { name: /^3 requests from default-agent/ }).waitFor();
    const table = page.getByRole("table", { name: "Fields in which these requests differ" });
    assert.match(await table.innerText(), /amount/);
    assert.doesNotMatch(await table.innerText(), /currency/);
    const approve = page.getByRole("button", { name: "Approve selected" });
    assert.equal(await approve.isVisible(), false);
    await box(page, asked[0]).check();
    await box(page, asked[1]).check();
    await page.getByText("2 selected").waitFor();
    await approve.click();
    await page.getByRole("heading", { name: "2 of 2 requests decided" }).waitFor();
    await page.getByRole("link", { name: "Back to the inbox" }).click();
    await card(page, asked[2]).waitFor();
    for (const txn of asked.slice(0, 2)) assert.equal((await world.agent.outcome(txn)).upstream_status, 200);
    for (const txn of [asked[2], other]) assert.equal((await world.agent.poll(txn)).status, "pending");
    assert.deepEqual(world.upstream.at("/refunds").map(({ body }) => JSON.parse(body).amount).sort(), [1, 2]);
  });
  await clear();
});

test("keys and Shift select, and a denial reaches each agent with its reason", async () => {
  const asked = await refunds(4, "keyed");
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await card(page, asked[3]).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
    await page.keyboard.press("Space");
    await page.getByText("0 selected").waitFor({ state: "hidden" });
    assert.equal(await box(page, asked[0]).isChecked(), false);
    await box(page, asked[1]).click();
    await box(page, asked[3]).click({ modifiers: ["Shift"] });
    await page.getByText("3 selected").waitFor();
    // Enter on a checkbox decides nothing.
    await page.keyboard.press("Enter");
    assert.equal(new URL(page.url()).pathname, "/app/inbox");
    await page.getByText("Deny selected…").click();
    await page.locator("#several-reason").fill("not this month");
    await page.getByRole("button", { name: "Deny the selected requests" }).click();
    await page.getByRole("heading", { name: "3 of 3 requests decided" }).waitFor();
    for (const txn of asked.slice(1)) assert.equal((await world.agent.outcome(txn)).reason, "not this month");
    assert.equal((await world.agent.poll(asked[0])).status, "pending");
  });
  await clear();
});

test("the form works without script, and says what became of each request", async () => {
  const asked = await refunds(2, "plain");
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    for (const txn of asked) await box(page, txn).check();
    await world.agent.withdraw(asked[0]);
    await page.getByRole("button", { name: "Approve selected" }).click();
    await page.getByRole("heading", { name: "1 of 2 requests decided" }).waitFor();
    await page.getByText("Expired or withdrawn. Nothing was sent.").waitFor();
    await page.getByText("Approved.", { exact: true }).waitFor();
  }, { javaScriptEnabled: false });
  assert.equal((await world.agent.outcome(asked[1])).upstream_status, 200);
});

test("one passkey ceremony approves a selection that asks for it", async () => {
  await policy({ passkey_required: true });
  const asked = await refunds(2, "locked");
  await policy({});
  const open = await world.agent.ask("/open");
  await world.asOwner(async (page) => {
    const authenticator = await withAuthenticator(page);
    await registerPasskey(page, "Phone");
    await page.goto("/app/inbox");
    for (const txn of [...asked, open]) await box(page, txn).check();
    await authenticator.verify(false);
    await page.getByRole("button", { name: "Approve selected" }).click();
    await page.getByText("was not used, or it took too long").waitFor();
    await authenticator.verify(true);
    await page.getByRole("button", { name: "Approve selected" }).click();
    await page.getByRole("heading", { name: "3 of 3 requests decided" }).waitFor();
  });
  for (const txn of [...asked, open]) assert.equal((await world.agent.outcome(txn)).upstream_status, 200);
});

test("the selection is readable and accessible, and its bar fits a desktop and a phone", async () => {
  const asked = await refunds(3, "a/path/that/goes/on/and/on/until/it/needs/cutting/items");
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    for (const txn of asked.slice(0, 2)) await box(page, txn).check();
    await assertFine(page, "the inbox");
    for (const viewport of SIZES) {
      await page.setViewportSize(viewport);
      // The bar stands within the window, above the navigation of a phone.
      const bar = await page.getByRole("form", { name: "Decide the selected requests" }).boundingBox();
      assert.ok(bar.y > 0 && bar.y + bar.height <= viewport.height, JSON.stringify(bar));
      await page.getByText("Deny selected…").click();
      await page.getByRole("button", { name: "Deny the selected requests" }).click({ trial: true });
      await page.keyboard.press("Escape");
    }
    await page.getByRole("button", { name: "Approve selected" }).click();
    await page.getByRole("heading", { name: "2 of 2 requests decided" }).waitFor();
    await assertFine(page, "the result");
  }, { viewport: PHONE });
  await clear();
});
