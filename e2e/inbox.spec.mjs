// An inbox with a thousand pending requests.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import test from "node:test";

import { findings } from "./support/axe.mjs";
import { faintTexts } from "./support/contrast.mjs";
import { DESKTOP, PHONE } from "./support/layout.mjs";
import { World, card, opened } from "./support/world.mjs";

const PENDING = 1000;
const PAGE = 50;
const SIZES = { desktop: DESKTOP, phone: PHONE };
/** Directory for screenshots; none are taken without it. */
const PICTURES = process.env.PX_TEST_PICTURES;

const asked = [];
const world = World.forThisFile({}, async () => {
  await world.server.sql("UPDATE agents SET max_pending = 10000");
  for (let number = 0; number < PENDING; number += 1) {
    const body = JSON.stringify({ amount: 10 * number, currency: "eur", customer: `cus_${number}` });
    const word = `${String.fromCharCode(97 + (number % 26))}${"bcdef"[Math.floor(number / 26) % 5]}`;
    asked.push(await world.agent.ask(`/v1/${word}/payments-of-${"abcdefghij"[number % 10]}`, { body }));
  }
});

async function picture(page, name) {
  if (!PICTURES) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}/${name}.png` });
}

async function rows(page) {
  return page.locator("[data-request]").count();
}

/** Waits until `locator` has the focus. */
async function focused(locator) {
  await locator.and(locator.page().locator(":focus")).waitFor();
}

for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`a thousand requests are compact, readable and accessible (${size}, ${colorScheme})`, async () => {
      await world.asOwner(async (page) => {
        const readable = async (where) => {
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewport.width, where);
          assert.deepEqual((await page.evaluate(faintTexts)).faint, [], where);
          assert.deepEqual(await findings(page), [], where);
        };
        await page.goto("/app/inbox");
        await page.getByText(`${PAGE} of 1,000 pending`).waitFor();
        assert.equal(await rows(page), PAGE);
        const line = await card(page, asked[0]).locator("summary").first().boundingBox();
        assert.ok(line.height <= (size === "phone" ? 100 : 48), JSON.stringify(line));
        await readable("closed");
        await picture(page, `closed-${size}-${colorScheme}`);
        await opened(page, asked[1]);
        await opened(page, asked[2]);
        assert.equal(await page.locator("[data-row][open]").count(), 1, "one is open at a time");
        await readable("open");
        await picture(page, `open-${size}-${colorScheme}`);
      }, { colorScheme, viewport, reducedMotion: "reduce" });
    });
  }
}

test("the next fifty come to the end, and a filter is kept by them and by an answer", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.evaluate(() => { globalThis.notReloaded = true; });
    await page.getByRole("link", { name: "Show 50 more" }).click();
    await page.getByText(`${2 * PAGE} of 1,000 pending`).waitFor();
    await focused(card(page, asked[PAGE]));
    assert.equal(await rows(page), 2 * PAGE);
    assert.equal(await page.evaluate(() => globalThis.notReloaded), true);

    await page.getByLabel("Method").selectOption("Deletes");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("No pending request matches the filters.").waitFor();
    await page.getByRole("link", { name: "Clear filters" }).first().click();
    await page.waitForURL("**/app/inbox");
    await page.getByLabel("Method").selectOption("Writes");
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL("**kind=write*");
    const first = await opened(page, asked[0]);
    await first.getByText("Deny…").click();
    await first.getByRole("button", { name: "Deny this request" }).click();
    await page.getByText("Denied. Nothing was sent.").waitFor();
    await focused(card(page, asked[1]));
    assert.match(page.url(), /kind=write/);
    assert.equal(await card(page, asked[0]).count(), 0);
  });
});

test("the next fifty are a link without script", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.getByRole("link", { name: "Show 50 more" }).click();
    await page.waitForURL("**/app/inbox?after=*");
    assert.equal(await rows(page), PAGE);
    const row = page.locator("[data-request]").first();
    await row.locator("summary").first().click();
    await row.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Approved. The request is being sent.").waitFor();
  }, { javaScriptEnabled: false });
});

test("with keys a request is opened and approved, and the next one has the focus", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    const [first, second] = [page.locator("[data-request]").nth(0), page.locator("[data-request]").nth(1)];
    const [one, two] = [await first.getAttribute("id"), await second.getAttribute("id")];
    await page.keyboard.press("j");
    await focused(page.locator(`#${one}`));
    await page.keyboard.press("Enter");
    await page.locator(`#${one}`).getByRole("button", { name: "Approve", exact: true }).waitFor();
    await page.keyboard.press("a");
    await focused(page.locator(`#${one}`).getByRole("button", { name: "Approve", exact: true }));
    await page.keyboard.press("Enter");
    await page.getByText("Approved. The request is being sent.").waitFor();
    await focused(page.locator(`#${two}`));
    assert.equal((await world.agent.outcome(one.slice(2))).upstream_status, 200);
    // The same with the browser's own keys.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await focused(page.locator(`#${two}`).locator("summary").first());
    await page.keyboard.press("Enter");
    await page.locator(`#${two}`).getByRole("button", { name: "Approve", exact: true }).click();
    await page.locator(`#${two}`).waitFor({ state: "detached" });
  });
});

test("a request decided elsewhere leaves, and an open one stays and says so", async () => {
  const [read, other] = asked.slice(20, 22);
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    const open = await opened(page, read);
    await page.evaluate(() => { globalThis.notReloaded = true; });
    for (const txn of [read, other]) {
      const answer = await world.admin("POST", `/approvals/${txn}/deny`, {});
      assert.equal(answer.status, 200, await answer.text());
    }
    await card(page, other).waitFor({ state: "detached" });
    await open.getByText("This request has been decided or has expired.").waitFor();
    assert.equal(await open.getByRole("button", { name: "Approve", exact: true }).isDisabled(), true);
    await open.getByRole("link", { name: "Show the outcome" }).waitFor();
    assert.equal(await page.evaluate(() => globalThis.notReloaded), true);
  });
});

test("many new requests are offered and do not move what is read", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox?order=newest");
    await page.keyboard.press("j");
    const first = page.locator("[data-request]").first();
    const [id, before] = [await first.getAttribute("id"), await first.boundingBox()];
    const fresh = [];
    for (let number = 0; number < 3; number += 1) fresh.push(await world.agent.ask(`/v1/new/${"abc"[number]}`));
    await page.getByText("3 new requests", { exact: true }).waitFor();
    const after = await page.locator(`#${id}`).boundingBox();
    assert.equal(await page.locator("[data-request]").first().getAttribute("id"), id);
    assert.ok(Math.abs(after.y - before.y) < 80, `${before.y} ${after.y}`);
    await page.getByRole("link", { name: "Show", exact: true }).click();
    for (const txn of fresh) await card(page, txn).waitFor();
    assert.equal(await page.locator("[data-request]").first().getAttribute("id"), `r-${fresh[2]}`);
  });
});

test("after Approve the page of a request follows it to its answer", async () => {
  await world.asOwner(async (page) => {
    const txn = await world.agent.ask("/v1/follow");
    await page.goto(`/app/approvals/${txn}`);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    const answer = page.getByRole("region", { name: "Response" });
    await answer.getByText("Status 200").waitFor();
    assert.match(await answer.innerText(), /"you_sent": "Bearer \[REDACTED:billing-api\]"/);
    await picture(page, "outcome");
    assert.deepEqual(await findings(page), []);
  });
});
