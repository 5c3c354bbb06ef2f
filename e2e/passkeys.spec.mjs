// Passkeys in a real browser, with Chromium's virtual authenticator.

import assert from "node:assert/strict";
import test from "node:test";

import { findings } from "./support/axe.mjs";
import { registerPasskey, withAuthenticator } from "./support/passkey.mjs";
import { World, card, opened } from "./support/world.mjs";

const world = World.forThisFile();

async function policy(document) {
  const answer = await world.admin("PUT", "/admin/policies/billing-api", document);
  assert.equal(answer.status, 200, await answer.text());
}

test("a passkey is registered, and signs its person in without a password", async () => {
  await world.asOwner(async (page) => {
    await withAuthenticator(page);
    await registerPasskey(page, "Laptop");
    await page.getByLabel("Name of Laptop").waitFor();
    // The session itself is the other visits' too, so it is forgotten here and not ended.
    await page.context().clearCookies();
    await page.goto("/sign-in");
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.waitForURL("**/app");
  });
});

test("what asks for a passkey is approved by the ceremony, from the inbox and the standalone page", async () => {
  await policy({ passkey_required: true });
  await world.asOwner(async (page) => {
    const authenticator = await withAuthenticator(page);
    const first = await world.agent.ask("/first");
    await registerPasskey(page, "Phone");
    await page.goto("/app/inbox");
    // A person who is not verified changes nothing.
    await authenticator.verify(false);
    await opened(page, first);
    await card(page, first).getByRole("button", { name: "Approve with passkey" }).click();
    await card(page, first).getByText("was not used, or it took too long").waitFor();
    await authenticator.verify(true);
    await card(page, first).getByRole("button", { name: "Approve with passkey" }).click();
    await page.getByText("Approved. The request is being sent.").waitFor();
    const second = await world.agent.ask("/second");
    await page.goto(`/approve/${second}`);
    await page.getByLabel(/Also allow every/).check();
    await page.getByRole("button", { name: "Approve with passkey" }).click();
    await page.getByText("Approved with a grant").waitFor();
  });
  await policy({});
});

test("a member proposes a policy, sees the difference, and applies it with their passkey", async () => {
  await policy({ auto_approve_methods: ["GET"] });
  const made = await world.admin("POST", "/admin/invitations", {
    email: "member@localhost", role: "member", credentials: [{ name: "billing-api", policy: true, approve: true }],
  });
  const { link } = await made.json();
  await world.asStranger(async (page) => {
    await withAuthenticator(page);
    const { setPassword } = await import("./support/world.mjs");
    await setPassword(page, link);
    await registerPasskey(page, "Key");
    await page.goto("/app/policies/billing-api");
    await page.getByLabel("Approvals needed").fill("2");
    await page.getByRole("button", { name: "Propose change" }).click();
    await page.getByText("It takes effect once you confirm it with your passkey.").waitFor();
    const row = page.getByRole("row", { name: /Approvals needed/ });
    assert.match(await row.innerText(), /1[\s\S]*2/);
    for (const colorScheme of ["light", "dark"]) {
      // Without motion: colors on their way from one scheme to the other are neither's.
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      assert.deepEqual(await findings(page), [], colorScheme);
    }
    await page.getByRole("button", { name: "Confirm with passkey" }).click();
    await page.getByText("Change confirmed. The policy applies from the next request.").waitFor();
  });
  const stored = await (await world.admin("GET", "/admin/policies/billing-api")).json();
  assert.equal(stored.min_approvals, 2);
  await policy({});
});
