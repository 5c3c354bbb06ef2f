// The server stops and comes back while a request is on its way.

import assert from "node:assert/strict";
import test from "node:test";

import { World, card } from "./support/world.mjs";

const world = World.forThisFile();

function approve(page, txn) {
  return card(page, txn).getByRole("button", { name: "Approve", exact: true }).click();
}

/** Waits for the word of the approval, which is told once, or for what the page says when it has looked again. */
function approved(page, then) {
  return page.getByText("Approved. The request is being sent.").or(page.getByText(then)).first().waitFor();
}

/** Visits the page of one request. Each start of the server has its own origin, thus its own visit. */
function atRequest(txn, body) {
  return world.asOwner(async (page) => {
    await page.goto(`/app/approvals/${txn}`);
    await body(page);
  });
}

test("a request that waits over a restart is approved after it and sent once", async () => {
  const txn = await world.agent.ask("/restarted");
  await atRequest(txn, (page) => card(page, txn).getByText("Pending").waitFor());
  await world.server.restart();
  await atRequest(txn, async (page) => {
    await approve(page, txn);
    await approved(page, "200 from upstream");
  });
  assert.equal((await world.agent.outcome(txn)).upstream_status, 200);
  assert.equal(world.upstream.at("/restarted").length, 1);
});

test("a request is sent once after kill -9 between its approval and its forward", async () => {
  const txn = await world.agent.ask("/between");
  // The attempt cannot be put on record, so the approved request stops right before it.
  const hold = "CREATE TRIGGER hold BEFORE UPDATE OF attempt_at ON approvals";
  await world.server.sql(`${hold} BEGIN SELECT RAISE(ABORT, 'held'); END`);
  await atRequest(txn, async (page) => {
    await approve(page, txn);
    await approved(page, "about to be sent");
  });
  await world.server.stop("SIGKILL");
  assert.equal(world.upstream.at("/between").length, 0);
  await world.server.sql("DROP TRIGGER hold");
  await world.server.serve();
  assert.equal((await world.agent.outcome(txn)).upstream_status, 200);
  await atRequest(txn, (page) => card(page, txn).getByText("200 from upstream").waitFor());
  assert.equal(world.upstream.at("/between").length, 1);
});

test("a request whose answer was lost to kill -9 is shown as such and never sent again", async () => {
  world.upstream.hold();
  const txn = await world.agent.ask("/killed");
  await atRequest(txn, async (page) => {
    await approve(page, txn);
    await world.upstream.arrival("/killed");
  });
  await world.server.stop("SIGKILL");
  await world.server.serve();
  const outcome = await world.agent.outcome(txn);
  assert.deepEqual([outcome.status, outcome.error, outcome.response], ["approved", "outcome_unknown", null]);
  await atRequest(txn, async (page) => {
    await card(page, txn).getByText("sent, but no response arrived: it may have taken effect; it is not sent again").waitFor();
    assert.equal(await page.locator("[data-approve]").count(), 0);
  });
  assert.equal(world.upstream.at("/killed").length, 1);
});
