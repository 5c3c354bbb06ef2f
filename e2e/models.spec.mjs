// Model scores: activity in, a look at one wallet, cards, plots and groups, in a browser.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { DESKTOP, PHONE, cutLabels } from "./support/layout.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile({}, prepare);
const wallet = (number) => `0x${number.toString(16).padStart(40, "0")}`;

/** Twelve users that pass coins along and go home to one address, and their first bridgings. */
async function prepare() {
  const transfers = ["chain,kind,from,to"];
  const bridgings = ["address,first_bridge_unix,bridge_volume_usd"];
  for (let number = 1; number <= 12; number++) {
    transfers.push(`polygon,erc20,${wallet(number)},${wallet((number % 12) + 1)}`);
    transfers.push(`polygon,erc20,${wallet(number)},${wallet(99)}`);
    bridgings.push(`${wallet(number)},${1_640_000_000 + number * 60},100`);
  }
  const directory = await mkdtemp(join(tmpdir(), "px-models-"));
  const files = [join(directory, "transfers.csv"), join(directory, "bridgings.csv")];
  await writeFile(files[0], `${transfers.join("\n")}\n`);
  await writeFile(files[1], `${bridgings.join("\n")}\n`);
  try {
    await world.server.command("activity", "import", ...files);
  } finally {
    await rm(directory, { recursive: true });
  }
}

test("the page shows the score that the API answers, with reasons in words", async () => {
  const headers = { "X-API-KEY": world.server.bootstrap.api_key };
  const answer = await fetch(world.server.url(`/v2/models/score/${wallet(3)}`), { headers });
  assert.equal(answer.status, 200);
  const { score } = (await answer.json()).details.models.aggregate;
  assert.ok(score >= 0 && score <= 100, `${score}`);
  await world.asOwner(async (page) => {
    await page.goto("/app/models");
    await page.getByLabel("Address").fill(wallet(3));
    await page.getByRole("button", { name: "Show score" }).click();
    const verdict = page.getByRole("region", { name: "Score", exact: true });
    await verdict.getByText(score.toFixed(2)).waitFor();
    await page.getByRole("heading", { name: /^polygon: .* weight/ }).waitFor();
    await page.getByRole("rowheader", { name: "users in the group that direct transfers connect it to" }).first().waitFor();
    await page.getByRole("img", { name: "Scores served" }).waitFor();
  });
});

test("the page begins with the lookup, then one table of headlines; the rest is closed", async () => {
  for (const viewport of [DESKTOP, PHONE]) {
    await world.asOwner(async (page) => {
      await page.goto("/app/models");
      const quality = page.getByRole("region", { name: "Model quality" });
      const tables = quality.getByRole("table");
      assert.equal(await tables.count(), 1, "the tables that are shown");
      const headlines = await tables.getByRole("rowheader").allInnerTexts();
      assert.equal(new Set(headlines).size, headlines.length, "one line for each model");
      const rest = quality.locator("details", { hasText: "All evaluations" });
      assert.equal(await rest.getAttribute("open"), null);
      const order = [page.locator("main form[role=search]").first(), quality.getByRole("heading").first(), tables, rest];
      const tops = [];
      for (const part of order) tops.push((await part.boundingBox()).y);
      assert.deepEqual(tops, tops.toSorted((one, two) => one - two), "lookup, heading, headlines, rest");
      assert.equal(await page.locator("main form, main table").first().getAttribute("role"), "search");
      await rest.getByText("All evaluations", { exact: true }).click();
      assert.equal(await tables.count(), 2);
      assert.ok((await tables.last().getByRole("row").count()) > headlines.length + 1, "all of them");
    }, { viewport });
  }
});

test("cards, plots and suspected groups stand on the page, on a phone too", async () => {
  for (const viewport of [DESKTOP, PHONE]) {
    await world.asOwner(
      async (page) => {
        await page.goto("/app/models");
        await page.getByRole("heading", { name: "Model quality" }).waitFor();
        assert.equal(await page.getByRole("img", { name: "ROC curve", exact: true }).isVisible(), false);
        await page.getByText("All evaluations", { exact: true }).click();
        for (const name of ["ROC curve", "Precision and recall", "Calibration", "Scores"]) {
          await page.getByRole("img", { name, exact: true }).waitFor();
        }
        await page.getByText("partly circular").waitFor();
        await page.getByText("12 members sent to").waitFor();
        await page.getByText("Picture", { exact: true }).first().click();
        await page.getByRole("img", { name: /^Group of 0x/ }).first().waitFor();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
        assert.equal(wide, false, "nothing is wider than the screen");
        assert.ok(await page.locator("svg text").count() > 0);
        assert.deepEqual(await page.evaluate(cutLabels), [], "labels of charts");
      },
      { viewport },
    );
  }
});

test("what is no address is said so, and a wallet without activity has too little data", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/models?address=vitalik.eth");
    await page.getByText("Enter an address").waitFor();
    await page.goto(`/app/models?address=${wallet(77)}`);
    await page.getByText("Too little data").first().waitFor();
  });
});
