// Inviting somebody, granting them a credential, and what they then see.

import assert from "node:assert/strict";
import test from "node:test";

import { PASSWORD, World, card, setPassword, signIn } from "./support/world.mjs";

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

test("somebody changes their own password, and their other browser is signed out", async () => {
  const made = await world.admin("POST", "/admin/members", { email: "pat@localhost", role: "admin" });
  assert.equal(made.status, 201);
  const { link } = await made.json();
  const other = "four unrelated words here";
  const elsewhere = await world.asStranger(async (page) => {
    await setPassword(page, link);
    return page.context().storageState();
  });
  await world.asStranger(async (page) => {
    await signIn(page, "pat@localhost", PASSWORD);
    await page.goto("/app/account");
    await page.getByLabel("Present password").fill("not this one at all");
    await page.getByLabel("New password").fill(other);
    await page.getByLabel("The same again").fill(other);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("That is not your present password. Nothing was changed.").waitFor();
    await page.getByLabel("Present password").fill(PASSWORD);
    await page.getByLabel("New password").fill(other);
    await page.getByLabel("The same again").fill(other);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Changed. Every other session of yours has ended.").waitFor();
  }, { refusals: [422] });
  await world.asStranger(async (page) => {
    await page.goto("/app/account");
    await page.waitForURL("**/sign-in**");
  }, { storageState: elsewhere });
});
