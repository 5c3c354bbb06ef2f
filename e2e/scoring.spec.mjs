// The developer portal: weights, keys, the explorer, issuers and the catalogue, in a browser.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { Issuer } from "./support/issuer.mjs";
import { DESKTOP, PHONE, cutLabels } from "./support/layout.mjs";
import { reloadUntil } from "./support/reload.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile({}, prepare);
const issuer = new Issuer();
const FIRST = `0x${"1a".repeat(20)}`;
const SECOND = `0x${"2b".repeat(20)}`;

/** A call of the API with a key. */
function api(path, { key = world.server.bootstrap.api_key, ...options } = {}) {
  const headers = { "X-API-KEY": key, "Content-Type": "application/json" };
  return fetch(world.server.url(path), { headers, ...options });
}

async function score(address, key) {
  const answer = await api(`/v2/stamps/${world.server.bootstrap.scorer_id}/score/${address}`, { key });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

/** Brings a credential in; what became of it. */
async function outcome(by, address, provider, nullifier) {
  const body = JSON.stringify([by.issue(address, provider, nullifier)]);
  const answer = await api(`/v2/stamps/${address}`, { method: "POST", body });
  const [item] = (await answer.json()).items;
  return item.error?.code ?? item.status;
}

async function bring(address, provider, nullifier) {
  assert.match(await outcome(issuer, address, provider, nullifier), /^(accepted|replaced)$/);
}

function editor() {
  return `/app/scorers/${world.server.bootstrap.scorer_id}`;
}

/** A trusted issuer, and two addresses with a credential of one account. */
async function prepare() {
  await world.asOwner(async (page) => {
    await page.goto("/app/issuers");
    await page.getByLabel("DID").fill(issuer.did);
    await page.getByLabel("Name").fill("Our own issuer");
    await page.getByRole("button", { name: "Add issuer" }).click();
    await page.getByText("Issuer added. Its credentials are accepted").waitFor();
  });
  await bring(FIRST, "Discord", "v1:one-account");
  await score(FIRST);
  await bring(SECOND, "Discord", "v1:one-account");
}

test("a weight is tried on stored addresses, saved, and changes the score that the API answers", async () => {
  assert.equal((await score(FIRST)).score, "0.51600");
  await world.asOwner(async (page) => {
    await page.goto(editor());
    const weight = page.locator('[name="weight.Discord"]');
    await weight.fill("21.5");
    await page.locator("[data-alone]").getByText("Discord").waitFor();
    await page.getByRole("button", { name: "Preview" }).click();
    const preview = page.getByRole("region", { name: "What this draft would change" });
    await preview.getByRole("img", { name: "Scores of these addresses" }).waitFor();
    assert.ok(await preview.locator("svg text").count() > 0);
    for (const viewport of [PHONE, DESKTOP]) {
      await page.setViewportSize(viewport);
      assert.deepEqual(await page.evaluate(cutLabels), [], `labels of the chart at ${viewport.width} px`);
    }
    assert.match(await preview.innerText(), /Pass now\s+0 \(0 %\)\s+With this draft\s+1 \(50 %\)/);
    assert.equal(await weight.inputValue(), "21.5");
    assert.equal((await score(FIRST)).score, "0.51600", "a preview saves nothing");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Scorer saved. Each score is recomputed").waitFor();
    await page.getByRole("button", { name: "Recompute scores" }).click();
    await page.getByText("Recomputing stale scores").waitFor();
    await reloadUntil(page, page.getByText("All are up to date."));
  });
  const after = await score(FIRST);
  assert.deepEqual([after.score, after.passing_score], ["21.50000", true]);
});

test("who saves second is told, keeps the draft, and decides", async () => {
  await world.asOwner(async (mine) => {
    await mine.goto(editor());
    await mine.locator('[name="weight.Lens"]').fill("4");
    await world.asOwner(async (theirs) => {
      await theirs.goto(editor());
      await theirs.locator('[name="weight.Google"]').fill("9");
      await theirs.getByRole("button", { name: "Save" }).click();
      await theirs.getByText("Scorer saved. Each score is recomputed").waitFor();
    });
    await mine.getByRole("button", { name: "Save" }).click();
    await mine.getByRole("alert").getByText("someone else changed this scorer").waitFor();
    assert.equal(await mine.locator('[name="weight.Lens"]').inputValue(), "4");
    await mine.getByText("stored: 9").waitFor();
  }, { refusals: [409] });
});

test("a Stamp is found among many by the keyboard, and finding saves nothing", async () => {
  await world.asOwner(async (page) => {
    await page.goto(editor());
    await page.keyboard.press("/");
    await page.keyboard.type("github");
    await page.keyboard.press("Enter");
    const shown = await page.locator("[data-row]:visible").allInnerTexts();
    assert.equal(shown.length, 3);
    assert.ok(shown.every((text) => text.includes("githubContributionActivity")), shown.join());
    assert.equal(new URL(page.url()).pathname, editor());
  });
});

test("a key made in the portal works at once and no longer once it is revoked", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/api-keys");
    await page.getByRole("link", { name: "Add key" }).click();
    await page.getByLabel("Name").fill("checkout-server");
    await page.getByRole("button", { name: "Add key" }).click();
    const key = (await page.getByLabel("API key").innerText()).trim();
    assert.match(key, /^px_api_/);
    assert.equal((await score(FIRST, key)).address, FIRST);
    await page.getByRole("link", { name: "I have stored the key" }).click();
    await page.getByRole("img", { name: "Requests in the last 24 hours" }).waitFor();
    assert.ok(!(await page.content()).includes(key), "it is shown once");
    await page.getByText("Revoke…").click();
    await page.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByText("Requests with this key get 401").waitFor();
    assert.equal((await api("/v2/stamps/metadata", { key })).status, 401);
  });
});

test("history is asked for with a use case and approved by a person", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/api-keys");
    await page.getByRole("link", { name: "default", exact: true }).click();
    await page.getByLabel("Use case").fill("Rewards by the score of the snapshot");
    await page.getByRole("button", { name: "Request access" }).click();
    await page.getByRole("button", { name: "Approve history for default" }).click();
    await page.getByText("Access approved. The key can read history").waitFor();
  });
  const path = `/v2/stamps/${world.server.bootstrap.scorer_id}/score/${FIRST}/history?created_at=2999-01-01`;
  assert.equal((await api(path)).status, 200);
});

test("the explorer says why a deduplicated Stamp does not count and leads to the address that has it", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/explorer");
    await page.getByLabel("Address").fill(SECOND);
    await page.getByRole("button", { name: "Explore" }).click();
    const stamp = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "Discord" }) });
    assert.match(await stamp.innerText(), /Deduplicated.*The same account was verified first by 0x1a…1a1a1a1a/s);
    await stamp.getByRole("link", { name: "Show that address" }).click();
    await page.getByText("Counts with its full weight.").waitFor();
    assert.equal(await page.getByLabel("Address").inputValue(), FIRST);
  });
});

test("a revoked credential goes from the explorer and from the API", async () => {
  const address = `0x${"3c".repeat(20)}`;
  await bring(address, "Lens", "v1:lens-account");
  await world.asOwner(async (page) => {
    await page.goto(`/app/explorer?address=${address}`);
    await page.getByText("Revoke…").click();
    await page.getByLabel("Reason").fill("sold");
    await page.getByRole("button", { name: "Revoke the credential" }).click();
    await page.getByText("This address has no Stamps").waitFor();
  });
  assert.deepEqual((await score(address)).stamps, {});
});

test("every platform of the catalogue has a picture", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/catalogue");
    const sizes = await page.locator("img.tile-icon").evaluateAll((images) => Promise.all(images.map(async (image) => {
      image.loading = "eager";
      await image.decode();
      return image.naturalWidth;
    })));
    assert.ok(sizes.length > 20 && sizes.every((width) => width > 0), sizes.join());
  });
});

test("the catalogue says what its editor saved, until the built-in one is taken back", async () => {
  const discord = async () => {
    const platforms = await (await api("/v2/stamps/metadata")).json();
    const { connectMessage, groups } = platforms.find(({ id }) => id === "Discord");
    return [connectMessage, groups[0].stamps[0].description];
  };
  const builtIn = await discord();
  await world.asOwner(async (page) => {
    await page.goto("/app/catalogue");
    await page.getByText("This is the built-in catalogue").waitFor();
    await page.getByRole("link", { name: /^Discord/ }).click();
    await page.getByLabel("Prompt for a person who starts").fill("Show us that you talk to people.");
    await page.getByLabel("Row 1, description").fill("Talks to people");
    assert.deepEqual(await discord(), builtIn, "typing saves nothing");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("Catalogue saved. Programs read it from now on.").waitFor();
    assert.deepEqual(await discord(), ["Show us that you talk to people.", "Talks to people"]);
    await page.getByText("This workspace has its own catalogue").waitFor();
    await page.getByText("Restore…").click();
    await page.getByRole("button", { name: "Restore the built-in catalogue" }).click();
    await page.getByText("Built-in catalogue restored.").waitFor();
  });
  assert.deepEqual(await discord(), builtIn);
});

test("a removed issuer is trusted no more, and what it signed before counts on", async () => {
  const [another, address] = [new Issuer(), `0x${"4d".repeat(20)}`];
  await world.admin("POST", "/admin/issuers", { did: another.did, name: "Another issuer" });
  assert.equal(await outcome(another, address, "Lens", "v1:before"), "accepted");
  await world.asOwner(async (page) => {
    await page.goto("/app/issuers");
    const row = page.getByRole("row", { name: /Another issuer/ });
    await row.getByText("Remove…").click();
    await row.getByRole("button", { name: "Remove the issuer" }).click();
    await page.getByText("Issuer removed. Its new credentials are refused.").waitFor();
    await page.getByRole("row", { name: /Our own issuer/ }).waitFor();
    assert.equal(await row.count(), 0);
  });
  assert.equal(await outcome(another, address, "Discord", "v1:after"), "unknown_issuer");
  assert.deepEqual(Object.keys((await score(address)).stamps), ["Lens"]);
});

test("an import of credentials shows at a terminal how far it is", async () => {
  const directory = await mkdtemp(join(tmpdir(), "px-stamps-"));
  try {
    const file = join(directory, "stamps.jsonl");
    const stamp = (digit) => issuer.issue(`0x${digit.repeat(40)}`, "Lens", `v1:lens-${digit}`);
    await writeFile(file, [..."789"].map((digit) => JSON.stringify(stamp(digit))).join("\n"));
    const shown = await world.server.atTerminal("stamps", "import", file);
    assert.match(shown, / (\d[\d.]*) KiB\/\1 KiB/);
    assert.match(shown, /3 lines: 3 stored, 0 replaced/);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("recomputed scores show at a terminal how far they are", async () => {
  const cli = async (...args) => JSON.parse(await world.server.command(...args, "--json"));
  const { id } = await cli("scorer", "add", "terminal");
  for (const digit of "567") {
    const address = `0x${digit.repeat(40)}`;
    await bring(address, "Lens", `v1:terminal-${digit}`);
    assert.equal((await api(`/v2/stamps/${id}/score/${address}`)).status, 200);
  }
  await cli("scorer", "set-weights", String(id), "Lens=3");
  const shown = await world.server.atTerminal("scorer", "rescore", String(id));
  assert.match(shown, /scores .*\b[123]\/3\b/);
  assert.match(shown, /recomputed 3 of 3 stored scores/);
});

test("on a phone nothing is wider than the window, in the middle of work too", async () => {
  await world.asOwner(async (page) => {
    const width = () => page.evaluate(() => document.documentElement.scrollWidth);
    for (const address of [FIRST, SECOND]) {
      await page.goto(`/app/explorer?address=${address}`);
      await page.getByText("Revoke…").click();
      assert.equal(await width(), PHONE.width, `explorer of ${address}`);
    }
    await page.goto(editor());
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("region", { name: "What this draft would change" }).waitFor();
    assert.equal(await width(), PHONE.width, "preview");
    await page.getByText("More", { exact: true }).click();
    await page.getByRole("navigation", { name: "Main, phone" }).getByRole("link", { name: "Issuers" }).click();
    await page.waitForURL("**/app/issuers");
    assert.equal(await width(), PHONE.width, "issuers");
  }, { viewport: PHONE });
});
