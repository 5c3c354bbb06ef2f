// The worked example of a custom approval page, against the real server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import { World } from "./support/world.mjs";

let example;
let base;
const world = World.forThisFile({}, async () => {
  const made = await world.admin("POST", "/admin/tokens", { name: "page", scopes: ["px:approve"] });
  const { token } = await made.json();
  const script = fileURLToPath(new URL("../examples/approval-page/server.py", import.meta.url));
  const env = { PATH: process.env.PATH, PYXIS_URL: world.server.base, PYXIS_TOKEN: token };
  example = spawn("python3", [script, "0"], { env, stdio: ["ignore", "pipe", "inherit"] });
  [base] = await once(createInterface({ input: example.stdout }), "line");
});
after(() => example?.kill());

/** The form key that the page shows. */
async function formKey() {
  return /name="key" value="([0-9a-f]+)"/.exec(await (await fetch(base)).text())?.[1];
}

async function say(txn, verb, key) {
  const body = new URLSearchParams({ key, verb, reason: "from the example" });
  return (await fetch(`${base}/${txn}`, { method: "POST", body })).text();
}

test("a body that is no text is shown as what it is", async () => {
  const txn = await world.agent.ask("/picture", { body: Buffer.from([0xff, 0xd8, 0xff, 0xe0]) });
  const shown = await (await fetch(base)).text();
  assert.ok(shown.includes("<p>4 bytes, as base64:</p><pre>/9j/4A==</pre>"), shown);
  assert.ok(shown.includes("A grant would have covered 1 of the last 1 requests."), shown);
  await world.agent.withdraw(txn);
});

test("what a signature is over is shown field by field, and a bare hash with a warning", async () => {
  const auth = { kind: "signing_key", algorithm: "secp256k1" };
  assert.equal((await world.admin("POST", "/admin/credentials", { name: "treasury", auth })).status, 201);
  const typed = {
    types: { Pay: [{ name: "to", type: "address" }, { name: "note", type: "string" }] },
    primaryType: "Pay",
    domain: { name: "Bank" },
    message: { to: `0x${"00".repeat(19)}ff`, note: "<b>rent</b>" },
  };
  const txn = await world.agent.askToSign("treasury", {
    payload: JSON.stringify(typed),
    encoding: "utf8",
    algorithm: "secp256k1",
    format: "eip712",
    description: "for March",
  });
  let shown = await (await fetch(base)).text();
  for (const row of [
    "<th>primaryType </th><td>Pay</td>",
    "<th>domain.name string</th><td>Bank</td>",
    `<th>to address</th><td>0x${"00".repeat(19)}ff</td>`,
    "<th>note string</th><td>&lt;b&gt;rent&lt;/b&gt;</td>",
    "<blockquote>for March</blockquote>",
  ]) {
    assert.ok(shown.includes(row), `${row}: ${shown}`);
  }
  assert.ok(!shown.includes('role="alert"') && !shown.includes('value="grant"'), shown);
  assert.match(await say(txn, "approve", await formKey()), /approved \(1 of 1 approvals\)/);
  const blind = await world.agent.askToSign("treasury", { payload: "ab".repeat(32), algorithm: "secp256k1" });
  shown = await (await fetch(base)).text();
  assert.match(shown, /<p role="alert"><strong>Only a hash is shown, so .*<\/p><pre>(ab){32}<\/pre>/);
  await world.agent.withdraw(blind);
});

test("the page shows what waits, decides it, and leaves a passkey to its own origin", async () => {
  const [approved, denied] = [await world.agent.ask("/<b>one"), await world.agent.ask("/two")];
  const shown = await (await fetch(base)).text();
  assert.ok(!shown.includes("<b>one"), "strangers' text is inert");
  const key = await formKey();
  assert.match(await say(approved, "approve", key), /approved \(1 of 1 approvals\)/);
  assert.match(await say(approved, "approve", key), /already_decided/);
  assert.match(await say(denied, "deny", key), /denied/);
  assert.match(await say(denied, "deny", "wrong"), /form is not valid/);
  const answer = await world.admin("PUT", "/admin/policies/billing-api", { passkey_required: true });
  assert.equal(answer.status, 200);
  const guarded = await world.agent.ask("/three");
  assert.ok((await say(guarded, "approve", key)).includes(`${world.server.base}/approve/${guarded}`));
});
