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
  "/app/new/webhook", "/app/verification", "/app/models", "/app/inbox?q=nothing",
];

for (const colorScheme of ["light", "dark"]) {
  test(`no page has a finding, ${colorScheme}`, async () => {
    const txn = await world.agent.ask(`/audit-${colorScheme}`);
    await world.asOwner(async (page) => {
      await withAuthenticator(page);
      await registerPasskey(page, `Key ${colorScheme}`);
      const found = {};
      for (const path of [...PAGES, `/app/approvals/${txn}`, `/approve/${txn}`]) {
        await page.goto(path);
        const here = await findings(page);
        if (here.length > 0) found[path] = here;
      }
      assert.deepEqual(found, {});
    }, { colorScheme });
    await world.asStranger(async (page) => {
      await page.goto("/sign-in");
      assert.deepEqual(await findings(page), []);
    }, { colorScheme });
  });
}
