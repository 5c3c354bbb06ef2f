// Editing a request before approving it, and what the page says of what was asked and what was sent.

import assert from "node:assert/strict";
import test from "node:test";

import { PHONE, assertFine } from "./support/layout.mjs";
import { SECRET, World, card } from "./support/world.mjs";

const world = World.forThisFile();
const PAYMENT = { amount: 5000, to: { name: "Ana" }, urgent: false };

function ask(path, options = {}) {
  return world.agent.ask(path, { body: JSON.stringify(PAYMENT), headers: { "X-Mode": "fast" }, ...options });
}

/** The form, opened by a click. */
async function form(page, txn) {
  await card(page, txn).getByText("Edit before approving").click();
  return card(page, txn).locator(".edit-form");
}

/** Presses Tab until `locator` has the focus. */
async function tabTo(page, locator) {
  for (let presses = 0; presses < 80; presses += 1) {
    if (await locator.evaluate((one) => one === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${locator}`);
}

test("a field, the query and the headers are edited, and the page says what was asked and what was sent", async () => {
  const txn = await ask("/pay?limit=10&dry=true");
  await world.asOwner(async (page) => {
    await page.goto(`/app/approvals/${txn}`);
    const edit = await form(page, txn);
    await assertFine(page, "the open form");
    await edit.getByLabel("amount").fill("50");
    await edit.getByLabel("Value of parameter 1").fill("5");
    // Clearing a name removes its row.
    await edit.getByLabel("Name of parameter 2").fill("");
    await edit.getByLabel("Name of a new parameter").fill("page");
    await edit.getByLabel("Value of a new parameter").fill("2 & 3");
    await edit.locator("[name=header_name][value=x-mode]").fill("");
    await edit.getByLabel("Name of a new header").fill("X-Note");
    await edit.getByLabel("Value of a new header").fill("checked");
    await edit.getByRole("button", { name: "Approve as edited" }).click();
    await page.getByText("Approved as edited. The edited request is being sent.").waitFor();

    const outcome = await world.agent.outcome(txn);
    assert.equal(outcome.upstream_status, 200);
    assert.deepEqual(outcome.edited.difference.body_patch, [{ op: "replace", path: "/amount", value: 50 }]);
    const [sent, ...others] = world.upstream.requests.filter(({ url }) => url.startsWith("/pay"));
    assert.deepEqual(others, []);
    assert.deepEqual([...new URL(sent.url, world.upstream.url("/")).searchParams], [["limit", "5"], ["page", "2 & 3"]]);
    assert.deepEqual(JSON.parse(sent.body), { ...PAYMENT, amount: 50 });
    assert.deepEqual([sent.headers["x-mode"], sent.headers["x-note"], sent.headers.authorization], [undefined, "checked", `Bearer ${SECRET}`]);

    await page.getByRole("region", { name: "Response" }).getByText("Status 200").waitFor();
    const told = page.getByRole("region", { name: "Edit", exact: true });
    await told.getByText("by owner@localhost").waitFor();
    for (const [part, asked, decided] of [["Query limit", "10", "5"], ["Header x-mode", "fast", "none"], ["Header x-note", "none", "checked"]]) {
      const row = told.getByRole("row", { name: part });
      assert.equal(await row.locator("del").innerText(), asked, part);
      assert.equal(await row.locator("ins").innerText(), decided, part);
    }
    const lines = await told.getByLabel("Difference between the body").innerText();
    assert.match(lines, /-\s+"amount": ?5000/);
    assert.match(lines, /\+\s+"amount": ?50\b/);
    await told.getByText("Digests").click();
    const digests = await told.getByRole("table").last().innerText();
    for (const record of ["Asked", "Decided", "Sent"]) assert.ok(digests.includes(record), digests);
    await assertFine(page, "the outcome");
  });
});

test("a text is edited by the keyboard alone", async () => {
  const txn = await world.agent.ask("/letter", { body: "Dear customer,\nyou owe us 5000.", headers: { "Content-Type": "text/plain" } });
  await world.asOwner(async (page) => {
    await page.goto(`/approve/${txn}`);
    await tabTo(page, card(page, txn).locator(".edit > summary"));
    await page.keyboard.press("Enter");
    const text = card(page, txn).getByLabel("Body", { exact: true }).and(page.locator("textarea"));
    await tabTo(page, text);
    await assertFine(page, "the form of a text");
    // Letters are text here, not commands.
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" jkad?");
    await tabTo(page, card(page, txn).getByRole("button", { name: "Approve as edited" }));
    await page.keyboard.press("Enter");
    await page.getByText("Edited by owner@localhost").waitFor();
    assert.equal((await world.agent.outcome(txn)).upstream_status, 200);
    assert.deepEqual(world.upstream.at("/letter").map(({ body }) => body), ["Dear customer,\nyou owe us 5000. jkad?"]);
  }, { viewport: PHONE });
});

test("an edit of a request that may no longer be sent is refused, keeps what was typed and sends nothing", async () => {
  const txn = await ask("/elsewhere?limit=10");
  const allow = async (...allowed_hosts) => {
    const answer = await world.admin("PATCH", "/admin/credentials/billing-api", { allowed_hosts });
    assert.equal(answer.status, 200, await answer.text());
  };
  await world.asOwner(async (page) => {
    const refused = async (why) => {
      const edit = card(page, txn).locator(".edit-form");
      await edit.getByLabel("amount").fill("7");
      await edit.getByLabel("Value of parameter 1").fill("1");
      await edit.getByRole("button", { name: "Approve as edited" }).click();
      await page.getByRole("alert").filter({ hasText: why }).getByText("Nothing was changed.").waitFor();
      assert.equal(await edit.getByLabel("amount").inputValue(), "7");
      assert.equal(await edit.getByLabel("Value of parameter 1").inputValue(), "1");
    };
    await page.goto(`/app/approvals/${txn}`);
    await form(page, txn);
    await allow("other.example");
    await refused("host is not allowed");
    await assertFine(page, "the refused form");
    await allow(world.upstream.host);
    const policy = (document) => world.admin("PUT", "/admin/policies/billing-api", document);
    assert.equal((await policy({ deny_urls: ["/elsewhere"] })).status, 200);
    await refused("policy");
    assert.equal((await policy({})).status, 200);
    assert.deepEqual(world.upstream.at("/elsewhere?limit=1"), []);
    assert.equal((await world.agent.poll(txn)).status, "pending");
    // The same edit is sent once it may be.
    await card(page, txn).getByRole("button", { name: "Approve as edited" }).click();
    await page.getByText("Approved as edited.").waitFor();
    assert.equal((await world.agent.outcome(txn)).upstream_status, 200);
    assert.equal(JSON.parse(world.upstream.at("/elsewhere?limit=1")[0].body).amount, 7);
  }, { refusals: [422] });
});
