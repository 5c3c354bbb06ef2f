// The archives: what is in them, and that their types hold in an application of each kind.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Installation } from "./support/packages.mjs";

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL("node_modules", import.meta.url));

/** Modules, each with its types. */
const compiled = (...names) => names.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
const CONTENTS = {
  "@pyxis/sdk": compiled(
    "agent", "bytes", "clock", "decimal", "endpoint", "errors", "failure", "index", "kept-response", "openapi", "pyxis",
    "retry", "routes", "secret", "transport", "types", "verification", "widget",
  ),
  "@pyxis/react": [...compiled("index", "labels", "provider", "pyxis-score", "source", "time-limit", "use-score"), "dist/styles.css"],
};

/** Kinds of applications: how they find modules, and the types that they have. */
const KINDS = {
  "of Node": { module: "nodenext", lib: ["es2022"], types: ["node"] },
  "with a bundler": { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom", "dom.iterable"], types: [] },
};

suite("Packages", () => {
  let installation;

  before(async () => {
    installation = await Installation.make();
    await symlink(`${MODULES}/@types`, installation.path("node_modules", "@types"));
  });
  after(() => installation?.remove());

  for (const [name, files] of Object.entries(CONTENTS)) {
    test(`${name} has its modules, a license and a README, and nothing else`, async () => {
      const expected = ["LICENSE", "README.md", "package.json", ...files];
      assert.deepEqual(installation.contents[name], expected.sort());
      const description = JSON.parse(await readFile(installation.path("node_modules", name, "package.json"), "utf8"));
      assert.equal(description.dependencies, undefined);
    });
  }

  test("have the version of the program", async () => {
    const manifest = await readFile(new URL("../../Cargo.toml", import.meta.url), "utf8");
    const [, expected] = /^version = "(.+)"$/m.exec(manifest);
    for (const name of Object.keys(CONTENTS)) {
      const text = await readFile(installation.path("node_modules", name, "package.json"), "utf8");
      assert.equal(JSON.parse(text).version, expected, name);
    }
  });

  for (const [kind, options] of Object.entries(KINDS)) {
    test(`an application ${kind} compiles, and its mistakes do not`, async () => {
      const file = installation.path(`tsconfig.${options.module}.json`);
      const compilerOptions = { ...options, target: "es2022", strict: true, noEmit: true, exactOptionalPropertyTypes: true };
      await writeFile(file, JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
      const compiler = `${MODULES}/typescript/bin/tsc`;
      const failed = await run("node", [compiler, "--project", file]).then(() => "", ({ stdout }) => stdout);
      assert.equal(failed, "");
    });
  }
});
