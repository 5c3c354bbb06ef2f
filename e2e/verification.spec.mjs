// The page of verification: a proof that an issuer signed on the command line, seen by the owner.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { World } from "./support/world.mjs";

const PROVED = `0x${"1a".repeat(20)}`;
const OTHER = `0x${"2b".repeat(20)}`;

const world = World.forThisFile({}, prepare);

/** An issuer, and a proof that it signs. */
async function prepare() {
  const directory = await mkdtemp(join(tmpdir(), "px-proofs-"));
  try {
    const key = join(directory, "issuer.key");
    const { issuer } = JSON.parse(await world.server.command("proofs", "keygen", key, "--json"));
    await world.server.command("proofs", "issuer", "add", issuer, "--kinds", "gov-id,phone", "--name", "Our verifier");
    const signed = await world.server.command(
      "proofs", "sign", PROVED, "--kind", "gov-id", "--network", "optimism", "--action-id", "123456789",
      "--nullifier", "7", "--key", `file:${key}`,
    );
    await writeFile(join(directory, "proofs.jsonl"), signed);
    await world.server.command("proofs", "import", join(directory, "proofs.jsonl"));
  } finally {
    await rm(directory, { recursive: true });
  }
}

test("the owner sees networks, issuers and proofs, and why an address has proved something or not", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: "Verification" }).click();
    const networks = page.getByRole("region", { name: "Networks" });
    await networks.getByRole("row", { name: /optimism 10 .* registry, blocks counted here/ }).waitFor();
    await page.getByRole("region", { name: "Issuers" }).getByRole("row", { name: /Our verifier Government ID, Phone/ }).waitFor();
    assert.equal(await page.locator("svg desc").first().textContent(), "1 proof registered in 30 days, by kind and day.");

    await page.getByLabel("Address").fill(PROVED);
    await page.getByRole("button", { name: "Check" }).click();
    const checked = page.getByRole("region", { name: "What it has proved" });
    await checked.getByRole("row", { name: /Government ID optimism Yes It expires/ }).waitFor();
    await checked.getByRole("row", { name: /Phone optimism No It never proved this/ }).waitFor();

    await page.getByLabel("Action id").fill("5");
    await page.getByRole("button", { name: "Check" }).click();
    await checked.getByRole("row", { name: /Government ID optimism No It proved this for another action only/ }).waitFor();

    await page.getByLabel("Address").fill(OTHER);
    await page.getByRole("button", { name: "Check" }).click();
    await checked.getByRole("row", { name: /Government ID optimism No It never proved this/ }).waitFor();
    await page.getByLabel("Address").fill("vitalik.eth");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("That is no address").waitFor();
  });
});
