// Inviting somebody, granting them a credential, and what they then see.

import assert from "node:assert/strict";
import test from "node:test";

import { PASSWORD, World, opened, setPassword, signIn } from "./support/world.mjs";

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
    await page.getByRole("button", { name: "Save rights" }).click();
    await page.getByText("Saved. It applies from the next request.").waitFor();
    return shown;
  });
  const mine = await world.agent.ask("/mine");
  await world.asStranger(async (page) => {
    await setPassword(page, link);
    await page.goto("/app/inbox");
    await (await opened(page, mine)).getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Approved. The request is being sent.").waitFor();
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
    await page.getByText("Its pending requests that you may decide were denied").waitFor();
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
    await page.getByLabel("Current password").fill("not this one at all");
    await page.getByLabel("New password").fill(other);
    await page.getByLabel("Repeat password").fill(other);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("The current password is wrong. Nothing was changed.").waitFor();
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill(other);
    await page.getByLabel("Repeat password").fill(other);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Password changed. All your other sessions have ended.").waitFor();
  }, { refusals: [422] });
  await world.asStranger(async (page) => {
    await page.goto("/app/account");
    await page.waitForURL("**/sign-in**");
  }, { storageState: elsewhere });
});
