// The Move example: compiled by the Sui compiler, and its tests run by it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { before } from "node:test";

import { dumpMovePackage, initMovePackageBuilder, testMovePackage } from "@zktx.io/sui-move-builder/full";

import { fetcher } from "./support/sui.mjs";

const MODULE = "sources/clean_hands.move";
const read = (name) => readFileSync(new URL(`../examples/move/${name}`, import.meta.url), "utf8");
const files = { "Move.toml": read("Move.toml"), [MODULE]: read(MODULE) };

before(() => initMovePackageBuilder());

/** Output of the runner about the package with one change. */
async function tested(from = "", to = "") {
  const changed = files[MODULE].replace(from, to);
  assert.equal(changed === files[MODULE], from === to);
  const { passed, output } = await testMovePackage({ files: { ...files, [MODULE]: changed }, fetcher });
  // Colors are not for machines.
  return { passed, output: output.replaceAll(/\x1b\[[0-9;]*m/g, "") };
}

test("the module compiles without a warning of any lint", async () => {
  const built = await dumpMovePackage({ files, fetcher, lintFlag: "all" });
  assert.equal(built.error, undefined);
  assert.equal(built.warnings ?? "", "");
  assert.equal(built.modules.length, 1);
});

test("every test of the module passes", async () => {
  const { passed, output } = await tested();
  assert.equal(passed, true, output);
  const count = files[MODULE].match(/^#\[test[\],]/gm).length;
  assert.match(output, new RegExp(`Total tests: ${count}; passed: ${count}; failed: 0`));
});

test("a module that signs other bytes or looks away fails them", async () => {
  for (const [from, to] of [
    [`b"sui:mainnet"`, `b"sui:testnet"`],
    ["    issued_at: u64,\n    expires_at: u64,\n}", "    expires_at: u64,\n    issued_at: u64,\n}"],
    ["ctx.sender()", "@0xa11ce"],
    ["assert!(now < expires_at, EExpired);", ""],
    ["EWrongSignature);", "EExpired);"],
  ]) {
    assert.equal((await tested(from, to)).passed, false, from);
  }
});
