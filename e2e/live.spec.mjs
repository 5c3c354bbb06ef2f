// A request that is settled elsewhere while its page is open; times of the reader; a long inbox.

import assert from "node:assert/strict";
import test from "node:test";

import { World, card, opened } from "./support/world.mjs";

/** A short window, in which a page is opened even on a slow machine. */
const WINDOW_SECS = 20;
/** Requests on one page of the inbox. */
const PAGE = 50;

const world = World.forThisFile();

/** Decides as another person would, in another place. */
async function decide(txn, verb, body = {}) {
  const answer = await world.admin("POST", `/approvals/${txn}/${verb}`, body);
  assert.equal(answer.status, 200, await answer.text());
}

test("an open approval page shows automatically that the request was decided elsewhere", async () => {
  await world.asOwner(async (page) => {
    for (const path of ["/approve/", "/app/approvals/"]) {
      const txn = await world.agent.ask(`/denied${path}`);
      await page.goto(path + txn);
      await card(page, txn).getByRole("button", { name: "Approve", exact: true }).waitFor();
      await decide(txn, "deny", { reason: "somebody was quicker" });
      await card(page, txn).getByText("somebody was quicker").waitFor();
      assert.equal(await page.locator("[data-approve]").count(), 0);
    }
  });
});

test("an open standalone page shows automatically that the request has expired", async () => {
  const policy = { approval_timeout_secs: WINDOW_SECS };
  assert.equal((await world.admin("PUT", "/admin/policies/billing-api", policy)).status, 200);
  await world.asOwner(async (page) => {
    const txn = await world.agent.ask("/expired");
    await page.goto(`/approve/${txn}`);
    await card(page, txn).getByText("No decision in time").waitFor({ timeout: 3 * WINDOW_SECS * 1000 });
    assert.equal(await page.locator("[data-approve]").count(), 0);
  });
  assert.equal((await world.admin("DELETE", "/admin/policies/billing-api")).status, 204);
});

test("a person in the middle of an answer is told first", async () => {
  await world.asOwner(async (page) => {
    const txn = await world.agent.ask("/answering");
    await page.goto(`/approve/${txn}`);
    await card(page, txn).getByText("Deny…").click();
    await card(page, txn).getByLabel("Reason").fill("half a sen");
    await decide(txn, "approve");
    await page.getByText("This request has changed.").waitFor();
    assert.equal(await card(page, txn).getByLabel("Reason").inputValue(), "half a sen");
    await page.getByRole("link", { name: "Show" }).click();
    await card(page, txn).getByText("200 from upstream").waitFor();
  });
});

test("the end of a grant is told in the reader's time zone", async () => {
  const options = { timezoneId: "Asia/Kathmandu", locale: "en-GB" };
  await world.asOwner(async (page) => {
    const txn = await world.agent.ask("/kathmandu");
    await page.goto(`/approve/${txn}`);
    const until = card(page, txn).locator("[data-until]");
    const shown = await until.textContent();
    const expected = await until.evaluate((place) => new Intl.DateTimeFormat("en-GB", {
      hour: "2-digit", minute: "2-digit", timeZone: "Asia/Kathmandu",
    }).format(new Date(place.dataset.until)));
    assert.ok(shown.startsWith(expected) && shown.includes("5:45"), `${shown} is not ${expected}`);
    await world.agent.withdraw(txn);
  }, options);
});

test("an inbox longer than a page shows the rest below it", async () => {
  await world.asOwner(async (page) => {
    const all = [];
    for (let number = 0; number <= PAGE; number += 1) all.push(await world.agent.ask(`/many/${number}`));
    await page.goto("/app/inbox");
    await page.getByText(`${PAGE} of ${PAGE + 1} pending`).waitFor();
    assert.equal(await page.locator("[data-request]").count(), PAGE);
    await card(page, all[0]).waitFor();
    await page.getByRole("link", { name: "Show 1 more" }).click();
    await page.getByText(`${PAGE + 1} of ${PAGE + 1} pending`).waitFor();
    assert.equal(await page.getByRole("link", { name: /^Show \d/ }).count(), 0);
    const last = await opened(page, all.at(-1));
    await last.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Approved. The request is being sent.").waitFor();
    await last.waitFor({ state: "detached" });
    assert.equal(await page.locator("[data-request]").count(), PAGE);
  });
});
