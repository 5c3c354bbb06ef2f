// The page of verification: a proof that an issuer signed on the command line, seen by the owner.

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { World } from "./support/world.mjs";

const PROVED = `0x${"1a".repeat(20)}`;
const OTHER = `0x${"2b".repeat(20)}`;

const REVOKED = `0x${"3c".repeat(20)}`;
const BLOCKED = `0x${"4d".repeat(20)}`;
const EXPIRED = `0x${"5e".repeat(20)}`;
/** Nobody listens there. */
const NETWORKS = {
  "base-sepolia": { rpc: ["http://127.0.0.1:1"], contracts: { unique: { phone: `0x${"cc".repeat(20)}` } } },
};

/** Everything that an address is asked for, in the order of the page. */
const ASKED = {
  "optimism": ["Government ID", "Electronic passport", "Phone", "Biometrics", "US residence", "Clean hands"],
  "base-sepolia": ["Government ID", "Electronic passport", "Phone", "Biometrics", "Clean hands"],
  "optimism-goerli": ["US residence", "Clean hands"],
  "ethereum": ["Government ID", "Electronic passport", "Phone", "Biometrics", "Clean hands"],
  "base": ["Government ID", "Electronic passport", "Phone", "Biometrics", "Clean hands"],
};
/** Lines of the import on the terminal. */
let imported;

const world = World.forThisFile({ PX_NETWORKS: JSON.stringify(NETWORKS) }, prepare);

/** An issuer, proofs that it signs, and what becomes of them. */
async function prepare() {
  const directory = await mkdtemp(join(tmpdir(), "px-proofs-"));
  const what = ["--kind", "gov-id", "--network", "optimism", "--action-id", "123456789"];
  try {
    const key = join(directory, "issuer.key");
    const { issuer } = JSON.parse(await world.server.command("proofs", "keygen", key, "--json"));
    await world.server.command("proofs", "issuer", "add", issuer, "--kinds", "gov-id,phone", "--name", "Our verifier");
    const lines = [];
    for (const [position, address] of [PROVED, REVOKED, BLOCKED].entries()) {
      const nullifier = String(7 + position);
      lines.push(await world.server.command(
        "proofs", "sign", address, ...what, "--nullifier", nullifier, "--key", `file:${key}`,
      ));
    }
    await writeFile(join(directory, "proofs.jsonl"), lines.join("\n"));
    imported = await world.server.atTerminal("proofs", "import", join(directory, "proofs.jsonl"));
    await world.server.command("proofs", "revoke", REVOKED, ...what, "--reason", "forged");
    await world.server.command("proofs", "block", BLOCKED, "--network", "optimism", "--reason", "sold");
  } finally {
    await rm(directory, { recursive: true });
  }
  await shortLived();
}

/** A proof that ends in a few seconds. */
async function shortLived() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const issuer = `0x${Buffer.from(publicKey.export({ format: "jwk" }).x, "base64url").toString("hex")}`;
  await world.server.command("proofs", "issuer", "add", issuer, "--kinds", "gov-id", "--name", "A hasty one");
  const issuedAt = Math.floor(Date.now() / 1000);
  const said = {
    issuer, kind: "gov-id", network: "optimism", subject: EXPIRED, action_id: "123456789", nullifier: "99",
    issued_at: issuedAt, expires_at: issuedAt + 10, nonce: "short",
  };
  const fields = Object.entries(said).map(([name, value]) => `${name}: ${value}\n`);
  const signature = sign(null, Buffer.from(`pyxis registry v1 register\n${fields.join("")}`), privateKey);
  const answer = await fetch(world.server.url("/registry/proofs"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...said, signature: `0x${signature.toString("hex")}` }),
  });
  assert.equal(answer.status, 201, await answer.text());
}

test("the owner sees networks, issuers and proofs, and why an address has proved something or not", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    await page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: "Verification" }).click();
    const networks = page.getByRole("region", { name: "Networks" });
    await networks.getByRole("row", { name: /optimism 10 .* registry, block numbers counted by Pyxis \d+ .+ (under 1|\d+) ms/ }).waitFor();
    await page.getByRole("region", { name: "Issuers" }).getByRole("row", { name: /Our verifier Government ID, Phone/ }).waitFor();
    assert.equal(await page.locator("svg desc").first().textContent(), "4 proofs registered in 30 days, by kind and day.");

    await page.getByLabel("Address", { exact: true }).fill(PROVED);
    await page.getByRole("button", { name: "Check" }).click();
    const checked = page.getByRole("region", { name: "Proofs of this address" });
    await checked.getByRole("row", { name: /Government ID optimism Yes Expires/ }).waitFor();
    await checked.getByRole("row", { name: /Phone optimism No No proof registered/ }).waitFor();
    await checked.getByRole("row", { name: /US residence optimism No No proof registered/ }).waitFor();
    await checked.getByRole("row", { name: /Clean hands optimism No No proof registered/ }).waitFor();
    const asked = await checked.getByRole("row").evaluateAll((rows) => (
      rows.map(({ cells }) => `${cells[0].textContent} ${cells[1].textContent}`)
    ));
    const on = ([network, kinds]) => kinds.map((kind) => `${kind} ${network}`);
    assert.deepEqual(asked, ["Kind Network", ...Object.entries(ASKED).flatMap(on)]);

    await page.getByLabel("Action id", { exact: true }).fill("5");
    await page.getByRole("button", { name: "Check" }).click();
    await checked.getByRole("row", { name: /Government ID optimism No The proof is for another action id/ }).waitFor();

    await page.getByLabel("Address", { exact: true }).fill(OTHER);
    await page.getByRole("button", { name: "Check" }).click();
    await checked.getByRole("row", { name: /Government ID optimism No No proof registered/ }).waitFor();
    await page.getByLabel("Address", { exact: true }).fill("vitalik.eth");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("Enter an address").waitFor();
  });
});

test("the owner sees which node is dead, and every reason for a no", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/verification");
    const networks = page.getByRole("region", { name: "Networks" });
    await networks.getByRole("row", { name: /base-sepolia 84532 .* registry and evm, block numbers from its RPC nodes Unknown/ }).waitFor();
    const checked = page.getByRole("region", { name: "Proofs of this address" });
    const check = async (address) => {
      await page.getByLabel("Address", { exact: true }).fill(address);
      await page.getByRole("button", { name: "Check" }).click();
      await checked.getByRole("row", { name: /Phone base-sepolia Unknown/ }).waitFor();
    };
    const tells = (why) => checked.getByRole("row", { name: new RegExp(`Government ID optimism No ${why}`) });
    await check(REVOKED);
    await tells("The proof was revoked").waitFor();
    await check(BLOCKED);
    await tells("The address is blocked").waitFor();
    do await check(EXPIRED); while (await tells("The proof has expired").count() === 0);
  });
});

test("an import of proofs shows at a terminal how far it is", () => {
  assert.match(imported, / (\d[\d.]*) KiB\/\1 KiB/);
  assert.match(imported, / lines: 3 registered, 0 already registered, 0 rejected/);
});
