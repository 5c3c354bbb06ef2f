// The self-check page: a holder sees what counts, what does not and why, and asks for a review that a manager decides.

import assert from "node:assert/strict";
import { test } from "node:test";

import { findings } from "./support/axe.mjs";
import { answers, holder, inject, refuse } from "./support/holder.mjs";
import { Issuer } from "./support/issuer.mjs";
import { PHONE, SIZES } from "./support/layout.mjs";
import { World } from "./support/world.mjs";

// A folder for pictures to look at.
const PICTURES = process.env.PX_TEST_PICTURES;
const FIRST = holder(21);
const SECOND = holder(22);
const issuer = new Issuer();

const world = World.forThisFile({}, prepare);
const here = () => `/check/${world.server.bootstrap.scorer_id}`;

async function prepare() {
  const { scorer_id: scorer } = world.server.bootstrap;
  await manage("POST", "/admin/issuers", { did: issuer.did, name: "Ours" });
  const terms = { threshold: "3", weights: { Discord: "2", Google: "1.5", Lens: "1" } };
  await manage("PATCH", `/admin/scorers/${scorer}`, { ...terms, revision: 1 });
  await manage("POST", "/admin/api-keys", {
    name: "self-check", kind: "publishable", scorer_id: scorer, origins: [world.server.base], stamps_tier: 3,
  });
  const { platforms } = await (await world.admin("GET", "/admin/catalogue")).json();
  platforms.find(({ id }) => id === "Lens").url = "https://lens.example/stamp";
  await manage("PUT", "/admin/catalogue", { platforms });
  await bring(FIRST.address, "Discord", "v1:shared-account");
  await bring(SECOND.address, "Google", "v1:google");
  await bring(SECOND.address, "Discord", "v1:shared-account");
  await bring(SECOND.address, "Twitter", "v1:twitter");
  // Who is scored first holds the account that both verified.
  for (const { address } of [FIRST, SECOND]) {
    const headers = { "X-API-KEY": world.server.bootstrap.api_key };
    const answer = await fetch(world.server.url(`/v2/stamps/${scorer}/score/${address}`), { headers });
    assert.equal(answer.status, 200);
  }
}

async function manage(method, path, body) {
  const answer = await world.admin(method, path, body);
  assert.ok(answer.ok, await answer.clone().text());
  return answer.json();
}

async function bring(address, provider, nullifier) {
  const headers = { "X-API-KEY": world.server.bootstrap.api_key, "Content-Type": "application/json" };
  const body = JSON.stringify([issuer.issue(address, provider, nullifier)]);
  const answer = await fetch(world.server.url(`/v2/stamps/${address.toLowerCase()}`), { method: "POST", headers, body });
  assert.equal((await answer.json()).items[0].status, "accepted");
}

/** Opens the page in a browser with a wallet of this account. */
async function asHolder(account, body, { on, wallets = 1, visit = {} } = {}) {
  await world.asStranger(async (page) => {
    await page.exposeFunction("askHolder", answers(account, on));
    const offered = Array.from({ length: wallets }, (_, number) => ({ name: `Wallet ${number + 1}` }));
    await page.addInitScript(inject, { wallets: offered, announce: wallets > 1 });
    await page.goto(here());
    await body(page);
  }, visit);
}

async function isAccessible(page) {
  assert.deepEqual(await findings(page), []);
  const { scroll, window } = await page.evaluate(() => ({
    scroll: document.documentElement.scrollWidth, window: globalThis.innerWidth,
  }));
  assert.equal(scroll, window, "nothing is wider than the screen");
}

for (const colorScheme of ["light", "dark"]) {
  test(`a holder sees what counts, what does not and what would help, ${colorScheme}, on a phone and a desktop`, async () => {
    await asHolder(SECOND, async (page) => {
      await page.getByText("you pass with").waitFor();
      await isAccessible(page);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("You do not pass yet").waitFor();
      assert.equal(await page.locator("[data-score]").textContent(), "1.5");
      const row = (title, text) => page.getByRole("region", { name: title }).getByRole("listitem").filter({ hasText: text });
      await row("What counts", "Google").waitFor();
      await row("What does not count, and why", "Another address verified the same account first.").waitFor();
      await row("What does not count, and why", "This score does not use this Stamp.").waitFor();
      const link = row("What would help", "Lens").getByRole("link", { name: "Get it at Lens" });
      assert.equal(await link.getAttribute("href"), "https://lens.example/stamp");
      for (const viewport of [undefined, PHONE]) {
        if (viewport) await page.setViewportSize(viewport);
        await isAccessible(page);
      }
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("Signed out.").waitFor();
    }, { visit: { colorScheme } });
  });
}

test("a holder asks for a review, a manager decides it with a reason, and the holder reads it", async () => {
  await asHolder(SECOND, async (page) => {
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Reason").fill("The other address is mine as well.");
    await page.getByRole("button", { name: "Ask for a review" }).click();
    await page.getByText("It is not decided yet.").waitFor();
    assert.equal(await page.getByLabel("Reason").isVisible(), false, "one review at a time");
  });
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.getByRole("link", { name: "Reviews" }).click();
    await page.getByRole("link", { name: SECOND.address.toLowerCase() }).click();
    await page.getByText("The other address is mine as well.").waitFor();
    await isAccessible(page);
    await page.setViewportSize(PHONE);
    await isAccessible(page);
    await page.getByLabel("Reason").fill("Please erase the other address first.");
    await page.getByRole("button", { name: "Decline" }).click();
    await page.getByText("Declined by").waitFor();
  });
  await asHolder(SECOND, async (page) => {
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Please erase the other address first.").waitFor();
    await page.getByLabel("Reason").fill("Again.");
    await page.getByRole("button", { name: "Ask for a review" }).click();
    await page.locator("[data-review-status]").filter({ hasText: /24 hours|a day|tomorrow/ }).waitFor();
  }, { visit: { refusals: [409, 429] } });
});

test("a refusal in the wallet, no wallet and several wallets are told in words", async () => {
  await asHolder(FIRST, async (page) => {
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("You declined the request in your wallet. Nothing was signed.").waitFor();
  }, { on: { personal_sign: refuse(4001) } });
  await asHolder(FIRST, async (page) => {
    await page.getByText("This browser has no wallet.").waitFor();
    await isAccessible(page);
  }, { wallets: 0 });
  await asHolder(FIRST, async (page) => {
    await page.getByRole("button", { name: "Sign in with Wallet 2" }).click();
    await page.getByRole("heading", { name: "Your score", exact: true }).waitFor();
  }, { wallets: 2 });
});

test("the page at another address says where it works", async () => {
  const elsewhere = new URL(here(), world.server.base);
  elsewhere.hostname = elsewhere.hostname === "localhost" ? "127.0.0.1" : "localhost";
  const url = world.server.url(here());
  await world.asStranger(async (page) => {
    await page.addInitScript(inject, { wallets: [{ name: "Wallet" }], announce: false });
    await page.goto(elsewhere.href);
    await page.getByRole("alert").filter({ hasText: "This page is set up for another address." }).waitFor();
    assert.equal(await page.getByRole("link", { name: url }).getAttribute("href"), url);
    assert.equal(await page.getByRole("button", { name: "Sign in" }).isVisible(), false);
    await isAccessible(page);
    await page.getByRole("link", { name: url }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
  });
});

/** Makes the list one of tokens, for which the page asks. No chain is needed to see the form. */
async function asksForTokens(route) {
  if (route.request().method() !== "POST") return route.continue();
  const response = await route.fetch();
  const check = await response.json();
  for (const stamp of check.suggestions) if (stamp.issued_here) stamp.issued_here = "token_ids";
  return route.fulfill({ response, json: check });
}

test("a holder asks this server for a Stamp of its own, and gets it only if its rule holds", async () => {
  const { scorer_id } = world.server.bootstrap;
  const list = { name: "EarlyMember", description: "Joined in the first year", scorer_id, weight: "3" };
  await manage("POST", "/admin/allow-lists", list);
  await manage("POST", "/admin/allow-lists/EarlyMember/addresses", { addresses: [FIRST.address.toLowerCase()] });
  const ask = async (page) => {
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("You do not pass yet").waitFor();
    await page.getByText("Allow lists: Joined in the first year", { exact: true }).waitFor();
    const button = page.getByRole("button", { name: "Get it here: EarlyMember" });
    for (const viewport of SIZES) {
      await page.setViewportSize(viewport);
      await isAccessible(page);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/own-stamp-${viewport.width}.png`, fullPage: true });
    }
    await button.focus();
    await page.keyboard.press("Enter");
  };
  await asHolder(SECOND, async (page) => {
    await page.route("**/check", asksForTokens);
    await page.getByRole("button", { name: "Sign in" }).click();
    const tokens = page.getByLabel("Token ids, separated by spaces");
    await tokens.waitFor();
    for (const viewport of SIZES) {
      await page.setViewportSize(viewport);
      await isAccessible(page);
      const { width } = await tokens.boundingBox();
      assert.ok(width >= 200, `room for ids at ${viewport.width} px: ${width}`);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/own-stamp-items-${viewport.width}.png`, fullPage: true });
    }
  });
  await asHolder(SECOND, async (page) => {
    await ask(page);
    await page.getByText("the address is not on this list").waitFor();
    await isAccessible(page);
  });
  await asHolder(FIRST, async (page) => {
    await ask(page);
    await page.getByText("You have EarlyMember.").waitFor();
    await page.getByText("You pass", { exact: true }).waitFor();
    assert.equal(await page.locator("[data-score]").textContent(), "5");
    await page.getByRole("region", { name: "What counts" }).getByRole("listitem").filter({ hasText: "EarlyMember" }).waitFor();
  }, { visit: { colorScheme: "dark" } });
});
