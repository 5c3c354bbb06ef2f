// An automated audit of accessibility on every page, in both schemes. A proposed policy has its audit where one is
// proposed, in passkeys.spec.mjs.

import assert from "node:assert/strict";
import test from "node:test";

import { findings } from "./support/axe.mjs";
import { registerPasskey, withAuthenticator } from "./support/passkey.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile();

const PAGES = [
  "/app", "/app/inbox", "/app/policies", "/app/policies/billing-api", "/app/agents", "/app/agents?q=nobody", "/app/new/agent",
  "/app/credentials", "/app/credentials/billing-api", "/app/new/credential", "/app/people", "/app/people?q=nobody",
  "/app/new/person", "/app/audit", "/app/usage", "/app/audit?sort=who", "/app/settings", "/app/account", "/app/scorers", "/app/scorers/1", "/app/api-keys",
  "/app/explorer", "/app/catalogue", "/app/issuers", "/app/decided", "/app/tasks", "/app/notifications", "/app/brand", "/app/webhooks",
  "/app/new/webhook", "/app/verification", "/app/verification/strategy", "/app/reviews", "/app/score-jobs", "/app/scorers/1/population", "/app/models", "/app/inbox?q=nothing", "/app/new/api-key",
  "/app/new/scorer", "/app/new/platform", "/app/catalogue/ETH", "/app/import/credentials", "/app/nothing",
];

/** Makes one of everything that has a page of its own; where those pages are. */
async function singles(colorScheme) {
  const made = async (path, body) => {
    const answer = await world.admin("POST", path, body);
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return answer.json();
  };
  const person = await made("/admin/invitations", { email: `${colorScheme}@people.example`, role: "member" });
  // Nothing listens there: what it should have heard stays listed.
  const hook = await made("/admin/webhooks", { url: "https://127.0.0.1:9/in" });
  const key = await made("/admin/api-keys", { name: colorScheme });
  const txn = await world.agent.ask(`/heard-${colorScheme}`);
  await world.agent.withdraw(txn);
  const { deliveries } = await (await world.admin("GET", `/admin/webhooks/${hook.id}/deliveries`)).json();
  const { agents } = await (await world.admin("GET", "/admin/agents")).json();
  return {
    link: new URL(person.link).pathname,
    pages: [
      `/app/agents/${agents[0].id}`, `/app/people/${person.id}`, `/app/webhooks/${hook.id}`,
      `/app/deliveries/${deliveries[0].id}`, `/app/api-keys/${key.id}`,
    ],
  };
}

/** A form that was refused, and the open panel of an approval with a grant. */
async function inTheMiddle(page, txn) {
  const found = {};
  await page.goto("/app/brand");
  await page.getByLabel("Accent color").fill("red");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Must be six hex digits such as #4338ca").waitFor();
  found.refused = await findings(page);
  await page.goto(`/app/approvals/${txn}`);
  await page.locator("summary", { hasText: "Approve for" }).first().click();
  found.panel = await findings(page);
  return found;
}

for (const colorScheme of ["light", "dark"]) {
  test(`no page has a finding, ${colorScheme}`, async () => {
    const txn = await world.agent.ask(`/audit-${colorScheme}`);
    const { link, pages } = await singles(colorScheme);
    await world.asOwner(async (page) => {
      await withAuthenticator(page);
      await registerPasskey(page, `Key ${colorScheme}`);
      const found = {};
      for (const path of [...PAGES, ...pages, `/app/approvals/${txn}`, `/approve/${txn}`]) {
        await page.goto(path);
        const here = await findings(page);
        if (here.length > 0) found[path] = here;
      }
      assert.deepEqual(found, {});
      assert.deepEqual(await inTheMiddle(page, txn), { refused: [], panel: [] });
    }, { colorScheme, refusals: [404, 422] });
    await world.asStranger(async (page) => {
      for (const path of ["/sign-in", link, "/link/unknown"]) {
        await page.goto(path);
        assert.deepEqual(await findings(page), [], path);
      }
    }, { colorScheme, refusals: [404] });
  });
}
