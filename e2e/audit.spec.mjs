// An automated audit of accessibility (axe-core, WCAG 2.2 A and AA) on every page, in both schemes.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import test from "node:test";

import { registerPasskey, withAuthenticator } from "./support/passkey.mjs";
import { World } from "./support/world.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const world = World.forThisFile();

/** What axe finds on the page: rule and the first element of each. */
async function findings(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(
    (tags) => globalThis.axe.run(document, { runOnly: { type: "tag", values: tags } }),
    TAGS,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`);
}

const PAGES = [
  "/app/inbox", "/app/policies", "/app/policies/billing-api", "/app/agents", "/app/agents?q=nobody", "/app/new/agent",
  "/app/credentials", "/app/credentials/billing-api", "/app/new/credential", "/app/people", "/app/people?q=nobody",
  "/app/new/person", "/app/audit", "/app/settings", "/app/account", "/app/scorers", "/app/scorers/1", "/app/api-keys",
  "/app/explorer", "/app/catalogue", "/app/issuers", "/app/decided", "/app/notifications", "/app/brand", "/app/webhooks",
  "/app/new/webhook", "/app/verification", "/app/models", "/app/inbox?q=nothing", "/app/new/api-key",
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
  const txn = await world.agent.ask(`/heard-${colorScheme}`);
  await world.agent.withdraw(txn);
  const { deliveries } = await (await world.admin("GET", `/admin/webhooks/${hook.id}/deliveries`)).json();
  const { agents } = await (await world.admin("GET", "/admin/agents")).json();
  return {
    link: new URL(person.link).pathname,
    pages: [
      `/app/agents/${agents[0].id}`, `/app/people/${person.id}`, `/app/webhooks/${hook.id}`,
      `/app/deliveries/${deliveries[0].id}`,
    ],
  };
}

/** A form that was refused, and the open panel of an approval with a grant. */
async function inTheMiddle(page, txn) {
  const found = {};
  await page.goto("/app/brand");
  await page.getByLabel("Accent colour").fill("red");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Six hex digits like #4338ca").waitFor();
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
