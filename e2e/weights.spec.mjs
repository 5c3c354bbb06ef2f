// The weights editor: what a draft amounts to while it is typed, what is wrong with it, and saving it by keys alone.

import assert from "node:assert/strict";
import test from "node:test";

import { World } from "./support/world.mjs";

const world = World.forThisFile({});
const NUMBER = "Enter a number such as 1.5, with at most five decimal places.";

function editor() {
  return `/app/scorers/${world.server.bootstrap.scorer_id}`;
}

/** The field of a weight. */
function weight(page, stamp) {
  return page.locator(`[name="weight.${stamp}"]`);
}

/** The stored scorer. */
async function stored() {
  const answer = await world.admin("GET", `/admin/scorers/${world.server.bootstrap.scorer_id}`);
  return answer.json();
}

/** A number of the page in hundred-thousandths, as weights are stored. */
function units(text) {
  const [whole, fraction = ""] = text.trim().split(".");
  return Number(whole) * 100_000 + Number(fraction.padEnd(5, "0"));
}

test("sum, threshold and what is enough follow every key", async () => {
  const before = await stored();
  await world.asOwner(async (page) => {
    await page.goto(editor());
    const sum = async () => units(await page.locator("[data-sum]").innerText());
    const all = await sum();
    const discord = weight(page, "Discord");
    const others = all - units(await discord.inputValue());
    await discord.fill("");
    assert.equal(await sum(), others, "no weight is none");
    for (const [key, typed] of [["2", 2], ["1", 21], [".", null], ["5", 21.5], ["0", 21.5], ["3", 21.503]]) {
      await discord.press(key);
      assert.equal(await sum(), typed === null ? others : others + Math.round(typed * 100_000), `after ${key}`);
      assert.equal(await discord.getAttribute("aria-invalid"), typed === null ? "true" : null, `after ${key}`);
    }
    const alone = page.locator("[data-alone]");
    assert.match(await alone.innerText(), /^Discord 21\.503/);
    await page.getByLabel("Threshold").fill("21.504");
    assert.equal(await page.locator("[data-needed]").innerText(), "21.504");
    assert.equal(await alone.innerText(), "none");
    assert.match(await page.locator("[data-together]").innerText(), /^At least 2 Stamps, for example Discord \+ /);
    await page.getByLabel("Stamp name").fill("Our#Own");
    await page.getByLabel("Stamp weight").fill("30");
    assert.match(await alone.innerText(), /^Our#Own 30/);
    assert.equal(await sum(), others + units("21.503") + units("30"));
  });
  assert.deepEqual(await stored(), before, "typing saves nothing");
});

test("what is no number is named where it stands, and nothing that was typed is lost", async () => {
  const before = await stored();
  await world.asOwner(async (page) => {
    await page.goto(editor());
    await weight(page, "Discord").fill("1,5");
    await weight(page, "Google").fill("2.25");
    await weight(page, "Lens").fill("-1");
    await page.getByLabel("Name", { exact: true }).fill("Forum");
    await page.getByLabel("Stamp name").fill("two words");
    await page.getByLabel("Stamp weight").fill("4");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("Not saved. Fix the 3 fields marked below.").waitFor();
    for (const [stamp, typed] of [["Discord", "1,5"], ["Lens", "-1"]]) {
      const field = weight(page, stamp);
      assert.equal(await field.inputValue(), typed);
      assert.equal(await field.getAttribute("aria-invalid"), "true");
      assert.ok((await page.locator("[data-row]", { has: field }).innerText()).includes(NUMBER), stamp);
    }
    await page.getByText("Enter the name that issuers sign").waitFor();
    assert.equal(await page.locator("[data-row] .problem").count(), 2, "the others are not blamed");
    assert.equal(await weight(page, "Google").inputValue(), "2.25");
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Forum");
    assert.equal(await page.getByLabel("Stamp name").inputValue(), "two words");
    assert.equal(await page.getByLabel("Stamp weight").inputValue(), "4");
    assert.deepEqual(await stored(), before);
    await weight(page, "Discord").fill("1.5");
    await weight(page, "Lens").fill("");
    await page.getByLabel("Stamp name").fill("TwoWords");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("status").getByText("Scorer saved. Each score is recomputed").waitFor();
  }, { refusals: [422] });
  const { name, weights } = await stored();
  const { Discord, Google, Lens, TwoWords } = weights;
  assert.deepEqual([name, Discord, Google, Lens, TwoWords], ["Forum", "1.50000", "2.25000", undefined, "4.00000"]);
});

test("a weight is found, changed and saved by keys alone", async () => {
  await world.asOwner(async (page) => {
    const { keyboard } = page;
    await page.goto(editor());
    await keyboard.press("/");
    await keyboard.type("Discord");
    // Past the box next to the search, to the only weight that is left.
    await keyboard.press("Tab");
    await keyboard.press("Tab");
    assert.equal(await weight(page, "Discord").evaluate((field) => field === document.activeElement), true);
    await keyboard.type("7.125");
    await keyboard.press("Enter");
    await page.getByRole("status").getByText("Scorer saved. Each score is recomputed").waitFor();
    assert.equal((await stored()).weights.Discord, "7.12500");
  });
});

test("the button that saves is reached from a weight by Tab", async () => {
  await world.asOwner(async (page) => {
    const { keyboard } = page;
    await page.goto(editor());
    await weight(page, "Discord").focus();
    await keyboard.press("ControlOrMeta+a");
    await keyboard.type("8");
    const focused = () => page.evaluate(() => document.activeElement.textContent.trim());
    for (let steps = 0; (await focused()) !== "Save"; steps++) {
      assert.ok(steps < 300, "Tab leads to Save");
      await keyboard.press("Tab");
    }
    await keyboard.press("Space");
    await page.getByRole("status").getByText("Scorer saved. Each score is recomputed").waitFor();
  });
  assert.equal((await stored()).weights.Discord, "8.00000");
});
