// A task: an agent proposes it, a person trims and approves it, watches what it uses, and stops it.

import assert from "node:assert/strict";
import test from "node:test";

import { registerPasskey, withAuthenticator } from "./support/passkey.mjs";
import { assertFine } from "./support/layout.mjs";
import { proposeTask } from "./support/task.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile();

/** Proposes a task with two actions. */
const propose = (purpose) => proposeTask(world, purpose, { "/refunds/*": 10, "/notes": 3 });

test("a task is proposed, trimmed, approved, used and stopped", async () => {
  const { agent, upstream } = world;
  await world.asOwner(async (page) => {
    const task = await propose("Refund the March orders");
    assert.ok(task.page.endsWith(`/app/tasks/${task.task_id}`), task.page);

    await page.goto("/app/inbox");
    await assertFine(page, "inbox");
    await page.getByRole("link", { name: "Refund the March orders" }).click();
    await page.getByRole("heading", { name: "Requests to allow" }).waitFor();
    await assertFine(page, "proposed task");

    await page.getByLabel("Keep action 2").uncheck();
    await page.getByLabel("Maximum requests for action 1").fill("2");
    await page.getByLabel("Runs for").selectOption("30");
    await page.getByRole("button", { name: "Approve task" }).click();
    await page.getByText("Task approved.").waitFor();
    await page.getByText("0 of 2").first().waitFor();
    await assertFine(page, "running task");

    assert.equal((await agent.forward("POST", "/refunds/1", { body: `{"note":"hello"}` })).status, 200);
    // The open page shows the use, its request and the outcome.
    await page.getByText("1 of 2").first().waitFor();
    await page.getByRole("row", { name: /\/refunds\/1 200/ }).waitFor();
    assert.equal(upstream.at("/refunds/1").length, 1);
    // A removed action needs approval.
    const asked = await agent.ask("/notes");
    await agent.withdraw(asked);

    await page.locator("summary", { hasText: "Stop task" }).click();
    await page.getByRole("button", { name: "Stop task", exact: true }).click();
    await page.getByText("Task stopped.").waitFor();
    await agent.withdraw(await agent.ask("/refunds/2"));
    assert.deepEqual(upstream.at("/refunds/2"), []);
    await assertFine(page, "ended task");
    await page.goto("/app/tasks");
    await page.getByRole("row", { name: /Refund the March orders/ }).getByText("Stopped").waitFor();
    await assertFine(page, "list of tasks");
  });
});

test("a task whose credential requires a passkey is approved by the ceremony, as it was trimmed", async () => {
  const policy = async (document) => {
    const answer = await world.admin("PUT", "/admin/policies/billing-api", document);
    assert.equal(answer.status, 200, await answer.text());
  };
  await policy({ passkey_required: true });
  await world.asOwner(async (page) => {
    const authenticator = await withAuthenticator(page);
    await registerPasskey(page, "Laptop");
    const task = await propose("Refund the May orders");
    await page.goto(`/app/tasks/${task.task_id}`);
    await assertFine(page, "task that needs a passkey");
    await page.getByLabel("Keep action 2").uncheck();
    await page.getByLabel("Maximum requests for action 1").fill("3");
    await authenticator.verify(false);
    await page.getByRole("button", { name: "Approve task with passkey" }).click();
    await page.getByText("was not used, or it took too long").waitFor();
    await authenticator.verify(true);
    await page.getByRole("button", { name: "Approve task with passkey" }).click();
    await page.getByText("Task approved.").waitFor();
    await page.getByText("with the passkey Laptop").waitFor();
    await page.getByText("0 of 3").first().waitFor();
    assert.equal((await world.agent.forward("POST", "/refunds/5", { body: `{"note":"hello"}` })).status, 200);
    await page.getByText("1 of 3").first().waitFor();
    // The page reloads until it shows the outcome.
    await page.getByRole("row", { name: /\/refunds\/5 200/ }).waitFor();
    await assertFine(page, "running task with a passkey");
  });
  await policy({});
});

test("a task is denied with a reason that the agent reads", async () => {
  await world.asOwner(async (page) => {
    const task = await propose("Refund the April orders");
    await page.goto(`/app/tasks/${task.task_id}`);
    await page.getByText("Deny…").click();
    await page.getByLabel("Reason").fill("One by one, please");
    await page.getByRole("button", { name: "Deny this task" }).click();
    await page.getByText("Task denied.").waitFor();
    const answer = await fetch(world.server.url(`/agent/tasks/${task.task_id}`), {
      headers: { "X-PX-Key": world.server.bootstrap.agent_key },
    });
    const { state, reason } = await answer.json();
    assert.deepEqual({ state, reason }, { state: "denied", reason: "One by one, please" });
  });
});
