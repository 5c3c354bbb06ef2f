// Inviting somebody, granting them a credential, and what they then see.

import assert from "node:assert/strict";
import test from "node:test";

import { World, card, setPassword } from "./support/world.mjs";

const world = World.forThisFile();

test("a member is invited, granted one credential, and decides its requests only", async () => {
  await world.credential("other-api");
  const link = await world.asOwner(async (page) => {
    await page.goto("/app/people");
    await page.getByRole("link", { name: "Add person" }).click();
    await page.getByLabel("E-mail address").fill("mem@localhost");
    await page.getByLabel("Role").selectOption("member");
    await page.getByRole("button", { name: "Add person" }).click();
    const shown = await page.getByLabel("One-time sign-in link").innerText();
    await page.getByRole("link", { name: "Done" }).click();
    await page.getByRole("row", { name: /mem@localhost/ }).getByRole("link", { name: "nothing yet" }).click();
    await page.getByLabel("Decides requests of billing-api").check();
    await page.getByRole("button", { name: "Save grants" }).click();
    await page.getByText("Saved. It holds from the next request on.").waitFor();
    return shown;
  });
  const mine = await world.agent.ask("/mine");
  await world.asStranger(async (page) => {
    await setPassword(page, link);
    await card(page, mine).getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Approved. The request is sent now, once.").waitFor();
    const navigation = page.getByRole("navigation", { name: "Main", exact: true });
    assert.equal(await navigation.getByRole("link", { name: "Agents" }).count(), 0);
    await page.goto("/app/agents");
    await page.getByText("not allowed", { exact: false }).or(page.getByText("owners and admins")).first().waitFor();
  }, { refusals: [403] });
});

test("an agent that went astray is stopped, and what it waits for is denied", async () => {
  const txn = await world.agent.ask("/astray");
  await world.asOwner(async (page) => {
    await page.goto("/app/agents");
    await page.getByRole("link", { name: "default-agent" }).click();
    await page.getByText("Deny all…").click();
    await page.getByRole("button", { name: "Disable and deny all" }).click();
    await page.getByText("Everything it waited for").waitFor();
    await page.goto(`/app/approvals/${txn}`);
    await page.getByText("nothing was sent").first().waitFor();
  });
});
