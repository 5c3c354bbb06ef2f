// A credential of each kind that signs or fetches, added in the browser as a person would; the import of a
// .env file; and a form without a pointer.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";

import { World } from "./support/world.mjs";

const world = World.forThisFile();
const file = (name) => readFileSync(new URL(`./support/tls/${name}`, import.meta.url), "utf8");
const rsa = () => pem(generateKeyPairSync("rsa", { modulusLength: 2048 }));
const ed25519 = () => pem(generateKeyPairSync("ed25519"));

function pem(pair) {
  return pair.privateKey.export({ type: "pkcs8", format: "pem" });
}

const CANARY = "form-canary-3xQ7";
const HMAC_HEADERS = [["Header 1 name", "X-Sign"], ["Header 1 format", "t={timestamp},v={signature}"]];

/** The link, what is typed in the fields by their labels, what is chosen, and how the list calls it. */
const KINDS = [
  ["OAuth 1.0a", [["Consumer key", "ck"], ["Consumer secret", CANARY]], [], "OAuth 1.0a"],
  ["AWS", [["Region", "eu-central-1"], ["Service", "s3"], ["Access key id", "AKIA1"], ["Secret access key", CANARY]], [], "AWS"],
  [
    "HMAC",
    [["Signed content", "{timestamp}{method}{target}{body}"], ...HMAC_HEADERS, ["Key", CANARY]],
    [["Hash", "sha512"], ["Signature encoding", "base64"]],
    "HMAC",
  ],
  ["Client certificate", [["Certificate", file("server.pem")], ["Private key", file("server.key")]], [], "Client certificate"],
  [
    "OAuth 2.0 account",
    [["Token URL", "https://login.example.com/token"], ["Client id", "me"], ["Refresh token", CANARY]],
    [["Client authentication", "body"]],
    "OAuth 2.0 account",
  ],
  [
    "OAuth 2.0 client",
    [["Token URL", "https://login.example.com/token"], ["Client id", "me"], ["Client secret", CANARY]],
    [],
    "OAuth 2.0 client",
  ],
  [
    "Signed assertion",
    [["Token URL", "https://login.example.com/token"], ["Issuer", "me@example.com"], ["Private key", ed25519()]],
    [["Algorithm", "EdDSA"]],
    "Signed assertion",
  ],
  ["GitHub App", [["App id", "12"], ["Installation id", "34"], ["Private key", rsa()]], [], "GitHub App"],
];

/** Opens the form of a kind by its link. */
async function open(page, label) {
  await page.goto("/app/new/credential");
  await page.getByRole("navigation", { name: "Credential kind" }).getByRole("link", { name: label, exact: true }).click();
  await page.locator("nav [aria-current=page]", { hasText: label }).waitFor();
}

/** Optional fields have a word more in their labels. */
function field(page, label) {
  return page.getByLabel(new RegExp(`^${label.replace(/[.()]/g, "\\$&")}( optional)?$`));
}

for (const [label, typed, chosen, words] of KINDS) {
  test(`the form of ${label} adds a credential`, async () => {
    const name = `c-${label.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`;
    await world.asOwner(async (page) => {
      await open(page, label);
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByLabel("Allowed hosts").fill("api.example.com");
      for (const [what, value] of typed) await field(page, what).fill(value);
      for (const [what, value] of chosen) await field(page, what).selectOption(value);
      await page.getByRole("button", { name: "Add credential" }).click();
      await page.waitForURL(`**/app/credentials/${name}`);
      await page.getByText(words, { exact: true }).first().waitFor();
      // Every field of the configuration stands there again, no secret does.
      for (const [what, value] of chosen) assert.equal(await field(page, what).inputValue(), value);
      assert.doesNotMatch(await page.content(), new RegExp(`${CANARY}|PRIVATE KEY-----\n`));
      await page.getByRole("button", { name: "Save changes" }).click();
      await page.getByText("Changes saved.").waitFor();
    });
  });
}

test("what is wrong stands next to its field, and what was typed stays, but for secrets", async () => {
  await world.asOwner(async (page) => {
    await open(page, "OAuth 2.0 client");
    await page.getByLabel("Name", { exact: true }).fill("wrong");
    await field(page, "Token URL").fill("http://tokens.example.com/token");
    await field(page, "Scope").fill("kept scope");
    await field(page, "Client id").fill("kept-id");
    await field(page, "Client secret").fill(CANARY);
    await page.getByRole("button", { name: "Add credential" }).click();
    await page.getByText("Must start with https://").waitFor();
    const address = field(page, "Token URL");
    assert.equal(await address.getAttribute("aria-invalid"), "true");
    assert.match(await address.getAttribute("aria-describedby"), /token_url-problem/);
    assert.equal(await address.inputValue(), "http://tokens.example.com/token");
    assert.equal(await field(page, "Scope").inputValue(), "kept scope");
    assert.equal(await field(page, "Client id").inputValue(), "kept-id");
    assert.equal(await field(page, "Client secret").inputValue(), "");
  }, { refusals: [422] });
});

test("a form is filled in and sent by keys alone, and without scripts", async () => {
  await world.asOwner(async (page) => {
    const { keyboard } = page;
    await page.goto("/app/new/credential?kind=aws_sigv4");
    await page.getByLabel("Name", { exact: true }).focus();
    const steps = ["by-keys", "", "eu-central-1", "s3", "api.example.com", null, "AKIA1", CANARY, ""];
    for (const text of steps) {
      if (text) await keyboard.type(text);
      await keyboard.press("Tab");
    }
    await keyboard.press("Enter");
    await page.waitForURL("**/app/credentials/by-keys");
  }, { javaScriptEnabled: false });
});

test("a pasted .env file becomes credentials, and what was left out is told by name", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/new/credential");
    await page.getByRole("link", { name: "Import a .env file" }).click();
    await page.getByLabel("File content").fill(`# ours\nexport OPENAI_API_KEY="${CANARY}"\nOWN_THING=${CANARY}\nstray\n`);
    await page.getByRole("button", { name: "Import" }).click();
    await page.getByRole("row", { name: /2 OPENAI_API_KEY openai stored/ }).waitFor();
    await page.getByRole("row", { name: /3 OWN_THING .*no preset uses it/ }).waitFor();
    await page.getByRole("row", { name: /4 .*sets no variable/ }).waitFor();
    assert.doesNotMatch(await page.content(), new RegExp(CANARY));
    await page.getByRole("link", { name: "openai", exact: true }).click();
    await page.waitForURL("**/app/credentials/openai");
    assert.equal(await page.getByLabel("URL to try").getAttribute("placeholder"), "https://api.openai.com/v1/models");
  });
});
